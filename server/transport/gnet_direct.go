//go:build linux || darwin || freebsd

package transport

import (
	"github.com/valyala/bytebufferpool"
	"golang.org/x/sys/unix"
)

// directBytes bounds the bytes written outside the loop; more bytes are for the loop.
const directBytes = 16 << 10

// A direct write must be too little to make Drained due.
const _ = uint(HighWater - LowWater - directBytes)

// Flush writes the queued bytes on the calling goroutine, as far as the operating system takes the bytes at once: the
// loop need not be woken. The loop writes the remainder, bytes queued meanwhile, and batches above directBytes.
func (c *gnetConn) Flush() {
	if c.writeDirectly() {
		return
	}
	c.loop.flush(c)
}

// FlushEarly implements EarlyFlusher. While a second goroutine writes, and when the operating system does not take
// the bytes, the end of the turn writes them.
func (c *gnetConn) FlushEarly() {
	if c.sending && !c.closed && c.unsent == 0 && c.rest == nil {
		c.writeFew()
	}
}

// writeDirectly is called by the sender, and reports whether the caller has stopped being the sender because nothing
// is left to do.
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

// writeFew is called by the sender, and reports whether the operating system has taken all queued bytes.
func (c *gnetConn) writeFew() (all bool) {
	var few [4]*bytebufferpool.ByteBuffer
	batch, ok := c.out.takeFew(few[:0], directBytes)
	if !ok || len(batch) == 0 {
		return ok
	}
	one := together(batch)
	n, err := unix.Write(c.fd, one.B)
	// Drained is never due here, and only the loop may call Drained: the batch is smaller than the distance between
	// HighWater and LowWater.
	c.out.sent(max(n, 0))
	if err != nil || n < len(one.B) {
		one.B = append(one.B[:0], one.B[max(n, 0):]...)
		c.rest = one // if the operating system refuses the bytes, the loop will find out why
		return false
	}
	Buffers.Put(one)
	return true
}

// together returns one buffer with the bytes of all buffers of batch. The caller owns the buffers of batch no more.
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
