package transport

import (
	"fmt"
	"sync"
)

// inbound holds one connection's received bytes until the consumer takes them. The bytes are contiguous and are not
// copied again for every few new bytes, so a peer that sends a long frame byte by byte costs no more than one that
// sends the frame at once. The consumer sees the beginning of the bytes and says how long they may get. inbound
// belongs to the caller of Events.Data.
type inbound struct {
	rest *[]byte
}

// inboundRooms pools buffers for unconsumed bytes. Only small buffers are kept: the few bytes of many connections
// must not occupy buffers that once held long frames.
var inboundRooms = sync.Pool{New: func() any {
	room := make([]byte, 0, smallInbound)
	return &room
}}

// deliver passes the held bytes, followed by fresh, to events. deliver returns false if the consumer wants to close
// the connection.
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
	default: // a long frame's buffer is not kept for a few bytes
		before := in.rest
		in.rest = inboundRooms.Get().(*[]byte)
		*in.rest = append((*in.rest)[:0], view[consumed:]...)
		keepInbound(before)
	}
	return true
}

// discard drops the unconsumed bytes.
func (in *inbound) discard() {
	keepInbound(in.rest)
	in.rest = nil
}

func keepInbound(room *[]byte) {
	if room != nil && cap(*room) <= keptInbound {
		inboundRooms.Put(room)
	}
}
