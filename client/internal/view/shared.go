package view

import (
	"context"
	"errors"
	"iter"
	"sync"

	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/client/internal/conn"
	"github.com/signalbox/signalbox/client/internal/lifecycle"
	"github.com/signalbox/signalbox/client/internal/retry"
	"github.com/signalbox/signalbox/protocol"
)

// Key is the subject of a host watch. Loops with equal keys share one watch.
type Key struct {
	Node         uint64
	Name         string
	Data, Owners bool // wanted semaphore data
	// Kind is the object kind, 0 for a semaphore. View is the wanted object view, or empty for the whole object.
	Kind protocol.ObjectKind
	View string
}

// Watches has one client's watches. Watches is safe for concurrent use.
type Watches struct {
	scope   *lifecycle.Scope
	cluster *cluster.Cluster

	mu     sync.Mutex // guards the fields below, and how many readers a sharedWatch has
	shared map[Key]*sharedWatch
}

// NewWatches returns a client's watches.
func NewWatches(s *lifecycle.Scope, c *cluster.Cluster) *Watches {
	return &Watches{scope: s, cluster: c, shared: make(map[Key]*sharedWatch)}
}

// Views returns the views of a key: the present view first, and then the newest view whenever the view has changed.
// The loop ends with an error.
func (w *Watches) Views(ctx context.Context, key Key) iter.Seq2[*View, error] {
	return func(yield func(*View, error) bool) {
		s, err := w.join(key)
		if err != nil {
			yield(nil, err)
			return
		}
		defer w.leave(s)
		r := s.addReader()
		defer s.removeReader(r)
		for {
			v, err := s.next(ctx, r)
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// join returns the watch for a key. The watch ends when all loops that joined have left.
func (w *Watches) join(key Key) (*sharedWatch, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.scope.Usable(); err != nil {
		return nil, err
	}
	s := w.shared[key]
	if s == nil {
		s = &sharedWatch{watches: w, key: key, wake: make(chan struct{}, 1), readers: make(map[*reader]struct{})}
		s.ctx, s.stop = context.WithCancel(w.scope.Context())
		if !w.scope.Go(s.run) {
			s.stop()
			return nil, lifecycle.ErrClosed
		}
		w.shared[key] = s
	}
	s.count++
	return s, nil
}

func (w *Watches) leave(s *sharedWatch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if s.count--; s.count == 0 {
		s.stop()
		w.remove(s)
	}
}

// remove keeps further loops from joining the watch. The lock is held.
func (w *Watches) remove(s *sharedWatch) {
	if w.shared[s.key] == s {
		delete(w.shared, s.key)
	}
}

// sharedWatch is a watch at some host and its current view. If the stream breaks, the watch is opened again at another
// host. A sharedWatch runs while there are readers.
type sharedWatch struct {
	watches *Watches
	key     Key
	ctx     context.Context // ends when the last reader has left
	stop    context.CancelFunc
	wake    chan struct{} // the stream is over; capacity 1
	count   int           // number of joined loops; guarded by the lock in Watches
	retries retry.Retries // only used by run

	mu      sync.Mutex // guards the fields below
	view    *View      // nil before the first view is whole
	version uint64     // grows with each view that differs from its predecessor
	draft   draft
	current *stream
	ended   error // why the latest stream ended
	err     error // why no further view comes
	readers map[*reader]struct{}
}

// errBehind means that a host sent a change that does not follow the previous changes.
var errBehind = errors.New("a change is missing")

// run opens a stream, and a new stream when the stream is over, until the last reader has left or the watch has failed
// for good.
func (s *sharedWatch) run() {
	w := s.watches
	where := cluster.ReplicaAt(protocol.SemaphoreSlot(s.key.Node, protocol.View(s.key.Name)))
	err := w.cluster.RepeatBy(s.ctx, &s.retries, where, s.follow)
	w.mu.Lock()
	w.remove(s)
	w.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
	s.wakeReaders()
}

// follow opens a stream over a connection and returns why the stream is over. After a stream that has lasted, the next
// stream begins without a pause.
func (s *sharedWatch) follow(to *conn.Conn) error {
	st := &stream{watch: s}
	s.mu.Lock()
	m := s.request()
	s.draft, s.current, s.ended = draft{}, st, nil
	s.mu.Unlock()
	opened := s.watches.scope.Now()
	s.watches.cluster.Name(m)
	id, err := to.Send(st, m)
	if err != nil {
		return err
	}
	select {
	case <-s.wake:
	case <-s.ctx.Done():
	}
	s.mu.Lock()
	err = s.ended
	s.current = nil
	s.mu.Unlock()
	if s.watches.scope.Now().Sub(opened) > retry.Requests.Most {
		s.retries = retry.Retries{}
	}
	if err == nil || errors.Is(err, errBehind) || err == error(errOtherKind) {
		to.StopWatch(id)
	}
	if err == nil {
		return context.Cause(s.ctx)
	}
	return err
}

// request returns a request for a stream that continues from the view. The lock is held.
func (s *sharedWatch) request() *protocol.Watch {
	m := &protocol.Watch{
		NodeID: s.key.Node, Name: protocol.View(s.key.Name), Owners: s.key.Owners, Data: s.key.Data,
		ObjectKind: s.key.Kind, View: protocol.View(s.key.View),
	}
	if s.view != nil && !errors.Is(s.ended, errBehind) {
		m.Since = s.view.Revision
	}
	return m
}

// show makes a view the present view. The lock is held, here and below.
func (s *sharedWatch) show(v *View) {
	old := s.view
	if old != nil && !old.Exists && v.Exists && v.birth == old.birth {
		v.birth++
	}
	s.view = v
	if old == nil || !v.looksLike(old) || !s.key.Kind.IsSemaphore() && v.IsWhole(old) {
		s.version++
		s.wakeReaders()
	}
}

func (s *sharedWatch) wakeReaders() {
	for r := range s.readers {
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
}

// reader is one loop over a watch's views.
type reader struct {
	wake chan struct{} // a new view may be available; capacity 1
	seen uint64        // latest version returned to the loop
}

func (s *sharedWatch) addReader() *reader {
	r := &reader{wake: make(chan struct{}, 1)}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.readers[r] = struct{}{}
	return r
}

func (s *sharedWatch) removeReader(r *reader) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.readers, r)
}

// next returns the newest view, after waiting if the reader has seen it.
func (s *sharedWatch) next(ctx context.Context, r *reader) (*View, error) {
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		s.mu.Lock()
		v, version, err := s.view, s.version, s.err
		s.mu.Unlock()
		if v != nil && version != r.seen {
			r.seen = version
			return v, nil
		}
		if err != nil {
			return nil, err
		}
		select {
		case <-r.wake:
		case <-ctx.Done():
		}
	}
}
