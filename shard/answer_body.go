package shard

import (
	"sort"
	"strings"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard/internal/form"
)

// An answer may have a body: what its command answers beside the fields that all answers have, in the form of its kind.
// Few answers have one. Bodies stand apart, so that answers stay small and have no pointers, which the collector would
// follow.

// answerBody is the body of the answer that is kept under the number.
type answerBody struct {
	number uint64
	body   string
}

// answerBodies are those of a session, in order of their numbers.
type answerBodies struct {
	list []answerBody
	size int // what they count for
}

// size is what the body counts for beside its answer.
func (b *answerBody) size() int { return AnswerBodyBytes + len(b.body) }

// after returns the place of the first body whose number is above the number.
func (b *answerBodies) after(number uint64) int {
	return sort.Search(len(b.list), func(i int) bool { return b.list[i].number > number })
}

// remove takes the bodies between two places out and returns what they counted for.
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

// bodiesSize is what the bodies of the session's answers count for.
func (m *Machine) bodiesSize(s *session) int {
	if s.bodies == 0 {
		return 0
	}
	return m.bodies.at(s.bodies).size
}

// hasRoomForAnswer reports whether the session may have one more answer, with as long a body as that of the command may
// be. Where no answer has a body, their number bounds them.
func (m *Machine) hasRoomForAnswer(s *session, mu *mutation) bool {
	return s.bodies == 0 && mu.mostBody == 0 || m.rules < answerBytesBounded || m.hasRoomForBody(s, mu)
}

func (m *Machine) hasRoomForBody(s *session, mu *mutation) bool {
	size := m.bodiesSize(s)
	if mu.mostBody > 0 {
		size += AnswerBodyBytes + mu.mostBody
	}
	return size == 0 || size+AnswerBytes*(len(s.answers)+1) <= m.bounds.AnswerBytes
}

// keepBody keeps the body of the session's latest answer.
func (m *Machine) keepBody(s *session, number uint64, body string) {
	if s.bodies == 0 {
		s.bodies = m.bodies.alloc()
	}
	of := m.bodies.at(s.bodies)
	of.list = append(of.list, answerBody{number, body})
	size := of.list[len(of.list)-1].size()
	of.size += size
	m.charge(s.node, size)
}

// keptBody returns the body of the answer that is kept under the number, "" where it has none.
func (m *Machine) keptBody(s *session, number uint64) string {
	if s.bodies == 0 {
		return ""
	}
	of := m.bodies.at(s.bodies)
	if i := of.after(number); i > 0 && of.list[i-1].number == number {
		return of.list[i-1].body
	}
	return ""
}

// forgetBodies forgets the bodies of the answers above a number, up to another.
func (m *Machine) forgetBodies(s *session, above, upTo uint64) {
	if s.bodies != 0 {
		m.removeBodies(s, above, upTo)
	}
}

func (m *Machine) removeBodies(s *session, above, upTo uint64) {
	of := m.bodies.at(s.bodies)
	m.charge(s.node, -of.remove(of.after(above), of.after(upTo)))
	if len(of.list) == 0 && cap(of.list) > idleAnswers {
		m.dropBodies(s)
	}
}

// dropBodies gives back the place of a session's bodies.
func (m *Machine) dropBodies(s *session) {
	if s.bodies != 0 {
		m.bodies.release(s.bodies)
		s.bodies = 0
	}
}

// mostRefusal is the longest text for people that the answer to a refused command has.
const mostRefusal = 1024

// refuse answers with a text for people.
func (m *Machine) refuse(status protocol.Status, text string) *Effect {
	if len(text) > mostRefusal {
		text = strings.Clone(form.Cut(text, mostRefusal))
	}
	e := m.answer(status)
	e.Body = text
	return e
}
