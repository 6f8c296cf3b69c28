package machine

import (
	"sort"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
)

// An answer may have a body: command results beyond the common fields, encoded by the command's kind. Few answers have
// a body. The machine stores bodies separately, so answers stay small and contain no pointers for the garbage collector
// to follow.

// answerBody is the body for the answer with the number.
type answerBody struct {
	number uint64
	body   string
}

// answerBodies are a session's bodies, ordered by number.
type answerBodies struct {
	list []answerBody
	size int // bytes charged to a quota
}

// size is what the body adds to a byte quota, beside its answer.
func (b *answerBody) size() int { return shard.AnswerBodyBytes + len(b.body) }

// after returns the index of the first body with a number above the given number.
func (b *answerBodies) after(number uint64) int {
	return sort.Search(len(b.list), func(i int) bool { return b.list[i].number > number })
}

// remove removes the bodies between two indexes and returns the bytes they had charged to a quota.
func (b *answerBodies) remove(from, to int) (size int) {
	for i := range b.list[from:to] {
		size += b.list[from+i].size()
	}
	rest := from + copy(b.list[from:], b.list[to:])
	clear(b.list[rest:])
	b.list = b.list[:rest]
	b.size -= size
	return size
}

// Answers are the cached responses the shard keeps until their sessions acknowledge them.
type Answers struct {
	core   *Core
	bodies arena.Slab[answerBodies]
}

// bodiesSize is the total size of the session's answer bodies.
func (an *Answers) bodiesSize(s *session) int {
	if s.bodies == 0 {
		return 0
	}
	return an.bodies.At(s.bodies).size
}

// hasRoomForBody reports whether the session may have one more answer, with the longest body the command can return.
func (an *Answers) hasRoomForBody(s *session, mu *Mutation) bool {
	size := an.bodiesSize(s)
	if mu.MostBody > 0 {
		size += shard.AnswerBodyBytes + mu.MostBody
	}
	return size == 0 || size+shard.AnswerBytes*(len(an.core.Sessions.answersOf(s))+1) <= an.core.bounds.AnswerBytes
}

// keepBody stores the body for the session's latest answer.
func (an *Answers) keepBody(s *session, number uint64, body string) {
	if s.bodies == 0 {
		s.bodies = an.bodies.Alloc()
	}
	of := an.bodies.At(s.bodies)
	of.list = append(of.list, answerBody{number, body})
	size := of.list[len(of.list)-1].size()
	of.size += size
	an.core.Nodes.Charge(an.core.Sessions.Node(s), size)
}

// body returns the body for the answer with the number, "" if the answer has no body.
func (an *Answers) body(s *session, number uint64) string {
	if s.bodies == 0 {
		return ""
	}
	of := an.bodies.At(s.bodies)
	if i := of.after(number); i > 0 && of.list[i-1].number == number {
		return of.list[i-1].body
	}
	return ""
}

// forgetBodies discards the bodies above one number, up to a second number, for a session that has bodies.
func (an *Answers) forgetBodies(s *session, above, upTo uint64) {
	of := an.bodies.At(s.bodies)
	an.core.Nodes.Charge(an.core.Sessions.Node(s), -of.remove(of.after(above), of.after(upTo)))
	if len(of.list) == 0 && cap(of.list) > idleAnswers {
		an.dropBodies(s)
	}
}

// dropBodies frees the memory for a session's bodies.
func (an *Answers) dropBodies(s *session) {
	if s.bodies != 0 {
		an.bodies.Release(s.bodies)
		s.bodies = 0
	}
}
