package lease_test

import (
	"slices"
	"time"

	"github.com/signalbox/signalbox/shard"
)

// modelShard is a data shard: its replicated log, as committed by a majority.
type modelShard struct {
	*world
	number   int
	log      []modelEntry
	truth    modelMachine
	initial  []shard.Slot
	term     uint64
	leader   *modelReplica
	replicas []*modelReplica // by host
}

func newModelShard(w *world, number int, slots ...shard.Slot) *modelShard {
	return &modelShard{world: w, number: number, truth: newModelMachine(slots), initial: slots}
}

func (s *modelShard) elect() {
	s.term++
	s.leader = s.replicas[s.IntN(len(s.replicas))]
	term, h := s.term, s.leader
	s.after(s.delay(), func() { h.run(func() { h.wasElected(term) }) })
}

// append commits an entry.
func (s *modelShard) append(e modelEntry) {
	if e.kind == shard.CmdSessionCreate {
		var slot shard.Slot
		switch n := len(s.truth.slots); n {
		case 0:
			return
		case 1:
			slot = s.truth.slots[0]
		default:
			slot = s.truth.slots[s.IntN(n)]
		}
		e.id = shard.NewSessionID(slot, s.truth.last+1)
	}
	if e.kind == shard.CmdSessionsExpire && !s.truth.expires(&e, s.bug) {
		s.tally["expire void"]++
		if e.term == s.truth.term {
			s.tally["expire void by the change count"]++
		}
	} else if e.kind == shard.CmdSessionsExpire {
		for _, id := range e.ids {
			if _, alive := s.truth.sessions[id]; alive {
				s.tally["expired"]++
				s.mustNotBelieve(id, "its end is committed")
			}
		}
	}
	s.truth.apply(&e, s.bug)
	s.log = append(s.log, e)
	for _, h := range s.replicas {
		upTo := len(s.log)
		s.after(s.delay(), func() { h.hear(func() { h.applyTo(upTo) }) })
	}
}

// The commands that change a shard's slots. A model of the moves themselves is in shard/slots.
const (
	modelSeal shard.CommandKind = 240 + iota
	modelOpen
	modelCancel
)

var movingSlots = []shard.Slot{1, 2, 3}

// modelContent is what a slot contains.
type modelContent struct {
	last     uint64
	sessions map[shard.SessionID]time.Duration
}

// expires reports whether an expiry has an effect.
func (m *modelMachine) expires(e *modelEntry, b bug) bool {
	return e.term == m.term && (e.changes == m.changes || b == bugExpiryByTerm)
}

func (m *modelMachine) owns(slot shard.Slot) bool { return slices.Contains(m.slots, slot) }

func (m *modelMachine) seal(slot shard.Slot) {
	content := &modelContent{last: m.last, sessions: map[shard.SessionID]time.Duration{}}
	for id, timeout := range m.sessions {
		if id.Slot() == slot {
			content.sessions[id] = timeout
			delete(m.sessions, id)
		}
	}
	m.slots = slices.DeleteFunc(m.slots, func(x shard.Slot) bool { return x == slot })
	m.sealed[slot] = content
	m.changes++
}

// take gives the machine a slot.
func (m *modelMachine) take(slot shard.Slot, content *modelContent) {
	for id, timeout := range content.sessions {
		m.sessions[id] = timeout
	}
	m.last = max(m.last, content.last)
	m.slots = append(m.slots, slot)
	slices.Sort(m.slots)
	delete(m.sealed, slot)
	m.changes++
}

// move moves a slot to the other shard, or takes it back to its own.
func (w *world) move() {
	slot := movingSlots[w.IntN(len(movingSlots))]
	if w.moving[slot] {
		return
	}
	w.moving[slot] = true
	from, to := w.shards[0], w.shards[1]
	if to.truth.owns(slot) {
		from, to = to, from
	}
	from.append(modelEntry{kind: modelSeal, slot: slot})
	w.after(w.delay(), func() {
		if w.moving[slot] = false; w.chance(40) {
			w.tally["taken back"]++
			from.append(modelEntry{kind: modelCancel, slot: slot})
			return
		}
		w.tally["moved"]++
		to.append(modelEntry{kind: modelOpen, slot: slot, content: from.truth.sealed[slot]})
		delete(from.truth.sealed, slot)
	})
}
