package transport

import (
	"fmt"

	"github.com/valyala/bytebufferpool"
)

// inboundPool is apart from the pool of what is sent, because the sizes differ.
var inboundPool bytebufferpool.Pool

// inbound holds the bytes of one connection that have arrived and were not consumed. They lie in one
// piece and are never copied again for the sake of a few that follow, so a peer that sends a long frame
// byte by byte costs no more than one that sends it at once. How long they may get is for the consumer
// to say, who sees their beginning. It belongs to whoever calls Events.Data.
type inbound struct {
	rest *bytebufferpool.ByteBuffer
}

// deliver gives the bytes that are here, and fresh after them, to events. It reports false when the
// consumer wants the connection closed.
func (in *inbound) deliver(fresh []byte, events Events) bool {
	view := fresh
	if in.rest != nil {
		in.rest.B = append(in.rest.B, fresh...)
		view = in.rest.B
	}
	consumed := events.Data(view)
	switch {
	case consumed < 0:
		return false
	case consumed > len(view):
		panic(fmt.Sprintf("transport: Events.Data consumed %d bytes of %d", consumed, len(view)))
	case consumed == len(view):
		in.discard()
	case in.rest != nil:
		in.rest.B = append(in.rest.B[:0], view[consumed:]...)
	default:
		in.rest = inboundPool.Get()
		in.rest.B = append(in.rest.B, view[consumed:]...)
	}
	return true
}

// discard forgets what was not consumed.
func (in *inbound) discard() {
	if in.rest != nil {
		inboundPool.Put(in.rest)
		in.rest = nil
	}
}
