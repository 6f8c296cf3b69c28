package transport

import (
	"io"
	"math"
	"sync"
	"sync/atomic"

	"github.com/valyala/bytebufferpool"
)

// outbox holds the unsent buffers of one connection, in the order of their queueing, and decides which goroutine
// sends.
//
// At most one sender is under way at a time: an event loop's turn, or a writing goroutine. busy says that a sender is
// under way. A caller of put, close or leave may learn that the caller is now the sender, and must then make sure a
// sender runs. The sender takes the queued buffers, writes them, and leaves; leave finds buffers queued meanwhile, so
// no buffer is ever forgotten.
type outbox struct {
	// pending counts the bytes in queue, and the bytes taken by the sender but not yet by the operating system.
	// pending grows under mu only.
	pending atomic.Int64

	mu     sync.Mutex
	queue  []*bytebufferpool.ByteBuffer
	busy   bool
	closed bool // nothing comes in from now on
	slow   bool // pending was above HighWater and has not been down at LowWater since
}

// put queues buf, or drops buf if the outbox is closed; the caller gives buf up in both cases. start: the caller has
// to start a sender.
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

// enter makes the caller the sender without a buffer to send, unless a sender is under way: buffers put before the
// caller leaves wait for the caller. An entered caller must leave.
func (o *outbox) enter() (entered bool) {
	o.mu.Lock()
	entered = !o.busy
	o.busy = true
	o.mu.Unlock()
	return entered
}

// everything is no bound for take.
const everything = math.MaxInt64

// take appends all queued buffers to batch. left: more than most bytes are pending, and take has taken nothing. closed:
// the outbox is closed. Only the sender may call take; of an event loop connection, all functions on the loop may.
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

// leave ends an entered sender, if no buffer was queued since the last take and the outbox is open. If not, the
// caller stays the sender, and the results say so. A caller without enter only learns whether the outbox is closed.
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

// sent counts n bytes as taken by the operating system. drained: these bytes brought Pending down to LowWater after
// Pending had been above HighWater.
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

// close shuts the outbox for new buffers. first: the outbox was open before. start: the caller has to start a sender,
// and the sender finds the outbox closed.
func (o *outbox) close() (first, start bool) {
	o.mu.Lock()
	first, start = !o.closed, !o.closed && !o.busy
	o.closed, o.busy = true, true
	o.mu.Unlock()
	return first, start
}

// discard drops the queued buffers for good: the connection is gone.
func (o *outbox) discard() {
	o.mu.Lock()
	queue := o.queue
	o.queue, o.closed, o.busy, o.slow = nil, true, true, false
	o.pending.Store(0)
	o.mu.Unlock()
	putBack(queue)
}

// writeTogether writes the buffers of batch to w in order, small buffers put together in room, and returns all of
// them to their pool. given is the number of bytes given to w, up to the first failure.
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

// putBack returns buffers to the pool of the senders, and forgets them.
func putBack(batch []*bytebufferpool.ByteBuffer) {
	for i, buf := range batch {
		Buffers.Put(buf)
		batch[i] = nil
	}
}
