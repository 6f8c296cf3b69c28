package shard

import (
	"encoding/binary"

	"github.com/signalbox/signalbox/protocol"
)

// The cached responses in the record of a session: their count, then the responses. A response is its length, one bit
// for each field that is not zero, its number, and those fields. A later level adds its fields at the end, with new
// bits.

const (
	answerStatus = 1 << iota
	answerFlags
	answerAbort
	answerOrder
	answerRevision
	answerQuota
	answerHasBody
	answerAsked
	answerSlot

	answerFields = 1<<iota - 1
)

func (m *Machine) appendAnswers(dst []byte, s *session) []byte {
	list := m.sessions.answersOf(s)
	dst = binary.AppendUvarint(dst, uint64(len(list)))
	for i := range list {
		a := &list[i]
		dst = append(dst, 0)
		start := len(dst)
		dst = appendAnswer(dst, a, m.keptBody(s, a.number))
		dst = setLength(dst, start)
	}
	return dst
}

func appendAnswer(dst []byte, a *answer, body string) []byte {
	has := uint64(0)
	set := func(bit uint64, is bool) {
		if is {
			has |= bit
		}
	}
	set(answerStatus, a.status != 0)
	set(answerFlags, a.flags != 0)
	set(answerAbort, a.abort != 0)
	set(answerOrder, a.order != 0)
	set(answerRevision, a.revision != 0)
	set(answerQuota, a.quota != 0)
	set(answerHasBody, body != "")
	set(answerAsked, a.asked != 0)
	set(answerSlot, a.slot != 0)
	dst = binary.AppendUvarint(dst, has)
	dst = binary.AppendUvarint(dst, a.number)
	if has&answerStatus != 0 {
		dst = append(dst, byte(a.status))
	}
	if has&answerFlags != 0 {
		dst = binary.AppendUvarint(dst, uint64(a.flags))
	}
	if has&answerAbort != 0 {
		dst = append(dst, byte(a.abort))
	}
	if has&answerOrder != 0 {
		dst = binary.AppendUvarint(dst, uint64(a.order))
	}
	if has&answerRevision != 0 {
		dst = binary.AppendUvarint(dst, uint64(a.revision))
	}
	if has&answerQuota != 0 {
		dst = append(dst, byte(a.quota))
	}
	if has&answerHasBody != 0 {
		dst = appendString(dst, body)
	}
	if has&answerAsked != 0 {
		dst = binary.LittleEndian.AppendUint64(dst, a.asked)
	}
	if has&answerSlot != 0 {
		dst = binary.AppendUvarint(dst, uint64(a.slot))
	}
	return dst
}

// answers reads the answers of a session, and their bodies. Their numbers are above acked and not above applied.
func (r *reader) answers(applied, acked uint64) (list []answer, bodies []answerBody) {
	const shortest = 3 // the bytes of the shortest answer
	n := r.uvarint()
	r.must(n <= MaxUnacknowledged && n <= uint64(len(r.data))/shortest, "a session has too many answers")
	if n > 0 && r.bad == "" {
		list = make([]answer, n)
	}
	last, size := acked, 0
	for i := range list {
		a := &list[i]
		if b := r.answer(a); b != "" {
			bodies = append(bodies, answerBody{a.number, b})
			size += bodies[len(bodies)-1].size()
		}
		r.must(a.number > last && a.number <= applied, "a session's answers are out of order")
		last = a.number
	}
	r.must(size <= MaxAnswerBytes, "a session has more bytes of answers than it may have")
	return list, bodies
}

// answer reads an answer and returns its body.
func (r *reader) answer(a *answer) (body string) {
	of := reader{data: r.bytes(), bad: r.bad}
	has := of.uvarint()
	of.must(has&^answerFields == 0, "an answer has a field that is not of its level")
	a.number = of.uvarint()
	if has&answerStatus != 0 {
		a.status = protocol.Status(of.byte())
		of.must(a.status != 0, noField)
	}
	if has&answerFlags != 0 {
		flags := of.uvarint()
		a.flags = EffectFlags(flags)
		of.must(flags != 0 && flags == uint64(a.flags), noField)
	}
	if has&answerAbort != 0 {
		a.abort = protocol.AbortReason(of.byte())
		of.must(a.abort != 0, noField)
	}
	if has&answerOrder != 0 {
		a.order = OrderID(of.uvarint())
		of.must(a.order != 0, noField)
	}
	if has&answerRevision != 0 {
		a.revision = Revision(of.uvarint())
		of.must(a.revision != 0, noField)
	}
	if has&answerQuota != 0 {
		a.quota = Quota(of.byte())
		of.must(a.quota != 0, noField)
	}
	if has&answerHasBody != 0 {
		body = string(of.bytes())
		of.must(body != "", noField)
	}
	if has&answerAsked != 0 {
		a.asked = of.uint64()
		of.must(a.asked != 0, noField)
	}
	if has&answerSlot != 0 {
		slot := of.uvarint()
		of.must(slot != 0 && slot <= Slots, noField)
		a.slot = slotNumber(slot)
	}
	of.must(len(of.data) == 0, "bytes behind the last field of an answer")
	r.must(of.bad == "", of.bad)
	return body
}

const noField = "a field of an answer has no value that it can have"
