//go:build linux || darwin || freebsd

package transport

import (
	"github.com/valyala/bytebufferpool"
	"golang.org/x/sys/unix"
)

// directBytes bounds what is written on the goroutine of another; more is for the loop.
const directBytes = 16 << 10

// A direct write must be too little to make Drained due.
const _ = uint(HighWater - LowWater - directBytes)

// Flush writes what is queued here, which spares the loop to be woken, where the operating system takes it at once.
// What it does not take, and what comes too close to that, is the loop's.
func (c *gnetConn) Flush() {
	if c.writeDirectly() {
		return
	}
	c.loop.flush(c)
}

// FlushEarly implements EarlyFlusher. Where another goroutine writes, and where the operating system does not take it,
// it is left to the end of the turn.
func (c *gnetConn) FlushEarly() {
	if c.sending && !c.closed && c.unsent == 0 && c.rest == nil {
		c.writeFew()
	}
}

// writeDirectly is called by the sender, and reports whether it is not any more: there is nothing left to do.
func (c *gnetConn) writeDirectly() (done bool) {
	if c.unsent > 0 {
		return false
	}
	c.direct.Lock()
	defer c.direct.Unlock()
	if c.closed {
		return true
	}
	if !c.writeFew() {
		return false
	}
	more, closed := c.out.leave(true)
	return !more && !closed
}

// writeFew is called by the sender, and reports whether the operating system has taken all that was queued.
func (c *gnetConn) writeFew() (all bool) {
	var few [4]*bytebufferpool.ByteBuffer
	batch, ok := c.out.takeFew(few[:0], directBytes)
	if !ok || len(batch) == 0 {
		return ok
	}
	one := together(batch)
	n, err := unix.Write(c.fd, one.B)
	// Drained is never due here, and only the loop may call it: what was taken is less than lies between the two marks.
	c.out.sent(max(n, 0))
	if err != nil || n < len(one.B) {
		one.B = append(one.B[:0], one.B[max(n, 0):]...)
		c.rest = one // where the operating system refuses, the loop will find out why
		return false
	}
	Buffers.Put(one)
	return true
}

// together returns one buffer with all that is in those of batch, which are the caller's no more.
func together(batch []*bytebufferpool.ByteBuffer) *bytebufferpool.ByteBuffer {
	if len(batch) == 1 {
		return batch[0]
	}
	all := Buffers.Get()
	for _, buf := range batch {
		all.B = append(all.B, buf.B...)
	}
	putBack(batch)
	return all
}
