package server

import (
	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/transport"
	"github.com/signalbox/signalbox/shard"
)

// Answer appends the answer to a request that was carried out.
func (c *conn) Answer(id uint64, m protocol.AnswerMessage) {
	c.inFlight.Add(-1)
	c.mu.Lock()
	if !c.closed {
		c.encoder.Answer(c.buffer(), id, m)
		c.sendIfLong()
	}
	a := c.takeAct(id)
	c.mu.Unlock()
	c.audit(a, &succeeded)
}

var succeeded protocol.Result

// AnswerBound is Answer while the session acts over this connection, so that what follows reaches its client. It
// returns false, and answers nothing, where the session does not act over this connection any more.
func (c *conn) AnswerBound(session shard.SessionID, id uint64, m protocol.AnswerMessage) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed && c.acting(session) == nil {
		return false
	}
	c.inFlight.Add(-1)
	if !c.closed {
		c.encoder.Answer(c.buffer(), id, m)
		c.sendIfLong()
	}
	return true
}

// Fail implements pipeline.Caller: it appends the answer to a request that was not.
func (c *conn) Fail(id uint64, kind protocol.Kind, r *protocol.Result) {
	c.host.metrics.Failed(kind, r.Status)
	c.inFlight.Add(-1)
	c.mu.Lock()
	if !c.closed {
		c.encoder.Failure(c.buffer(), id, kind, r)
	}
	a := c.takeAct(id)
	c.mu.Unlock()
	c.audit(a, r)
}

// Push appends a push.
func (c *conn) Push(id uint64, m protocol.PushMessage) {
	c.mu.Lock()
	if !c.closed {
		c.encoder.Push(c.buffer(), id, m)
		c.sendIfLong()
	}
	c.mu.Unlock()
}

// buffer returns the buffer for the next flush. The lock is held.
func (c *conn) buffer() *bytebufferpool.ByteBuffer {
	if c.out == nil {
		c.out = transport.Buffers.Get()
	}
	return c.out
}

// sendIfLong hands what was appended over early where it is much, so that what waits for a client shows in
// Pending however many answers one round of frames or one batch brings. The lock is held.
func (c *conn) sendIfLong() {
	if len(c.out.B) >= spillBytes {
		c.send()
	}
}

// send hands over what was appended. The lock is held.
func (c *conn) send() { c.peer.Send(c.takeOutput()) }

// takeOutput takes what was appended, to hand it over. The lock is held.
func (c *conn) takeOutput() *bytebufferpool.ByteBuffer {
	out := c.out
	c.out = nil
	if c.host.pending.add(len(out.B)) {
		c.host.set.Wake()
	}
	return out
}

// flush hands what was appended over to be sent. It cuts off a client for which too much waits: answers
// and pushes come from many places, and one that sends nothing must be bounded too. False: it did.
func (c *conn) flush() bool {
	c.mu.Lock()
	if c.out != nil {
		c.send()
	}
	return c.unlockBounded()
}

// flushEarly sends the first answers to frames that arrived together while the others are dispatched, once they are
// worth a write, and reports whether they were: the client reads them meanwhile, and neither waits for the other. More
// than once for the same frames it costs more than it brings where processors are busy.
func (c *conn) flushEarly() (sent bool) {
	c.mu.Lock()
	if c.out == nil || len(c.out.B) < earlyBytes {
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

// flushHere is flush on this goroutine, where that can be: it takes a system call, and no event loop has to be woken.
func (c *conn) flushHere() {
	c.mu.Lock()
	ours := c.out != nil && c.peer.Queue(c.takeOutput())
	c.unlockBounded()
	if ours {
		c.peer.Flush()
	}
}

// unlockBounded lets go of the lock, and cuts off a client for which too much waits.
func (c *conn) unlockBounded() (open bool) {
	slow := !c.closed && !c.cut && c.peer.Pending() > maxPending
	cut := c.cut
	c.mu.Unlock()
	if slow {
		c.cutOff(cutSlow, protocol.StatusOverloaded, "the client reads too slowly")
	}
	return !cut && !slow
}

// Append implements hub.Sink.
func (c *conn) Append(write func(*protocol.Encoder, *bytebufferpool.ByteBuffer)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	write(c.encoder, c.buffer())
	return true
}

// Ended implements hub.Sink.
func (c *conn) Ended(uint64) {
	c.mu.Lock()
	c.watches--
	c.mu.Unlock()
}

// Flush implements hub.Sink.
func (c *conn) Flush(few bool) {
	if few {
		c.flushHere()
	} else {
		c.flush()
	}
}

// Pending implements hub.Sink.
func (c *conn) Pending() int { return c.peer.Pending() }

// Mark implements replica.Conn.
func (c *conn) Mark() bool { return c.marked.CompareAndSwap(false, true) }

// Unmark implements replica.Conn.
func (c *conn) Unmark() { c.marked.Store(false) }
