package transport

import (
	"fmt"
	"sync"
)

// inbound holds the arrived bytes of one connection before the consumer has taken them. The bytes lie in one piece
// and are never copied again for the sake of a few new bytes, so a peer that sends a long frame byte by byte costs no
// more than a peer that sends the frame at once. The consumer sees the beginning of the bytes and says how long they
// may get. inbound belongs to the caller of Events.Data.
type inbound struct {
	rest *[]byte
}

// inboundRooms holds room for unconsumed bytes. Only small room is kept: the few bytes of many connections must not
// occupy the room of old long frames.
var inboundRooms = sync.Pool{New: func() any {
	room := make([]byte, 0, smallInbound)
	return &room
}}

// deliver gives the held bytes, and fresh after them, to events. deliver reports false when the consumer wants the
// connection closed.
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
		if in.rest != nil {
			in.discard()
		}
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

// discard forgets the unconsumed bytes.
func (in *inbound) discard() {
	keepInbound(in.rest)
	in.rest = nil
}

func keepInbound(room *[]byte) {
	if room != nil && cap(*room) <= keptInbound {
		inboundRooms.Put(room)
	}
}
