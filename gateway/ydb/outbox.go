package ydb

import (
	"slices"
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/proto"
)

const (
	// maxStreamBytes is how much may wait for the client of one stream before the stream is read no further, and how
	// much the descriptions that are asked for at a time may come to.
	maxStreamBytes = 4 << 20
	// fairStreamBytes is what each stream may have waiting however much waits in the gateway as a whole.
	fairStreamBytes = 64 << 10
	// messageBytes is what a message takes in memory beside its fields.
	messageBytes = 256
	// maxSpare is for how many messages an outbox keeps room.
	maxSpare = 64
)

// backlog is what waits to be sent over all streams of a gateway, in bytes.
type backlog struct {
	limit int64
	bytes atomic.Int64
}

// takes counts bytes in, unless all of them together would be more than there may be.
func (b *backlog) takes(bytes int64) bool {
	if b.bytes.Add(bytes) > b.limit {
		b.bytes.Add(-bytes)
		return false
	}
	return true
}

// outbox is what waits to be sent over one stream. One goroutine sends, any may add.
type outbox struct {
	all  *backlog
	wake chan struct{} // there is something to send; holds one
	room chan struct{} // there may be room again; holds one
	sent atomic.Uint64 // messages
	// bytes are those of what was added, until all that was taken with it is sent.
	bytes atomic.Int64

	mu    sync.Mutex // guards what follows
	queue []outgoing
	spare []outgoing // that was sent, and is empty
	shut  bool       // nothing more is added
}

// outgoing is a message, and how much it was counted for.
type outgoing struct {
	*response
	bytes int64
}

// signal leaves a token in a channel that holds one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// add queues a message.
func (o *outbox) add(m *response) {
	bytes := int64(messageBytes + proto.Size(m))
	o.mu.Lock()
	if o.shut {
		o.mu.Unlock()
		return
	}
	o.queue = append(o.queue, outgoing{m, bytes})
	o.count(bytes)
	o.mu.Unlock()
	signal(o.wake)
}

// take returns what is to be sent next, not more at a time than is soon sent. The caller calls wereSent, or shuts the
// outbox down.
func (o *outbox) take() (next []outgoing) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.bytes.Load() <= fairStreamBytes {
		next, o.queue, o.spare = o.queue, o.spare, nil
	} else {
		n, bytes := 0, int64(0)
		for n < len(o.queue) && bytes < fairStreamBytes {
			bytes += o.queue[n].bytes
			n++
		}
		next = slices.Clone(o.queue[:n])
		o.queue = slices.Delete(o.queue, 0, n)
	}
	return next
}

// wereSent counts messages out, and leaves their room to the next ones where it is not much.
func (o *outbox) wereSent(taken []outgoing) {
	var bytes int64
	for _, m := range taken {
		bytes += m.bytes
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.count(-bytes)
	if cap(taken) <= maxSpare {
		clear(taken)
		o.spare = taken[:0]
	}
	if len(o.queue) > 0 {
		signal(o.wake)
	}
	signal(o.room)
}

// shutDown drops what waits, and whatever is added from then on. What was taken still counts.
func (o *outbox) shutDown() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, m := range o.queue {
		o.count(-m.bytes)
	}
	o.queue, o.shut = nil, true
	signal(o.room)
}

// count counts bytes in, or out.
func (o *outbox) count(bytes int64) {
	o.bytes.Add(bytes)
	o.all.bytes.Add(bytes)
}

// full returns whether so much waits that the client is to read before it is read.
func (o *outbox) full() bool {
	bytes := o.bytes.Load()
	return bytes > maxStreamBytes || bytes > fairStreamBytes && o.all.bytes.Load() > o.all.limit
}
