package process

import (
	"slices"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	kind "github.com/signalbox/signalbox/protocol/process"
)

// model is a second process, slow and plain: it forgets nothing, keeps no counts and no due time, and scans all
// members, items and exchanges for every question. It is written from DESIGN.md, and shares argument types with the
// real one, but no code that decides.
type model struct {
	spec           kind.Spec
	members        []*modelMember
	exchanges      []*modelExchange
	results        []modelResult
	epoch          uint64
	state          kind.Phase
	coordinator    uint64
	opened         uint64
	view           []uint64
	changed, opens uint64
	late           bool
	acts           int
	now            uint64
	order          *uint64
	planted        bug
}

type modelMember struct {
	id                  uint64
	name                string
	candidate           bool
	prepared, completed uint64
	acked               uint64
	items               []*modelItem // everything that ever existed
}

type modelItem struct {
	seq, parts uint64
	kind       kind.ItemKind
	epoch      uint64
	exchange   *modelExchange
	dropped    bool
	payload    string
}

type modelExchange struct {
	id, epoch, from uint64
	to              []uint64
	payload         string
	replies         []pictureReply
	outcome         kind.Outcome
	missing         int
	sent, deadline  uint64
	late            bool
}

type modelResult struct {
	epoch   uint64
	payload string
}

func (m *model) moment() uint64 {
	if m.planted == bugMillisecond {
		return m.now
	}
	return m.now + 1
}

func (m *model) member(id uint64) *modelMember {
	for _, x := range m.members {
		if x.id == id {
			return x
		}
	}
	return nil
}

// unread returns the member's unacknowledged items.
func (mm *modelMember) unread() (list []*modelItem) {
	for _, i := range mm.items {
		if i.seq > mm.acked && !i.dropped {
			list = append(list, i)
		}
	}
	return list
}

func (mm *modelMember) lastSeq() uint64 {
	if len(mm.items) == 0 {
		return 0
	}
	return mm.items[len(mm.items)-1].seq
}

func (mm *modelMember) put(i modelItem) {
	i.parts = max(i.parts, 1)
	i.seq = mm.lastSeq() + i.parts
	mm.items = append(mm.items, &i)
}

// ackItem acknowledges up to the item with a kind and an epoch, if it exists.
func (mm *modelMember) ackItem(k kind.ItemKind, epoch uint64) (there bool) {
	for _, i := range mm.unread() {
		if i.kind == k && i.epoch == epoch {
			mm.acked = max(mm.acked, i.seq)
			there = true
		}
	}
	return there
}

func (m *model) change(delay uint64) {
	if m.changed == 0 {
		m.changed = m.moment()
	}
	m.opens = min(m.moment()+delay, m.changed+field.MillisOf(m.spec.MaxOpenDelay))
}

func (m *model) join(id uint64, j kind.Joining) protocol.Status {
	if x := m.member(id); x != nil {
		if x.name != j.Name {
			return protocol.StatusPreconditionFailed
		}
		if !x.candidate && j.Candidate && len(m.view) == 0 {
			m.change(field.MillisOf(m.spec.OpenDelay))
		}
		x.candidate = j.Candidate
		return protocol.StatusSuccess
	}
	m.members = append(m.members, &modelMember{id: id, name: j.Name, candidate: j.Candidate})
	m.change(field.MillisOf(m.spec.OpenDelay))
	return protocol.StatusSuccess
}

func (m *model) leave(id uint64) protocol.Status {
	k := slices.IndexFunc(m.members, func(x *modelMember) bool { return x.id == id })
	if k < 0 {
		return protocol.StatusNotFound
	}
	m.members = slices.Delete(m.members, k, k+1)
	if slices.Contains(m.view, id) && m.state != kind.Complete && m.planted != bugBrokenView {
		m.state = kind.Forming
	}
	m.change(field.MillisOf(m.spec.OpenDelay))
	return protocol.StatusSuccess
}

func (m *model) kick(id uint64) protocol.Status {
	status := m.leave(id)
	if status == protocol.StatusSuccess {
		m.acts++
	}
	return status
}

func (m *model) restart() protocol.Status {
	m.acts++
	m.state = kind.Forming
	m.change(field.MillisOf(m.spec.OpenDelay))
	return protocol.StatusSuccess
}

func (m *model) alter(s kind.Spec) protocol.Status {
	m.acts++
	m.spec = s
	m.cutResults()
	if len(m.view) == 0 {
		m.change(field.MillisOf(m.spec.OpenDelay))
	}
	if m.opens != 0 {
		m.opens = min(m.opens, m.moment()+field.MillisOf(s.MaxOpenDelay))
	}
	return protocol.StatusSuccess
}

func (m *model) cutResults() {
	for len(m.results) > m.spec.KeepResults {
		m.results = m.results[1:]
	}
}

func (m *model) isCompleted() bool {
	return len(m.results) > 0 && m.results[len(m.results)-1].epoch == m.epoch
}

// due applies effects of time.
func (m *model) due() {
	m.timeouts()
	if m.opens == 0 || m.now < m.opens {
		return
	}
	m.turn()
}

// gathered opens the next epoch when the last required member has joined, if the delay is one millisecond.
func (m *model) gathered() {
	need := m.spec.MinMembers
	if m.planted == bugGathered {
		need++
	}
	if m.spec.OpenDelay == time.Millisecond && len(m.members) > 1 && len(m.members) == need {
		m.turn()
	}
}

func (m *model) turn() {
	m.changed, m.opens = 0, 0
	var ids []uint64
	candidate := uint64(0)
	for _, x := range m.members {
		ids = append(ids, x.id)
		if x.candidate && (candidate == 0 || m.planted == bugYoungest) {
			candidate = x.id
		}
	}
	if m.state != kind.Forming && slices.Equal(ids, m.view) {
		return
	}
	m.close()
	if len(ids) < m.spec.MinMembers || candidate == 0 || len(ids) == 0 {
		return
	}
	m.open(ids, candidate)
}

func (m *model) open(ids []uint64, candidate uint64) {
	*m.order++
	m.epoch = *m.order
	if m.planted == bugEpoch && m.epoch%5 == 0 {
		m.epoch = ids[0]
	}
	m.state, m.coordinator, m.opened, m.view, m.late = kind.Preparing, candidate, m.moment(), ids, false
	for _, x := range m.members {
		x.put(modelItem{kind: kind.ItemPrepare, epoch: m.epoch})
	}
}

func (m *model) close() {
	if len(m.view) == 0 {
		return
	}
	completed := m.isCompleted()
	if m.planted != bugOpenExchange {
		m.endAll()
	}
	for _, x := range m.members {
		if !slices.Contains(m.view, x.id) {
			continue
		}
		for _, i := range x.items {
			old := i.kind != kind.ItemEnd && i.kind != kind.ItemComplete
			if m.planted == bugOldRequests {
				old = old && i.kind != kind.ItemRequest
			}
			if m.planted == bugCancels {
				old = old && i.kind != kind.ItemCancel
			}
			i.dropped = i.dropped || old
		}
		if !completed && m.planted != bugNoCancel {
			x.put(modelItem{kind: kind.ItemCancel, epoch: m.epoch})
		}
	}
	m.view, m.state, m.late = nil, kind.Forming, false
}

func (m *model) timeouts() {
	d := field.MillisOf(m.spec.ReplyTimeout)
	if m.state == kind.Preparing && d != 0 && !m.late && m.now >= m.opened+d {
		m.late = true
		if m.spec.OnTimeout == kind.TimeoutEvict {
			for _, id := range m.view {
				if x := m.member(id); x != nil && x.prepared != m.epoch {
					m.kick(id)
				}
			}
		}
	}
	for _, e := range m.exchanges {
		if m.state != kind.Running || e.outcome != kind.OutcomeOpen {
			continue
		}
		if d != 0 && !e.late && m.now >= e.sent+d {
			e.late = true
			switch m.spec.OnTimeout {
			case kind.TimeoutEvict:
				for _, id := range m.waiting(e) {
					m.kick(id)
				}
				continue
			case kind.TimeoutFail:
				m.end(e, kind.OutcomeLate)
				continue
			}
		}
		if e.deadline != 0 && m.now >= e.deadline {
			m.end(e, kind.OutcomeLate)
		}
	}
}

// waiting returns the members awaited by an exchange.
func (m *model) waiting(e *modelExchange) (list []uint64) {
	for _, id := range e.to {
		if !slices.ContainsFunc(e.replies, func(r pictureReply) bool { return r.From == id }) {
			list = append(list, id)
		}
	}
	return list
}

func (m *model) end(e *modelExchange, o kind.Outcome) {
	e.missing = len(m.waiting(e))
	e.outcome = o
	if m.planted == bugAll && o == kind.OutcomeCancelled {
		e.outcome = kind.OutcomeAll
	}
	x := m.member(e.from)
	if x == nil || m.planted == bugLostEnd && o == kind.OutcomeCancelled {
		return
	}
	x.put(modelItem{kind: kind.ItemEnd, epoch: e.epoch, exchange: e, parts: e.parts()})
}

// parts is the number of reply parts of at most partBytes.
func (e *modelExchange) parts() uint64 {
	parts, bytes := uint64(1), 0
	for _, r := range e.replies {
		if bytes > 0 && bytes+replyBytes+len(r.Data) > partBytes {
			parts++
			bytes = 0
		}
		bytes += replyBytes + len(r.Data)
	}
	return parts
}

func (m *model) endAll() {
	for _, e := range m.exchanges {
		if e.outcome == kind.OutcomeOpen {
			m.end(e, kind.OutcomeCancelled)
		}
	}
}

func (m *model) picture() picture {
	pic := picture{
		Epoch: m.epoch, Coordinator: m.coordinator, State: m.state, View: slices.Clone(m.view), Changed: m.changed,
		Opens: m.opens, Late: m.late, Acts: min(m.acts, MaxAudit),
	}
	used := make(map[*modelExchange]bool)
	for _, x := range m.members {
		pm := pictureMember{
			ID: x.id, Name: x.name, Candidate: x.candidate, Prepared: x.prepared, Completed: x.completed,
			LastSeq: x.lastSeq(), Acked: x.acked,
		}
		for _, i := range x.unread() {
			pi := pictureItem{Seq: i.seq, Parts: i.parts, Kind: i.kind, Epoch: i.epoch, Payload: i.payload}
			if i.exchange != nil {
				used[i.exchange] = true
				pi.Exchange = i.exchange.id
			}
			pm.Items = append(pm.Items, pi)
		}
		pic.Members = append(pic.Members, pm)
	}
	for _, e := range m.exchanges {
		if e.outcome != kind.OutcomeOpen && !used[e] {
			continue
		}
		pe := pictureExchange{
			ID: e.id, Epoch: e.epoch, From: e.from, Replies: slices.Clone(e.replies), Outcome: e.outcome,
			Missing: e.missing, Late: e.late,
		}
		if e.outcome == kind.OutcomeOpen {
			pe.Waiting = m.waiting(e)
			pe.Missing = len(pe.Waiting)
		}
		pic.Exchanges = append(pic.Exchanges, pe)
	}
	for _, r := range m.results {
		pic.Results = append(pic.Results, r.epoch)
	}
	return pic
}
