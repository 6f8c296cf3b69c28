package machine

import (
	"math/bits"
	"sort"

	"github.com/cespare/xxhash/v2"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/internal/assert"
)

// answer is a mutation's Result, kept until its session acknowledges the answer.
//
// If an answer has a body, the machine stores the body separately, in its bodies.
type answer struct {
	number   uint64
	asked    uint64 // request hash; 0 for a request below the level that introduced hashes
	order    shard.OrderID
	revision shard.Revision
	status   protocol.Status
	flags    shard.EffectFlags
	abort    protocol.AbortReason
	quota    shard.Quota
	slot     slotNumber // slot the requested object belongs to
}

// slotNumber is a slot plus one.
type slotNumber uint16

// keep records a numbered command's outcome for the session, with the request hash and the object's slot. Numbers
// arrive in increasing order.
func (an *Answers) keep(c *shard.Command, mu *Mutation, t *Target, o *Outcome) {
	s := an.core.Sessions.At(t.Session)
	list := an.core.Sessions.answersOf(s)
	if list == nil {
		list = make([]answer, 0, 2)
	}
	a := answer{
		number: c.Number, order: o.Order, revision: o.Revision,
		status: o.Status, flags: o.Flags, quota: o.Quota,
		asked: askedOf(c, mu, t.hash), slot: slotNumber(t.slot) + 1,
	}
	an.core.Sessions.setAnswers(s, append(list, a))
	if o.Body != "" {
		assert.That(len(o.Body) <= mu.MostBody, "an answer has no longer body than its command may have")
		an.keepBody(s, c.Number, o.Body)
	}
}

// answersOf returns a session's kept answers, by number.
func (se *Sessions) answersOf(s *session) []answer {
	if s.answers == 0 {
		return nil
	}
	return *se.kept.At(s.answers)
}

// setAnswers keeps the answers for a session, none with nil.
func (se *Sessions) setAnswers(s *session, list []answer) {
	switch {
	case list == nil && s.answers != 0:
		se.kept.Release(s.answers)
		s.answers = 0
	case list != nil:
		if s.answers == 0 {
			s.answers = se.kept.Alloc()
		}
		*se.kept.At(s.answers) = list
	}
}

// answer returns the answer kept under the number, or nil.
func (se *Sessions) answer(s *session, number uint64) *answer {
	list := se.answersOf(s)
	i := sort.Search(len(list), func(i int) bool { return list[i].number >= number })
	if i == len(list) || list[i].number != number {
		return nil
	}
	return &list[i]
}

// idleAnswers is the largest answer capacity a session without answers retains.
const idleAnswers = 16

// acknowledge discards the answers up to the number and returns how many it discarded.
func (se *Sessions) acknowledge(s *session, number uint64) (forgotten int) {
	s.acked = number
	list, n := se.answersOf(s), 0
	for n < len(list) && list[n].number <= number {
		n++
	}
	list = list[:copy(list, list[n:])]
	if len(list) == 0 && cap(list) > idleAnswers {
		list = nil
	}
	se.setAnswers(s, list)
	return n
}

// End changes all answers in which the session was granted the holding to Aborted, because the ownership is over.
func (an *Answers) End(h arena.Handle, reason protocol.AbortReason) {
	l := an.core.Holdings.At(h)
	answers := an.core.Sessions.answersOf(an.core.Sessions.At(l.Session))
	for i := range answers {
		if a := &answers[i]; a.flags&shard.FlagAcquired != 0 && a.order == l.Order {
			an.replaceOutcome(l.Session, a, answer{status: protocol.StatusAborted, abort: reason})
		}
	}
}

// replaceOutcome replaces an answer's outcome for the session, and discards the body.
func (an *Answers) replaceOutcome(session arena.Handle, a *answer, outcome answer) {
	an.core.Snapshots.touchSession(session)
	if s := an.core.Sessions.At(session); s.bodies != 0 {
		an.forgetBodies(s, a.number-1, a.number)
	}
	a.become(outcome)
}

// become replaces the outcome. The request hash stays.
func (a *answer) become(outcome answer) {
	outcome.number, outcome.asked, outcome.slot = a.number, a.asked, a.slot
	*a = outcome
}

// record writes a queued acquire's outcome into its answer, if the session still keeps the answer.
func (an *Answers) record(l *Holding, outcome answer) {
	a := an.core.Sessions.answer(an.core.Sessions.At(l.Session), l.Number)
	if a != nil && a.order == l.Order { // after a move, another request may have used the number in this shard
		an.replaceOutcome(l.Session, a, outcome)
	}
}

// Acquired reports whether the session keeps an answer under the number that granted it the holding.
func (an *Answers) Acquired(h arena.Handle, number uint64) bool {
	l := an.core.Holdings.At(h)
	a := an.core.Sessions.answer(an.core.Sessions.At(l.Session), number)
	return a != nil && a.flags&shard.FlagAcquired != 0 && a.order == l.Order
}

// NotifyGranted sends Granted to the new owner.
func (ho *Holdings) NotifyGranted(h arena.Handle) {
	ho.Emit(shard.EffectGranted, h)
	l := ho.At(h)
	ho.core.Answers.record(l, answer{flags: shard.FlagAcquired, order: l.Order})
}

// NotifyTimedOut sends TimedOut to the waiting session: its acquire is over.
func (ho *Holdings) NotifyTimedOut(h arena.Handle) {
	ho.Emit(shard.EffectTimedOut, h)
	ho.core.Answers.record(ho.At(h), answer{})
}

// Lose sends Lost to the owner of a deleted semaphore. The owner's acquire may not have been answered yet: the answer
// to a retry must not report an ownership.
func (ho *Holdings) Lose(h arena.Handle) {
	lost := ho.Emit(shard.EffectLost, h)
	if s := ho.core.Sessions.At(ho.At(h).Session); !s.home {
		ho.core.Snapshots.touchSession(ho.At(h).Session)
		s.losses++
		lost.Limit = s.losses
	}
	ho.core.Answers.End(h, protocol.AbortDeleted)
}

// Abort sends Aborted to the waiting session: its acquire is over.
func (ho *Holdings) Abort(h arena.Handle, reason protocol.AbortReason) {
	ho.Emit(shard.EffectAborted, h).Abort = reason
	ho.core.Answers.record(ho.At(h), answer{status: protocol.StatusAborted, abort: reason})
}

// A number identifies one request. The answer under a number includes a hash of the request, so the shard refuses a
// different request under the same number instead of returning the first answer.

// Hash multipliers: fractional digits of pi.
const (
	asked1 = 0x243f6a8885a308d3
	asked2 = 0x13198a2e03707345
	asked3 = 0xa4093822299f31d1
	asked4 = 0x082efa98ec4e6c89
	asked5 = 0x452821e638d01377
	asked6 = 0xbe5466cf34e90c6d
	asked7 = 0xc0ac29b7c97c50dd
)

// askedOf returns the request hash for a numbered command, never 0. The hash covers the kind, the object's node and
// name, and the arguments. It leaves out the maximum wait time, the acknowledged number, and the proposal's time and
// host. Snapshots contain the hashes, so a field of a later level is hashed only if it is not zero. Hashing an acquire
// or a release without data takes two multiplications.
func askedOf(c *shard.Command, mu *Mutation, object uint64) uint64 {
	hash := fold(object^asked1, (uint64(c.Kind)|uint64(c.Flags)<<8)^asked2) ^
		fold(c.Count^asked3, uint64(c.Order)^asked4)
	timeout := c.Timeout
	if mu.Waits {
		timeout = 0
	}
	if timeout|c.Term|uint64(c.Revision) != 0 {
		hash = fold(hash^timeout, asked5)
		hash = fold(hash^c.Term, asked5)
		hash = fold(hash^uint64(c.Revision), asked5)
	}
	if len(c.Data) > 0 {
		hash = fold(hash^xxhash.Sum64(c.Data), asked6)
	}
	if len(c.Body) > 0 {
		hash = fold(hash^xxhash.Sum64(c.Body), asked7)
	}
	return max(hash, 1)
}

// fold multiplies two numbers and combines the two halves of the product.
func fold(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}

// isAnother reports whether the number was used for a different request before, as far as the answer under the number
// shows.
func (an *Answers) isAnother(c *shard.Command, mu *Mutation, t *Target, a *answer) bool {
	return a != nil && a.asked != askedOf(c, mu, t.hash)
}
