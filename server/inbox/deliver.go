package inbox

import (
	"cmp"
	"sync/atomic"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/process"
)

// deliversHere is the maximum number of members to which Deliver pushes on the calling goroutine. Starting a
// goroutine takes longer than a few pushes, but many pushes would delay the next batches.
const deliversHere = 4

// counters count since the table was created.
type counters struct{ items, bytes, pushes, ends, held atomic.Uint64 }

// Counts are a table's counts since its creation.
type Counts struct {
	Items  uint64 // pushed items
	Bytes  uint64 // bytes in these items
	Pushes uint64 // pushes with items
	Ends   uint64 // inboxes that ended with a push
	Held   uint64 // times that items waited for a slow connection
}

// Counts returns the counts.
func (t *Table) Counts() Counts {
	c := &t.counts
	return Counts{
		Items: c.items.Load(), Bytes: c.bytes.Load(), Pushes: c.pushes.Load(), Ends: c.ends.Load(), Held: c.held.Load(),
	}
}

// worker is the delivering goroutine's reusable memory.
type worker struct {
	round   []*opening
	items   []process.Delivery
	item    protocol.Item
	push    protocol.Inbox
	reached map[Sink]struct{}
}

// Note records that a member's inbox has something new, has capacity, or is gone. Deliver does the rest.
func (t *Table) Note(session shard.SessionID, id shard.OrderID) { t.Lost(session, id, "") }

// Lost is Note for a member that has lost the inbox, with the reason if known.
func (t *Table) Lost(session shard.SessionID, id shard.OrderID, why string) {
	if t.Len() == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if o := t.members[link{session, id}]; o != nil {
		o.why = cmp.Or(why, o.why)
		t.note(o)
	}
}

// NoteSession is Note for all members of a session.
func (t *Table) NoteSession(id shard.SessionID) {
	if t.Len() == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, o := range t.sessions[id] {
		t.note(o)
	}
}

// note adds an opening to Table.ready. The lock is held.
func (t *Table) note(o *opening) {
	if !o.ready {
		o.ready = true
		t.ready = append(t.ready, o)
	}
}

// Drained records that a connection can take bytes again.
func (t *Table) Drained(sink Sink) {
	if t.wake(sink) {
		t.Deliver()
	}
}

// wake moves the openings that wait for a connection to Table.ready, and reports whether there are any.
func (t *Table) wake(sink Sink) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	waited := t.late[sink]
	delete(t.late, sink)
	for _, o := range waited {
		o.late = false
		t.note(o)
	}
	return len(waited) > 0
}

// Deliver pushes new items: to few members on this goroutine, to many on a new one. If another goroutine is
// delivering, Deliver does nothing, because that goroutine also delivers everything noted meanwhile.
func (t *Table) Deliver() {
	t.mu.Lock()
	n := len(t.ready)
	if n == 0 || t.delivering {
		t.mu.Unlock()
		return
	}
	t.delivering = true
	t.mu.Unlock()
	if n <= deliversHere {
		t.deliverRound()
		if !t.more() {
			return
		}
	}
	go func() {
		for more := true; more; more = t.more() {
			t.deliverRound()
		}
	}()
}

// more reports whether anything is left to deliver. If not, the delivering goroutine must end.
func (t *Table) more() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.ready) > 0 {
		return true
	}
	t.delivering = false
	t.idle.Broadcast()
	return false
}

// Wait waits until nothing is left to deliver.
func (t *Table) Wait() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for t.delivering {
		t.idle.Wait()
	}
}

// keptRound is the maximum number of openings for which a round's memory is kept.
const keptRound = 1024

// deliverRound pushes to all openings in Table.ready, and flushes every connection once.
func (t *Table) deliverRound() {
	w := &t.worker
	t.mu.Lock()
	w.round, t.ready = t.ready, w.round[:0]
	for _, o := range w.round {
		o.ready = false // later notes are for the next round
	}
	t.mu.Unlock()
	if w.reached == nil {
		w.reached = make(map[Sink]struct{})
	}
	for k, o := range w.round {
		t.deliver(o)
		w.round[k] = nil
	}
	few := len(w.reached) <= deliversHere
	for sink := range w.reached {
		sink.Flush(few)
	}
	clear(w.reached)
	if cap(w.round) > keptRound {
		w.round = nil
		w.reached = nil
	}
}

// deliver pushes a member's unpushed items, up to the byte limit. A member that has lost the inbox gets the end.
func (t *Table) deliver(o *opening) {
	if t.holds(o) {
		return
	}
	w := &t.worker
	items, _, refused := t.config.Machine.Inbox(o.Node, protocol.View(o.Name), o.Session, o.ID, o.sent,
		t.config.AheadBytes, w.items[:0])
	w.items = items
	if refused.Status != protocol.StatusSuccess {
		t.close(o, t.ending(o, &refused))
		w.reached[o.sink] = struct{}{}
		return
	}
	w.push = protocol.Inbox{
		SessionID: uint64(o.Session), NodeID: uint64(o.Node), Name: protocol.View(o.Name), MemberID: uint64(o.ID),
		Items: w.push.Items,
	}
	for k := range items {
		w.fill(&items[k])
		w.push.Items.Append(w.item)
		if k < len(items)-1 && w.push.Items.Size() < t.config.PushBytes {
			continue
		}
		if !t.append(o) {
			break
		}
		o.sent = items[k].Seq
	}
	w.push.Items.Reset()
	clear(items)
}

// ending returns the end message for a member that has lost the inbox.
func (t *Table) ending(o *opening, refused *process.Answer) *protocol.Result {
	t.mu.Lock()
	defer t.mu.Unlock()
	o.why = cmp.Or(o.why, refused.Text)
	return &protocol.Result{Status: refused.Status, Message: o.why}
}

// append appends the push to the connection, unless the opening is closed.
func (t *Table) append(o *opening) bool {
	w := &t.worker
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return false
	}
	o.sink.Push(0, &w.push)
	w.reached[o.sink] = struct{}{}
	t.counts.pushes.Add(1)
	t.counts.items.Add(uint64(w.push.Items.Len()))
	t.counts.bytes.Add(uint64(w.push.Items.Size()))
	w.push.Items.Reset()
	return true
}

// holds reports whether the opening has to wait until the connection has drained. The opening is added to Table.late
// before the connection is checked a second time, so either Drained finds the opening, or the second check sees the
// free capacity.
func (t *Table) holds(o *opening) bool {
	if o.sink.Pending() <= t.config.SlowBytes {
		return false
	}
	t.mu.Lock()
	if o.in && !o.late {
		o.late = true
		t.late[o.sink] = append(t.late[o.sink], o)
		t.counts.held.Add(1)
	}
	t.mu.Unlock()
	if o.sink.Pending() <= t.config.SlowBytes {
		t.wake(o.sink)
	}
	return true
}

// fill fills the worker's item, in reusable memory.
func (w *worker) fill(d *process.Delivery) {
	replies, missed := w.item.Replies, w.item.Missed
	replies.Reset()
	missed.Reset()
	for k := range d.Replies {
		r := &d.Replies[k]
		replies.Append(protocol.Reply{From: r.From, Failed: r.Failed, Data: r.Data})
	}
	for _, id := range d.Missed {
		missed.Append(protocol.OrderID(id))
	}
	w.item = protocol.Item{
		Seq: d.Seq, Kind: d.Kind, Epoch: d.Epoch, Members: uint64(d.Members),
		Coordinator: d.Coordinator, Exchange: d.Exchange, From: d.From, Payload: d.Payload,
		Outcome: d.Outcome, Replies: replies, Last: d.Last, Missing: uint64(d.Missing),
		Missed: missed,
	}
}
