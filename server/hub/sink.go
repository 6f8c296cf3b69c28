package hub

import (
	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/protocol"
)

// Sink is a connection, as the hub sees it. It must be comparable: a pointer.
//
// The hub calls Append, and nothing else, while it holds a lock of its own for this sink. So none of the
// hub's methods may be called with a lock held that Append takes.
type Sink interface {
	// Append calls write once, with the connection's stream locked, to append whole frames to it. It
	// returns false, and calls nothing, when the connection is gone.
	Append(write func(*protocol.Encoder, *bytebufferpool.ByteBuffer)) bool

	// Flush hands over to be sent what was appended, or, where few connections are flushed, sends it at once if it can.
	// It must not block.
	Flush(few bool)

	// Pending returns how many bytes were flushed and are not sent yet. When it was seen above
	// Options.SlowBytes and has fallen well below again, Hub.Drained must be called.
	Pending() int

	// Ended tells that the hub ended the watch of that id by itself: its WatchEnd was appended, and the
	// id is free. It is not called for a watch that was stopped, nor when the connection is gone.
	Ended(id uint64)
}
