package process

import "github.com/signalbox/signalbox/protocol"

// Reply is a member's reply to a request.
type Reply struct {
	From uint64
	// Err is a *ReplyError if the member could not fulfill the request, else nil.
	Err error
	Payload
}

// Replies are in arrival order. They are shared and must not be changed.
type Replies []*Reply

// Of returns a member's reply, or nil.
func (r Replies) Of(member uint64) *Reply {
	for _, reply := range r {
		if reply.From == member {
			return reply
		}
	}
	return nil
}

// Failures returns the replies from members that could not fulfill the request.
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
		r.Err = &ReplyError{m.From, string(m.Data)}
	} else {
		r.Payload = payloadOf(m.Data, codec)
	}
	return r
}
