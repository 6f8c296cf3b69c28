package machine

import (
	"encoding/binary"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// The cached responses in a session record: their count, then the responses. A response is encoded as the length, a bit
// for each nonzero field, the number, and the nonzero fields. A later level appends new fields at the end, with new
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

func (an *Answers) append(dst []byte, s *session) []byte {
	return an.appendList(dst, s, an.core.Sessions.answersOf(s))
}

// appendList appends some of a session's answers.
func (an *Answers) appendList(dst []byte, s *session, list []answer) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(list)))
	for i := range list {
		a := &list[i]
		dst = append(dst, 0)
		start := len(dst)
		dst = appendAnswer(dst, a, an.body(s, a.number))
		dst = codec.SetLength(dst, start)
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
		dst = codec.AppendBytes(dst, body)
	}
	if has&answerAsked != 0 {
		dst = binary.LittleEndian.AppendUint64(dst, a.asked)
	}
	if has&answerSlot != 0 {
		dst = binary.AppendUvarint(dst, uint64(a.slot))
	}
	return dst
}

// readAnswers reads a session's answers and answer bodies. The numbers are above acked and at most applied. A session
// may have more answers than MaxUnacknowledged if slots have moved.
func readAnswers(r *codec.Input, applied, acked uint64) (list []answer, bodies []answerBody) {
	const shortest = 3 // bytes in the shortest answer
	n := r.Number()
	r.Must(n <= uint64(len(r.Data))/shortest, "a session has more answers than bytes")
	if n > 0 && r.Sound() {
		list = make([]answer, n)
	}
	last := acked
	for i := range list {
		a := &list[i]
		if b := readAnswer(r, a); b != "" {
			bodies = append(bodies, answerBody{a.number, b})
		}
		r.Must(a.number > last && a.number <= applied, "a session's answers are out of order")
		last = a.number
	}
	return list, bodies
}

// readAnswer reads an answer and returns the body.
func readAnswer(r *codec.Input, a *answer) (body string) {
	of := codec.Input{Data: r.Bytes()}
	has := of.Number()
	of.Must(has&^answerFields == 0, "an answer has a field that is not of its level")
	a.number = of.Number()
	if has&answerStatus != 0 {
		a.status = protocol.Status(of.Byte())
		of.Must(a.status != 0, noField)
	}
	if has&answerFlags != 0 {
		flags := of.Number()
		a.flags = shard.EffectFlags(flags)
		of.Must(flags != 0 && flags == uint64(a.flags), noField)
	}
	if has&answerAbort != 0 {
		a.abort = protocol.AbortReason(of.Byte())
		of.Must(a.abort != 0, noField)
	}
	if has&answerOrder != 0 {
		a.order = shard.OrderID(of.Number())
		of.Must(a.order != 0, noField)
	}
	if has&answerRevision != 0 {
		a.revision = shard.Revision(of.Number())
		of.Must(a.revision != 0, noField)
	}
	if has&answerQuota != 0 {
		a.quota = shard.Quota(of.Byte())
		of.Must(a.quota != 0, noField)
	}
	if has&answerHasBody != 0 {
		body = string(of.Bytes())
		of.Must(body != "", noField)
	}
	if has&answerAsked != 0 {
		a.asked = of.Uint64()
		of.Must(a.asked != 0, noField)
	}
	if has&answerSlot != 0 {
		slot := of.Number()
		of.Must(slot != 0 && slot <= shard.Slots, noField)
		a.slot = slotNumber(slot)
	}
	of.Must(len(of.Data) == 0, "bytes behind the last field of an answer")
	r.Must(of.Sound(), of.Bad())
	return body
}

const noField = "a field of an answer has no value that it can have"
