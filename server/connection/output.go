package connection

import (
	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/transport"
	"github.com/signalbox/signalbox/shard"
)

const (
	// maxPending is the maximum number of unsent bytes per connection. A client that reads more slowly is
	// disconnected.
	maxPending = 32 << 20
	// slowPending is the number of unsent bytes above which further requests on the connection are refused with
	// OVERLOADED. Answers are much longer than requests, and a client must not reach maxPending merely by sending
	// many requests.
	slowPending = 16 << 20
	// earlyBytes is the answer length from which an early write pays off while further frames in the burst are
	// dispatched.
	earlyBytes = 1 << 10
	// spillBytes is the output length that is handed over early. So Pending stays accurate, however many answers one
	// round of frames or one batch produces.
	spillBytes = 256 << 10
)

// output holds the bytes for a connection's next flush.
type output struct {
	encoder *protocol.Encoder
	bytes   *bytebufferpool.ByteBuffer // nil if empty
}

// buffer returns the buffer for the next flush.
func (o *output) buffer() *bytebufferpool.ByteBuffer {
	if o.bytes == nil {
		o.bytes = transport.Buffers.Get()
	}
	return o.bytes
}

// drop discards the bytes.
func (o *output) drop() {
	if o.bytes != nil {
		transport.Buffers.Put(o.bytes)
		o.bytes = nil
	}
}

// Push implements replica.Conn.
func (c *Conn) Push(id uint64, m protocol.PushMessage) {
	c.mu.Lock()
	if !c.closed {
		c.out.encoder.Push(c.out.buffer(), id, m)
		c.sendIfLong()
	}
	c.mu.Unlock()
}

// sendIfLong hands long output over early. The lock is held.
func (c *Conn) sendIfLong() {
	if len(c.out.bytes.B) >= spillBytes {
		c.peer.Send(c.takeOutput())
	}
}

// takeOutput removes and returns the output for sending. The lock is held.
func (c *Conn) takeOutput() *bytebufferpool.ByteBuffer {
	bytes := c.out.bytes
	c.out.bytes = nil
	if c.set.pending.add(len(bytes.B)) {
		c.set.Host.Wake()
	}
	return bytes
}

// flush hands the output over for sending. flush disconnects a client with too many unsent bytes: answers and pushes
// come from many places, and a client that sends nothing must be limited too. flush returns false if the client was
// disconnected.
func (c *Conn) flush() bool {
	c.mu.Lock()
	if c.out.bytes != nil {
		c.peer.Send(c.takeOutput())
	}
	return c.unlockBounded()
}

// flushEarly sends the first answers to a burst while the remaining frames are dispatched, if the answers are worth a
// write. flushEarly reports whether it sent them. The client then reads while the host works, and neither side waits.
// A second early flush per burst costs more than it gains when processors are busy.
func (c *Conn) flushEarly() (sent bool) {
	c.mu.Lock()
	if c.out.bytes == nil || len(c.out.bytes.B) < earlyBytes {
		c.mu.Unlock()
		return false
	}
	start := c.peer.Queue(c.takeOutput())
	c.mu.Unlock()
	if start {
		c.peer.Flush()
	} else if loop, ok := c.peer.(transport.EarlyFlusher); ok {
		loop.FlushEarly()
	}
	return true
}

// unlockBounded releases the lock, and disconnects a client with too many unsent bytes.
func (c *Conn) unlockBounded() (open bool) {
	slow := !c.closed && !c.cut && c.peer.Pending() > maxPending
	cut := c.cut
	c.mu.Unlock()
	if slow {
		c.cutOff(cutSlow, protocol.StatusOverloaded, "the client reads too slowly")
	}
	return !cut && !slow
}

// Append implements watch.Sink.
func (c *Conn) Append(write func(*protocol.Encoder, *bytebufferpool.ByteBuffer)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	write(c.out.encoder, c.out.buffer())
	return true
}

// Flush implements watch.Sink. If few connections are being flushed, Flush writes on this goroutine if possible: the
// write takes a system call, but no event loop has to be woken.
func (c *Conn) Flush(few bool) {
	if !few {
		c.flush()
		return
	}
	c.mu.Lock()
	ours := c.out.bytes != nil && c.peer.Queue(c.takeOutput())
	c.unlockBounded()
	if ours {
		c.peer.Flush()
	}
}

// Pending implements watch.Sink.
func (c *Conn) Pending() int { return c.peer.Pending() }

// Mark implements replica.Conn.
func (c *Conn) Mark() bool { return c.marked.CompareAndSwap(false, true) }

// Unmark implements replica.Conn.
func (c *Conn) Unmark() { c.marked.Store(false) }

// Watch implements handle.Connection.
func (c *Conn) Watch() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.countWatch()
}

// WatchOf implements handle.Connection.
func (c *Conn) WatchOf(id shard.SessionID) (counted, acts bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	acts = c.sessions.acting(id) != nil
	return acts && c.countWatch(), acts
}

// countWatch counts a watch unless the limit is reached. The lock is held.
func (c *Conn) countWatch() bool {
	if c.watches >= int(c.set.Limits.Watches) {
		return false
	}
	c.watches++
	return true
}

// Ended implements watch.Sink.
func (c *Conn) Ended(uint64) {
	c.mu.Lock()
	c.watches--
	c.mu.Unlock()
}
