package process

import "github.com/signalbox/signalbox/protocol"

// Reply is what a member replied to a request.
type Reply struct {
	From uint64
	// Err is a *Failure where the member could not do what it was asked, else nil.
	Err error
	Payload
}

// Replies are in the order in which they came. They are shared and must not be changed.
type Replies []*Reply

// Of returns the reply of a member, nil where there is none.
func (r Replies) Of(member uint64) *Reply {
	for _, reply := range r {
		if reply.From == member {
			return reply
		}
	}
	return nil
}

// Failures are those of members that could not do what they were asked.
func (r Replies) Failures() (failed Replies) {
	for _, reply := range r {
		if reply.Err != nil {
			failed = append(failed, reply)
		}
	}
	return failed
}

func replyOf(m *protocol.Reply, codec Codec) *Reply {
	r := &Reply{From: m.From}
	if m.Failed {
		r.Err = &Failure{m.From, string(m.Data)}
	} else {
		r.Payload = payloadOf(m.Data, codec)
	}
	return r
}
