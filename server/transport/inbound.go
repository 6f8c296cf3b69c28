package transport

import (
	"fmt"
	"sync"
)

// inbound holds the bytes of one connection that have arrived and were not consumed. They lie in one
// piece and are never copied again for the sake of a few that follow, so a peer that sends a long frame
// byte by byte costs no more than one that sends it at once. How long they may get is for the consumer
// to say, who sees their beginning. It belongs to the caller of Events.Data.
type inbound struct {
	rest *[]byte
}

// inboundRooms holds room for what was not consumed. Only small room is kept: a few bytes of many connections must not
// occupy what long frames have left behind.
var inboundRooms = sync.Pool{New: func() any {
	room := make([]byte, 0, smallInbound)
	return &room
}}

// deliver gives the bytes that are here, and fresh after them, to events. It reports false when the
// consumer wants the connection closed.
func (in *inbound) deliver(fresh []byte, events Events) bool {
	view := fresh
	if in.rest != nil {
		*in.rest = append(*in.rest, fresh...)
		view = *in.rest
	}
	consumed := events.Data(view)
	switch {
	case consumed < 0:
		return false
	case consumed > len(view):
		panic(fmt.Sprintf("transport: Events.Data consumed %d bytes of %d", consumed, len(view)))
	case consumed == len(view):
		in.discard()
	case in.rest != nil && cap(*in.rest) <= max(keptInbound, 4*(len(view)-consumed)):
		*in.rest = append((*in.rest)[:0], view[consumed:]...)
	default: // the room of a long frame is not kept for little
		before := in.rest
		in.rest = inboundRooms.Get().(*[]byte)
		*in.rest = append((*in.rest)[:0], view[consumed:]...)
		keepInbound(before)
	}
	return true
}

// discard forgets what was not consumed.
func (in *inbound) discard() {
	keepInbound(in.rest)
	in.rest = nil
}

func keepInbound(room *[]byte) {
	if room != nil && cap(*room) <= keptInbound {
		inboundRooms.Put(room)
	}
}
