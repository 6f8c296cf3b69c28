package ydb

import (
	"slices"
	"sync"
	"sync/atomic"

	"google.golang.org/protobuf/proto"
)

const (
	// maxStreamBytes limits the bytes waiting for one stream's client; beyond it the stream is not read. Concurrent
	// description requests have an additional limit of maxStreamBytes.
	maxStreamBytes = 4 << 20
	// fairStreamBytes is how much a stream may have waiting, however much waits in the whole gateway.
	fairStreamBytes = 64 << 10
	// messageBytes is a message's memory in addition to its fields.
	messageBytes = 256
	// maxSpare is for how many messages an outbox keeps room.
	maxSpare = 64
)

// backlog counts the bytes waiting to be sent on all streams in a gateway.
type backlog struct {
	limit int64
	bytes atomic.Int64
}

// takes counts bytes in, unless the sum would be above the limit.
func (b *backlog) takes(bytes int64) bool {
	if b.bytes.Add(bytes) > b.limit {
		b.bytes.Add(-bytes)
		return false
	}
	return true
}

// outbox holds messages waiting to be sent on one stream. A single goroutine sends; all goroutines may add.
type outbox struct {
	all  *backlog
	wake chan struct{} // a message waits; holds a token
	room chan struct{} // there may be space again; holds a token
	sent atomic.Uint64 // messages
	// bytes counts the bytes in added messages, until all messages taken together are sent.
	bytes atomic.Int64

	mu    sync.Mutex // guards the next fields
	queue []outgoing
	spare []outgoing // an emptied slice for reuse
	shut  bool       // nothing more is added
}

// outgoing is a message with its counted size.
type outgoing struct {
	*response
	bytes int64
}

// signal leaves a token in a channel with room for a single token.
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

// take returns the next messages to send, no more than can be sent soon. The caller calls wereSent, or shuts the
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

// wereSent counts messages out, and reuses a small slice for the next messages.
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

// shutDown drops the waiting messages, and all later ones. Taken messages still count.
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

// full returns whether so many bytes wait that the client must read before the gateway reads from the client.
func (o *outbox) full() bool {
	bytes := o.bytes.Load()
	return bytes > maxStreamBytes || bytes > fairStreamBytes && o.all.bytes.Load() > o.all.limit
}
