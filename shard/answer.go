package shard

import (
	"sort"

	"github.com/signalbox/signalbox/protocol"
)

// answer is the Result of a mutation, kept until its session acknowledges the answer.
//
// If an answer has a body, the body stands in the machine's bodies.
type answer struct {
	number   uint64
	asked    uint64 // hash of the request under the number; 0 for a request below the level of the rule
	order    OrderID
	revision Revision
	status   protocol.Status
	flags    EffectFlags
	abort    protocol.AbortReason
	quota    Quota
	slot     slotNumber // of the object of the request
}

// slotNumber is a slot plus one. 0 is an unknown slot: that of an answer from below the level of the record.
type slotNumber uint16

// keep records the result of a mutation, with the hash of its request and the slot of its object. Numbers come in
// growing order.
func (s *session) keep(number, asked uint64, slot slotNumber, e *Effect) {
	if s.answers == nil {
		s.answers = make([]answer, 0, 2)
	}
	s.answers = append(s.answers, answer{
		number: number, asked: asked, order: e.Order, revision: e.Revision,
		status: e.Status, flags: e.Flags, abort: e.Abort, quota: e.Quota, slot: slot,
	})
}

// kept returns the answer kept under the number, or nil.
func (s *session) kept(number uint64) *answer {
	i := sort.Search(len(s.answers), func(i int) bool { return s.answers[i].number >= number })
	if i == len(s.answers) || s.answers[i].number != number {
		return nil
	}
	return &s.answers[i]
}

// idleAnswers is the largest room for answers that a session without answers keeps.
const idleAnswers = 16

// acknowledge forgets the answers up to the number and returns how many it has forgotten.
func (s *session) acknowledge(number uint64) (forgotten int) {
	s.acked = number
	n := 0
	for n < len(s.answers) && s.answers[n].number <= number {
		n++
	}
	rest := copy(s.answers, s.answers[n:])
	s.answers = s.answers[:rest]
	if rest == 0 && cap(s.answers) > idleAnswers {
		s.answers = nil
	}
	return n
}

// endAnswers makes all answers of the session that report the link's ownership Aborted, because the ownership is
// over.
func (m *Machine) endAnswers(h handle, reason protocol.AbortReason) {
	l := m.links.at(h)
	answers := m.sessions.at(l.session).answers
	for i := range answers {
		if a := &answers[i]; a.flags&FlagAcquired != 0 && a.order == l.order {
			m.touchSession(l.session)
			m.forgetBodies(m.sessions.at(l.session), a.number-1, a.number)
			a.become(answer{status: protocol.StatusAborted, abort: reason})
		}
	}
}

// become replaces the outcome of the request. What was asked stays.
func (a *answer) become(outcome answer) {
	outcome.number, outcome.asked, outcome.slot = a.number, a.asked, a.slot
	*a = outcome
}

// recordOutcome writes the outcome of a queued acquire into the acquire's answer, if the session still keeps the
// answer.
func (m *Machine) recordOutcome(h handle, number uint64, outcome answer) {
	s := m.sessions.at(h)
	if a := s.kept(number); a != nil {
		m.touchSession(h)
		m.forgetBodies(s, number-1, number)
		a.become(outcome)
	}
}

// reportLost gives the owner of a deleted semaphore Lost. The owner's acquire may not have been answered yet: the
// answer to a repetition must not report an ownership.
func (m *Machine) reportLost(h handle) {
	lost := m.emitFor(EffectLost, h)
	if s := m.sessions.at(m.links.at(h).session); m.rules >= lossesRecorded && !s.home {
		m.touchSession(m.links.at(h).session)
		s.losses++
		lost.Limit = s.losses
	}
	if m.rules >= answersEndWithOwnership {
		m.endAnswers(h, protocol.AbortDeleted)
		return
	}
	l := m.links.at(h)
	m.recordOutcome(l.session, l.number, answer{status: protocol.StatusAborted, abort: protocol.AbortDeleted})
}

// abort gives the waiting session Aborted: its acquire is over.
func (m *Machine) abort(h handle, reason protocol.AbortReason) {
	m.emitFor(EffectAborted, h).Abort = reason
	l := m.links.at(h)
	m.recordOutcome(l.session, l.number, answer{status: protocol.StatusAborted, abort: reason})
}
