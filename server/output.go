package server

import (
	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/transport"
	"github.com/signalbox/signalbox/shard"
)

// Answer appends the answer to a successful request.
func (c *conn) Answer(id uint64, m protocol.AnswerMessage) {
	c.inFlight.Add(-1)
	c.mu.Lock()
	if !c.closed {
		c.encoder.Answer(c.buffer(), id, m)
		c.sendIfLong()
	}
	a := c.acts[id]
	delete(c.acts, id)
	c.mu.Unlock()
	if a != nil {
		c.audit(a, &succeeded)
	}
}

var succeeded protocol.Result

// AnswerBound is Answer while the session acts over this connection, so that later messages reach the session's
// client. Otherwise AnswerBound answers nothing and returns false.
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

// Fail implements pipeline.Caller: it appends the answer to a request that failed.
func (c *conn) Fail(id uint64, kind protocol.Kind, r *protocol.Result) {
	c.host.metrics.Failed(kind, r.Status)
	c.inFlight.Add(-1)
	c.mu.Lock()
	if !c.closed {
		c.encoder.Failure(c.buffer(), id, kind, r)
	}
	a := c.acts[id]
	delete(c.acts, id)
	c.mu.Unlock()
	if a != nil {
		c.audit(a, r)
	}
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

// sendIfLong hands a long output over early, so that Pending shows how much waits for a client, however many answers
// one round of frames or one batch brings. The lock is held.
func (c *conn) sendIfLong() {
	if len(c.out.B) >= spillBytes {
		c.send()
	}
}

// send hands over the output. The lock is held.
func (c *conn) send() { c.peer.Send(c.takeOutput()) }

// takeOutput takes the output, to hand it over. The lock is held.
func (c *conn) takeOutput() *bytebufferpool.ByteBuffer {
	out := c.out
	c.out = nil
	if p := &c.host.pending; p.counted.Load()+p.added.Add(int64(len(out.B))) > p.limit {
		c.host.set.Wake()
	}
	return out
}

// flush hands the output over to be sent. It cuts off a client with too much waiting: answers and pushes come from
// many places, and a client that sends nothing must be bounded too. False: the client was cut off.
func (c *conn) flush() bool {
	c.mu.Lock()
	if c.out != nil {
		c.send()
	}
	return c.unlockBounded()
}

// flushEarly sends the first answers to a burst of frames while the rest is dispatched, once the answers are worth a
// write, and reports whether it sent them. So the client reads while the host works, and neither side waits. A second
// early flush for one burst costs more than it brings when processors are busy.
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

// unlockBounded releases the lock, and cuts off a client with too much waiting.
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

// Flush implements hub.Sink: it is flush, if possible on this goroutine where there are few connections to flush. That
// takes a system call, and no event loop has to be woken.
func (c *conn) Flush(few bool) {
	if !few {
		c.flush()
		return
	}
	c.mu.Lock()
	ours := c.out != nil && c.peer.Queue(c.takeOutput())
	c.unlockBounded()
	if ours {
		c.peer.Flush()
	}
}

// Pending implements hub.Sink.
func (c *conn) Pending() int { return c.peer.Pending() }

// Mark implements replica.Conn.
func (c *conn) Mark() bool { return c.marked.CompareAndSwap(false, true) }

// Unmark implements replica.Conn.
func (c *conn) Unmark() { c.marked.Store(false) }
