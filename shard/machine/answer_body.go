package machine

import (
	"sort"
	"strings"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/form"
)

// An answer may have a body: the results of its command beside the fields of every answer, in the form of the
// command's kind. Few answers have a body. Bodies stand apart, so that answers stay small and have no pointers for
// the collector to follow.

// answerBody is the body of the answer with the number.
type answerBody struct {
	number uint64
	body   string
}

// answerBodies are the bodies of a session, in order of their numbers.
type answerBodies struct {
	list []answerBody
	size int // size in a quota
}

// size is the size of the body in a quota, beside the size of its answer.
func (b *answerBody) size() int { return shard.AnswerBodyBytes + len(b.body) }

// after returns the place of the first body with a number above the given number.
func (b *answerBodies) after(number uint64) int {
	return sort.Search(len(b.list), func(i int) bool { return b.list[i].number > number })
}

// remove removes the bodies between two places and returns their size in a quota.
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

// bodiesSize is the size of all bodies of the session's answers.
func (m *Machine) bodiesSize(s *session) int {
	if s.bodies == 0 {
		return 0
	}
	return m.bodies.At(s.bodies).size
}

// hasRoomForBody reports whether the session may have one more answer, with the longest body of the command.
func (m *Machine) hasRoomForBody(s *session, mu *mutation) bool {
	size := m.bodiesSize(s)
	if mu.mostBody > 0 {
		size += shard.AnswerBodyBytes + mu.mostBody
	}
	return size == 0 || size+shard.AnswerBytes*(len(m.sessions.answersOf(s))+1) <= m.bounds.AnswerBytes
}

// keepBody keeps the body of the session's latest answer.
func (m *Machine) keepBody(s *session, number uint64, body string) {
	if s.bodies == 0 {
		s.bodies = m.bodies.Alloc()
	}
	of := m.bodies.At(s.bodies)
	of.list = append(of.list, answerBody{number, body})
	size := of.list[len(of.list)-1].size()
	of.size += size
	m.charge(m.nodeOf(s), size)
}

// keptBody returns the body of the answer with the number, "" if the answer has no body.
func (m *Machine) keptBody(s *session, number uint64) string {
	if s.bodies == 0 {
		return ""
	}
	of := m.bodies.At(s.bodies)
	if i := of.after(number); i > 0 && of.list[i-1].number == number {
		return of.list[i-1].body
	}
	return ""
}

// forgetBodies forgets the bodies of the answers above one number, up to a second number, of a session with bodies.
func (m *Machine) forgetBodies(s *session, above, upTo uint64) {
	of := m.bodies.At(s.bodies)
	m.charge(m.nodeOf(s), -of.remove(of.after(above), of.after(upTo)))
	if len(of.list) == 0 && cap(of.list) > idleAnswers {
		m.dropBodies(s)
	}
}

// dropBodies gives back the place of a session's bodies.
func (m *Machine) dropBodies(s *session) {
	if s.bodies != 0 {
		m.bodies.Release(s.bodies)
		s.bodies = 0
	}
}

// mostRefusal is the longest text for people that the answer to a refused command has.
const mostRefusal = 1024

// refuse answers with a text for people.
func (m *Machine) refuse(status protocol.Status, text string) *shard.Effect {
	if len(text) > mostRefusal {
		text = strings.Clone(form.Cut(text, mostRefusal))
	}
	e := m.answer(status)
	e.Body = text
	return e
}
