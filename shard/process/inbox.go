package process

import (
	"slices"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/process"
)

// inbox has a member's unacknowledged items, in order.
type inbox struct {
	lastSeq, acked uint64
	items          []item
	shared         bool // a frozen member shares these items: they stay unchanged, new items are appended
	unread         int  // requests
	unreadBytes    int  // in unread payloads
	open           int  // the member's exchanges that are open or have an unacknowledged end
	listed         bool
}

// item is one thing to handle. Its content is in the exchange, or in the process.
type item struct {
	seq      uint64 // the last part's seq
	epoch    uint64
	exchange *Exchange // ItemRequest and ItemEnd
	kind     kind.ItemKind
	parts    uint16 // ItemEnd: each part has a seq. All other items have one part
}

// firstSeq is the first part's seq.
func (i *item) firstSeq() uint64 { return i.seq - uint64(i.parts) + 1 }

// Delivery is an item, or part of an item, in the form sent to a member. It shares bytes with the process, which never
// changes them.
type Delivery struct {
	Seq   uint64
	Kind  kind.ItemKind
	Epoch uint64
	// For ItemPrepare: the number of epoch members, and the coordinator's ID.
	Members     int
	Coordinator uint64
	// For ItemRequest and ItemEnd. From is the request's sender.
	Exchange, From uint64
	Payload        []byte // ItemRequest and ItemComplete
	// For ItemEnd: why the exchange ended, replies in arrival order, and in the last part the number of missing
	// replies, with the IDs of the first maxMissed missing members.
	Outcome kind.Outcome
	Replies []Reply
	Last    bool
	Missing int
	Missed  []uint64
}

// size is the approximate size on a connection.
func (d *Delivery) size() int {
	n := itemBytes + len(d.Payload) + wordBytes*len(d.Missed)
	for k := range d.Replies {
		n += d.Replies[k].size()
	}
	return n
}

// Inbox appends a member's items behind a seq: as many as fit into the byte limit, but at least one if there are any.
func (p *Process) Inbox(m *Member, after uint64, most int, dst []Delivery) []Delivery {
	had := len(dst)
	for k := range m.items {
		i := &m.items[k]
		for seq := max(i.firstSeq(), after+1); seq <= i.seq; seq++ {
			d := p.deliver(i, seq)
			if most -= d.size(); most < 0 && len(dst) > had {
				return dst
			}
			dst = append(dst, d)
		}
	}
	return dst
}

// Ahead is how many inbox bytes, up to a seq, are unacknowledged.
func (p *Process) Ahead(m *Member, upTo uint64) (bytes int) {
	for k := range m.items {
		i := &m.items[k]
		for seq := i.firstSeq(); seq <= min(i.seq, upTo); seq++ {
			d := p.deliver(i, seq)
			bytes += d.size()
		}
	}
	return bytes
}

func (p *Process) deliver(i *item, seq uint64) Delivery {
	d := Delivery{Seq: seq, Kind: i.kind, Epoch: i.epoch}
	switch i.kind {
	case kind.ItemPrepare:
		d.Members, d.Coordinator = len(p.view), p.coordinator
	case kind.ItemRequest:
		d.Exchange, d.From, d.Payload = i.exchange.id, i.exchange.from, i.exchange.payload
	case kind.ItemEnd:
		e := i.exchange
		d.Exchange, d.From, d.Outcome, d.Replies = e.id, e.from, e.outcome, e.part(int(seq-i.firstSeq()))
		if d.Last = seq == i.seq; d.Last {
			d.Missing, d.Missed = e.missing, e.missed
		}
	case kind.ItemComplete:
		d.Payload = p.results[len(p.results)-1].Payload
	}
	return d
}

// put puts an item into an inbox.
func (p *Process) put(at At, m *Member, i item) {
	at.Caller.touch(m)
	i.parts = max(i.parts, 1)
	m.lastSeq += uint64(i.parts)
	i.seq = m.lastSeq
	m.items = append(m.items, i)
	p.refer(m, &i)
	at.Out.Changed = true
	at.Out.Grown += itemBytes
	m.list(at)
}

// list reports that the inbox has news to read.
func (m *Member) list(at At) {
	if !m.listed {
		m.listed = true
		at.Out.Inbox = append(at.Out.Inbox, m)
	}
}

// refer adds an inbox item to the reference counts.
func (p *Process) refer(m *Member, i *item) {
	if i.exchange != nil {
		i.exchange.refs++
	}
	if i.kind == kind.ItemRequest {
		p.requests++
		m.unread++
		m.unreadBytes += len(i.exchange.payload)
	}
}

// release reverses refer. An ended exchange is forgotten once no inbox refers to it.
func (p *Process) release(at At, m *Member, i *item) {
	at.Out.Grown -= itemBytes
	if i.kind == kind.ItemRequest {
		p.requests--
		m.unread--
		m.unreadBytes -= len(i.exchange.payload)
	}
	if i.kind == kind.ItemEnd {
		m.open--
	}
	if i.exchange != nil {
		i.exchange.refs--
		p.forget(at, i.exchange)
	}
}

// releaseItems releases an inbox's first items. The caller then removes the items.
func (p *Process) releaseItems(at At, m *Member, n int) {
	for k := range m.items[:n] {
		p.release(at, m, &m.items[k])
	}
}

// Ack frees a member's handled items, up to a seq. It is idempotent.
func (p *Process) Ack(at At, m *Member, seq uint64) Answer {
	if a := p.joined(m); a.Status != protocol.StatusSuccess {
		return a
	}
	if seq > m.lastSeq {
		return refuse(protocol.StatusBadRequest, "the inbox has had no seq %d; the last is %d", seq, m.lastSeq)
	}
	p.ackTo(at, m, seq)
	return Answer{}
}

func (p *Process) ackTo(at At, m *Member, seq uint64) {
	if seq <= m.acked {
		return
	}
	at.Caller.touch(m)
	at.Out.Changed = true
	m.acked = seq
	n := 0
	for n < len(m.items) && m.items[n].seq <= seq {
		n++
	}
	p.releaseItems(at, m, n)
	if m.keepItems(m.items[n:]); len(m.items) > 0 {
		m.list(at)
	}
}

// keptItems is the capacity an empty inbox retains.
const keptItems = 8

// keepItems makes a sublist the whole list. The sublist is the end of the list, or was moved to the beginning.
func (m *Member) keepItems(items []item) {
	switch {
	case len(items) == 0 && (m.shared || cap(m.items) > keptItems):
		m.items = nil
	case m.shared:
		m.items = slices.Clone(items)
	default:
		n := copy(m.items[:cap(m.items)], items)
		clear(m.items[n:])
		m.items = m.items[:n]
	}
	m.shared = false
}

// dropItems removes the inbox items that need no handling after their epoch ends: all except exchange ends and a
// round's completion. It also drops an unacknowledged cancellation, because a later cancellation or completion replaces
// it.
func (p *Process) dropItems(at At, m *Member) {
	at.Caller.touch(m)
	kept := m.items[:0]
	if m.shared {
		kept = nil
	}
	for k := range m.items {
		switch i := m.items[k]; i.kind {
		case kind.ItemEnd, kind.ItemComplete:
			kept = append(kept, i)
		default:
			p.release(at, m, &i)
		}
	}
	m.keepItems(kept)
}

// find returns the seq of the member's item with a kind and an epoch, 0 if absent.
func (m *Member) find(k kind.ItemKind, epoch uint64) uint64 {
	for n := range m.items {
		if i := &m.items[n]; i.kind == k && i.epoch == epoch {
			return i.seq
		}
	}
	return 0
}
