package transport

import (
	"io"
	"sync"
	"sync/atomic"

	"github.com/valyala/bytebufferpool"
)

// outbox holds what one connection has still to send, in the order in which it was handed over, and
// decides who sends it.
//
// At most one sender is under way at a time: an event loop's turn, or a goroutine that writes. busy says
// that there is one. A caller of put, close or leave that learns that it is the sender must make sure
// that one runs. The sender takes what is queued, writes it, and leaves; leave finds what was queued
// meanwhile, so nothing is ever forgotten.
type outbox struct {
	// pending counts the bytes in queue and those that the sender has taken and the operating system
	// has not. It only grows under mu.
	pending atomic.Int64

	mu     sync.Mutex
	queue  []*bytebufferpool.ByteBuffer
	busy   bool
	closed bool // nothing comes in any more
	slow   bool // pending was above HighWater and has not been down at LowWater since
}

// put queues buf, or drops it when the outbox is closed; it is the caller's no more. start: the caller
// has to start a sender.
func (o *outbox) put(buf *bytebufferpool.ByteBuffer) (start bool) {
	size := int64(len(buf.B))
	o.mu.Lock()
	if o.closed || size == 0 {
		o.mu.Unlock()
		Buffers.Put(buf)
		return false
	}
	o.queue = append(o.queue, buf)
	if o.pending.Add(size) > HighWater {
		o.slow = true
	}
	start = !o.busy
	o.busy = true
	o.mu.Unlock()
	return start
}

// enter makes the caller the sender without anything to send, unless there is one: what is put until it
// leaves waits for it. An entered caller must leave.
func (o *outbox) enter() (entered bool) {
	o.mu.Lock()
	entered = !o.busy
	o.busy = true
	o.mu.Unlock()
	return entered
}

// take appends everything that is queued to batch, and reports whether the outbox is closed. Only the sender
// may call it, or, of an event loop connection, anything on the loop.
func (o *outbox) take(batch []*bytebufferpool.ByteBuffer) (_ []*bytebufferpool.ByteBuffer, closed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.takeLocked(batch), o.closed
}

// takeFew is take for a sender that sends a little only: it takes nothing, and returns false, where more bytes than
// that are pending.
func (o *outbox) takeFew(batch []*bytebufferpool.ByteBuffer, bytes int64) (_ []*bytebufferpool.ByteBuffer, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.pending.Load() > bytes {
		return batch, false
	}
	return o.takeLocked(batch), true
}

func (o *outbox) takeLocked(batch []*bytebufferpool.ByteBuffer) []*bytebufferpool.ByteBuffer {
	batch = append(batch, o.queue...)
	clear(o.queue)
	o.queue = o.queue[:0]
	if cap(o.queue) > keptQueue {
		o.queue = nil
	}
	return batch
}

// leave ends the sender that entered, if nothing was queued since it took the last batch and the outbox
// is open: otherwise it stays the sender and learns so. One that did not enter only learns whether the
// outbox is closed.
func (o *outbox) leave(entered bool) (more, closed bool) {
	o.mu.Lock()
	closed = o.closed
	if entered {
		more = len(o.queue) > 0
		o.busy = more || closed
	}
	o.mu.Unlock()
	return more, closed
}

// sent counts n bytes as taken by the operating system. drained: this brought Pending down to LowWater
// after it was above HighWater.
func (o *outbox) sent(n int) (drained bool) {
	if n == 0 {
		return false
	}
	o.mu.Lock()
	left := o.pending.Add(-int64(n))
	if o.slow && left <= LowWater {
		o.slow, drained = false, true
	}
	o.mu.Unlock()
	return drained
}

// close lets nothing more in. first: this call did it. start: the caller has to start a sender, which
// finds that the outbox is closed.
func (o *outbox) close() (first, start bool) {
	o.mu.Lock()
	first, start = !o.closed, !o.closed && !o.busy
	o.closed, o.busy = true, true
	o.mu.Unlock()
	return first, start
}

// discard drops what is queued, for good: the connection is gone.
func (o *outbox) discard() {
	o.mu.Lock()
	queue := o.queue
	o.queue, o.closed, o.busy, o.slow = nil, true, true, false
	o.pending.Store(0)
	o.mu.Unlock()
	putBack(queue)
}

// writeTogether writes the buffers of batch to w in order, small ones put together in room, and puts all
// of them back into their pool. It returns how many bytes w was given before it failed, if it did.
func writeTogether(w io.Writer, room []byte, batch []*bytebufferpool.ByteBuffer) (given int, err error) {
	room = room[:0]
	write := func(b []byte) {
		if len(b) > 0 && err == nil {
			given += len(b)
			_, err = w.Write(b)
		}
	}
	for _, buf := range batch {
		if len(room)+len(buf.B) > cap(room) {
			write(room)
			room = room[:0]
		}
		if len(batch) == 1 || len(buf.B) > cap(room)/2 {
			write(room)
			room = room[:0]
			write(buf.B)
		} else {
			room = append(room, buf.B...)
		}
	}
	write(room)
	putBack(batch)
	return given, err
}

// putBack returns buffers to the pool that senders get them from, and forgets them.
func putBack(batch []*bytebufferpool.ByteBuffer) {
	for i, buf := range batch {
		Buffers.Put(buf)
		batch[i] = nil
	}
}
