package watch

import (
	"container/list"
	"sync"
	"time"

	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/protocol"
)

// subscriber is a connection with its watches at this hub.
type subscriber struct {
	sink Sink

	// mu guards the fields below and the watches' closed flags. mu is held while frames are appended, and only the
	// sink's own lock is taken under it.
	mu      sync.Mutex
	watches map[uint64]*watch
	gone    bool

	// Only the worker uses the fields below.
	reached       bool // in this round
	lost          bool
	room          int       // bytes that may still be planned in this round; below 0: none
	plan          []frame   // frames to append with the next delivery
	planned       int       // maximum size of the plan in bytes
	late          list.List // watches that wait for the connection to drain
	inflightBytes int       // planned snapshot bytes that may still be unsent
	inflightPlace int       // index in worker.inflight, starting at 1; 0: not in the list
	inflightSince time.Time // when the latest snapshot page was planned
}

// frame is one frame of a plan.
type frame struct {
	watch *watch
	push  *protocol.SharedPush
	last  bool // the frame ends the watch
}

// semaphoreAnswer is the answer to watches that name no kind.
var semaphoreAnswer = &protocol.WatchAnswer{}

// open adds a watch and appends its answer, which names the watched object's kind.
func (s *subscriber) open(w *watch, kind protocol.ObjectKind) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		return ErrGone
	}
	if s.watches[w.id] != nil {
		return ErrInUse
	}
	answer := semaphoreAnswer
	if kind != 0 {
		answer = &protocol.WatchAnswer{ObjectKind: kind}
	}
	ok := s.sink.Append(func(e *protocol.Encoder, buf *bytebufferpool.ByteBuffer) { e.Answer(buf, w.id, answer) })
	if !ok {
		return ErrGone
	}
	s.watches[w.id] = w
	return nil
}

// stop removes a watch and returns it, or nil if no watch has the id.
func (s *subscriber) stop(id uint64) *watch {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.watches[id]
	if w != nil {
		w.closed = true
		delete(s.watches, id)
	}
	return w
}

// closeAll removes all watches permanently.
func (s *subscriber) closeAll() map[uint64]*watch {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.watches
	for _, w := range all {
		w.closed = true
	}
	s.gone, s.watches = true, nil
	return all
}

// subscriberOf returns a connection's subscriber, and creates one for a new connection.
func (h *Hub) subscriberOf(sink Sink) (*subscriber, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, ErrClosed
	}
	sub := h.subscribers[sink]
	if sub == nil {
		sub = &subscriber{sink: sink, watches: make(map[uint64]*watch)}
		h.subscribers[sink] = sub
	}
	return sub, nil
}

// removeSubscriber removes a closed connection.
func (h *Hub) removeSubscriber(sub *subscriber) {
	h.mu.Lock()
	if h.subscribers[sub.sink] == sub {
		delete(h.subscribers, sub.sink)
	}
	h.mu.Unlock()
	h.enqueue(task{kind: taskGone, subscriber: sub})
}

// Sink is a connection as seen by the hub. A Sink must be comparable: a pointer.
//
// The hub calls Append, and no other method, while it holds its own lock for this sink. So a caller of the hub's
// methods must not hold a lock that Append takes.
type Sink interface {
	// Append calls write once, with the connection's stream locked, to append whole frames. If the connection is
	// closed, Append returns false without calling write.
	Append(write func(*protocol.Encoder, *bytebufferpool.ByteBuffer)) bool

	// Flush hands the appended bytes over for sending or, if few connections are flushed, sends them at once if
	// possible. Flush must not block.
	Flush(few bool)

	// Pending returns the number of flushed bytes that are not sent yet. After Pending was above Options.SlowBytes
	// and has fallen well below, Hub.Drained must be called.
	Pending() int

	// Ended reports that the hub itself ended the watch with the id: the WatchEnd was appended, and the id is free.
	// Ended is not called for a stopped watch, nor if the connection is closed.
	Ended(id uint64)
}
