package hub

import (
	"container/list"
	"sync"
	"time"

	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/protocol"
)

// subscriber is a connection with its watches here.
type subscriber struct {
	sink Sink

	// mu guards what follows and the closed of its watches. It is held while frames are appended, and
	// only the sink's own lock is taken under it.
	mu      sync.Mutex
	watches map[uint64]*watch
	gone    bool

	// The worker's own.
	reached       bool // in this round
	lost          bool
	room          int       // bytes that may still be planned in this round; below 0: none
	plan          []frame   // what is appended with the next delivery
	planned       int       // its bytes, at the most
	late          list.List // watches that wait for the connection to drain
	inflightBytes int       // bytes of snapshots that were planned and may not be sent yet
	inflightPlace int       // place in worker.inflight; 0: not in
	inflightSince time.Time // when the latest of them were planned
}

// frame is one frame of a plan.
type frame struct {
	watch *watch
	push  *protocol.SharedPush
	last  bool // it ends the watch
}

// semaphoreAnswer is that of watches which name no kind.
var semaphoreAnswer = &protocol.WatchAnswer{}

// open puts a watch in and appends its answer, which says the kind that is watched.
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

// stop takes a watch out, nil where there is none.
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

// closeAll takes all watches out, for good.
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

// subscriberOf returns what the hub has of a connection, made where there is nothing yet.
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

// removeSubscriber lets go of a connection that is gone.
func (h *Hub) removeSubscriber(sub *subscriber) {
	h.mu.Lock()
	if h.subscribers[sub.sink] == sub {
		delete(h.subscribers, sub.sink)
	}
	h.mu.Unlock()
	h.enqueue(task{kind: taskGone, subscriber: sub})
}

// Sink is a connection, as the hub sees it. It must be comparable: a pointer.
//
// The hub calls Append, and nothing else, while it holds a lock of its own for this sink. So none of the
// hub's methods may be called with a lock held that Append takes.
type Sink interface {
	// Append calls write once, with the connection's stream locked, to append whole frames to it. It
	// returns false, and calls nothing, when the connection is gone.
	Append(write func(*protocol.Encoder, *bytebufferpool.ByteBuffer)) bool

	// Flush hands over to be sent what was appended, or, where few connections are flushed, sends it at once if it can.
	// It must not block.
	Flush(few bool)

	// Pending returns how many bytes were flushed and are not sent yet. When it was seen above
	// Options.SlowBytes and has fallen well below again, Hub.Drained must be called.
	Pending() int

	// Ended says that the hub ended the watch of that id by itself: its WatchEnd was appended, and the
	// id is free. It is not called for a watch that was stopped, nor when the connection is gone.
	Ended(id uint64)
}
