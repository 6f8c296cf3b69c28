package hub

import (
	"container/list"
	"sync"
	"time"

	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/protocol"
)

// link is a connection with its watches here.
type link struct {
	sink Sink

	// mu guards what follows and the closed of its watches. It is held while frames are appended, and
	// only the sink's own lock is taken under it.
	mu      sync.Mutex
	watches map[uint64]*watch
	gone    bool

	// The worker's own.
	reached bool // in this round
	lost    bool
	room    int       // bytes that may still be planned in this round; below 0: none
	plan    []frame   // what is appended with the next delivery
	planned int       // its bytes, at the most
	late    list.List // watches that wait for the connection to drain
	flying  int       // bytes of snapshots that were planned and may not be sent yet
	flight  int       // place in worker.flying; 0: not in
	flew    time.Time // when the latest of them were planned
}

// frame is one frame of a plan.
type frame struct {
	watch *watch
	push  *protocol.SharedPush
	last  bool // it ends the watch
}

// open puts a watch in and appends its answer.
func (l *link) open(w *watch) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone {
		return ErrGone
	}
	if l.watches[w.id] != nil {
		return ErrInUse
	}
	ok := l.sink.Append(func(e *protocol.Encoder, buf *bytebufferpool.ByteBuffer) {
		e.Answer(buf, w.id, &protocol.WatchAnswer{})
	})
	if !ok {
		return ErrGone
	}
	l.watches[w.id] = w
	return nil
}

// stop takes a watch out, nil where there is none.
func (l *link) stop(id uint64) *watch {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.watches[id]
	if w != nil {
		w.closed = true
		delete(l.watches, id)
	}
	return w
}

// leave takes all watches out for good.
func (l *link) leave() map[uint64]*watch {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.watches
	for _, w := range all {
		w.closed = true
	}
	l.gone, l.watches = true, nil
	return all
}

// link returns what the hub has of a connection, made where there is nothing yet.
func (h *Hub) link(sink Sink) (*link, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, ErrClosed
	}
	l := h.links[sink]
	if l == nil {
		l = &link{sink: sink, watches: make(map[uint64]*watch)}
		h.links[sink] = l
	}
	return l, nil
}

// forget lets go of a connection that is gone.
func (h *Hub) forget(l *link) {
	h.mu.Lock()
	if h.links[l.sink] == l {
		delete(h.links, l.sink)
	}
	h.mu.Unlock()
	h.leave(errand{kind: errandGone, link: l})
}
