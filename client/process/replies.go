package process

import "github.com/signalbox/signalbox/protocol"

// Reply is the reply of a member to a request.
type Reply struct {
	From uint64
	// Err is a *ReplyError if the member could not do what the request asked for, else nil.
	Err error
	Payload
}

// Replies are in the order of their arrival. They are shared and must not be changed.
type Replies []*Reply

// Of returns the reply of a member, nil if the member has not replied.
func (r Replies) Of(member uint64) *Reply {
	for _, reply := range r {
		if reply.From == member {
			return reply
		}
	}
	return nil
}

// Failures are the replies of members that could not do what the request asked for.
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
