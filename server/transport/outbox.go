package transport

import (
	"io"
	"math"
	"sync"
	"sync/atomic"

	"github.com/valyala/bytebufferpool"
)

// outbox contains one connection's unsent buffers, in queueing order, and decides which goroutine sends.
//
// At most one sender is active at a time: an event loop's turn, or a writing goroutine. busy reports an active
// sender. A caller of put, close or leave may learn that it has become the sender, and must then ensure that a sender
// runs. The sender takes the queued buffers, writes them, and leaves; leave finds buffers queued meanwhile, so no
// buffer is ever forgotten.
type outbox struct {
	// pending counts the bytes in queue, and the bytes taken by the sender but not yet accepted by the operating
	// system. pending increases under mu only.
	pending atomic.Int64

	mu     sync.Mutex
	queue  []*bytebufferpool.ByteBuffer
	busy   bool
	closed bool // no further buffers are accepted
	slow   bool // pending was above HighWater and has not fallen to LowWater since
}

// put queues buf, or drops it if the outbox is closed; the caller gives up buf in both cases. start means that the
// caller must start a sender.
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

// enter makes the caller the sender without a buffer to send, unless a sender is active: buffers put before the
// caller leaves wait for the caller. A caller that has entered must leave.
func (o *outbox) enter() (entered bool) {
	o.mu.Lock()
	entered = !o.busy
	o.busy = true
	o.mu.Unlock()
	return entered
}

// everything means no limit for take.
const everything = math.MaxInt64

// take appends all queued buffers to batch. left means that more than most bytes are pending, and take has taken
// nothing. closed means that the outbox is closed. Only the sender may call take; for a connection on an event loop,
// any function on the loop may.
func (o *outbox) take(batch []*bytebufferpool.ByteBuffer, most int64) (
	_ []*bytebufferpool.ByteBuffer, left, closed bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.pending.Load() > most {
		return batch, true, o.closed
	}
	batch = append(batch, o.queue...)
	clear(o.queue)
	o.queue = o.queue[:0]
	if cap(o.queue) > keptQueue {
		o.queue = nil
	}
	return batch, false, o.closed
}

// leave ends an entered sender, if no buffer was queued since the last take and the outbox is open. Otherwise the
// caller stays the sender, and the results say so. A caller that has not entered only learns whether the outbox is
// closed.
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

// sent counts n bytes as accepted by the operating system. drained means that these bytes brought Pending down to
// LowWater after it had been above HighWater.
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

// close closes the outbox for new buffers. first means that the outbox was open before. start means that the caller
// must start a sender, which will find the outbox closed.
func (o *outbox) close() (first, start bool) {
	o.mu.Lock()
	first, start = !o.closed, !o.closed && !o.busy
	o.closed, o.busy = true, true
	o.mu.Unlock()
	return first, start
}

// discard drops the queued buffers permanently, because the connection is closed.
func (o *outbox) discard() {
	o.mu.Lock()
	queue := o.queue
	o.queue, o.closed, o.busy, o.slow = nil, true, true, false
	o.pending.Store(0)
	o.mu.Unlock()
	putBack(queue)
}

// writeTogether writes batch's buffers to w in order, combining small buffers in room, and returns all of them to
// their pool. given is the number of bytes passed to w, up to the first failure.
func writeTogether(w io.Writer, room []byte, batch []*bytebufferpool.ByteBuffer) (given int, err error) {
	room = room[:0]
	write := func(b []byte) {
		if len(b) > 0 && err == nil {
			given += len(b)
			_, err = w.Write(b)
		}
	}
	for i, buf := range batch {
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
		Buffers.Put(buf)
		batch[i] = nil
	}
	write(room)
	return given, err
}

// putBack returns buffers to the senders' pool, and forgets them.
func putBack(batch []*bytebufferpool.ByteBuffer) {
	for i, buf := range batch {
		Buffers.Put(buf)
		batch[i] = nil
	}
}
