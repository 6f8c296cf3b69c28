package http

import (
	queue "container/list"
	"context"
	"crypto/subtle"
	"sync"
	"time"

	"github.com/signalbox/signalbox/client/raw"
)

const (
	// maxStays is how many sessions stay attached that no request uses. Where there are more, those that have been idle
	// for longest are detached.
	maxStays = 10_000
	// longestStay is how long a session stays attached after the start of a request, or stayParts of its timeout where
	// that is less. A gateway that dies leaves the session alive for that much longer than it was promised.
	longestStay = time.Second
	stayParts   = 3
)

// stays are the sessions that requests of callers have attached. One stays attached for a moment after a request, so
// that the next one need not attach it, and only the caller that has attached it uses it.
type stays struct {
	most int // that no request uses

	mu     sync.Mutex // guards what follows, and what it says of each stay
	known  map[stayKey]*stay
	idle   queue.List // those that no request uses, the longest idle first
	closed bool       // none stays without a request
}

// stayKey says of whom a stay is: sessions are attached by the rights of one caller.
type stayKey struct {
	caller  *caller
	session uint64
}

// stay is one session. Requests have it in turn: a mutation with a lower number does not come behind a higher one.
type stay struct {
	of    *stays
	key   stayKey
	taken chan struct{} // holds one while a request has its turn

	// For the request that has the turn, and where none has it, for who holds the lock of the stays.
	session *raw.Session // nil where it was not attached
	secret  []byte       // with which it was
	began   time.Time    // the start of the latest request that has renewed it
	path    string       // of its node; empty where that is not known yet
	number  uint64       // the highest that was made up for one of its mutations

	// Guarded by the lock of the stays.
	users int            // requests that have the turn, or wait for it
	place *queue.Element // among those that are idle; nil for none
	timer *time.Timer    // looks whether it has stayed for long enough; nil for none
	armed bool           // the timer is to fire
}

func newStays(most int) *stays { return &stays{most: most, known: make(map[stayKey]*stay)} }

// prepare makes a stay that is not known yet.
func (s *stays) prepare(by *caller) *stay {
	return &stay{of: s, key: stayKey{caller: by}, taken: make(chan struct{}, 1)}
}

// take waits for the turn of a session, which is the caller's until it calls leave.
func (s *stays) take(ctx context.Context, by *caller, session uint64) (*stay, error) {
	s.mu.Lock()
	st := s.known[stayKey{by, session}]
	if st == nil {
		st = s.prepare(by)
		st.key.session = session
		s.known[st.key] = st
	}
	st.users++
	s.used(st)
	s.mu.Unlock()
	select {
	case st.taken <- struct{}{}:
		return st, nil
	case <-ctx.Done():
		s.release(st)
		return nil, context.Cause(ctx)
	}
}

// leave ends the turn.
func (st *stay) leave() {
	<-st.taken
	st.of.release(st)
}

// release ends a use. A session that no other request waits for stays.
func (s *stays) release(st *stay) {
	s.mu.Lock()
	var over *stay
	st.users--
	switch {
	case st.users > 0:
	case !st.attached():
		s.forget(st)
	case s.closed:
		over = st
	default:
		st.place = s.idle.PushBack(st)
		st.arm(time.Now())
		if s.idle.Len() > s.most {
			over = s.idle.Front().Value.(*stay)
		}
	}
	if over != nil {
		s.forget(over)
	}
	s.mu.Unlock()
	if over != nil {
		over.detach(background)
	}
}

// begin enters a session that was started just now, in a first turn.
func (st *stay) begin(s *raw.Session, secret []byte, began time.Time) {
	t := st.of
	t.mu.Lock()
	st.key.session = s.ID()
	t.known[st.key] = st // the session is not known to its caller yet
	st.users = 1
	t.mu.Unlock()
	st.taken <- struct{}{}
	st.sit(s, secret, began)
}

// sit notes that a request has attached the session, which is over where it was attached before.
func (st *stay) sit(s *raw.Session, secret []byte, began time.Time) {
	st.of.mu.Lock()
	defer st.of.mu.Unlock()
	st.session, st.secret, st.began = s, secret, began
}

// opens reports whether the session is attached by the same key.
func (st *stay) opens(secret []byte) bool {
	return st.attached() && subtle.ConstantTimeCompare(st.secret, secret) == 1
}

func (st *stay) attached() bool { return st.session != nil && st.session.Err() == nil }

// over is called when the session is attached no more: one that no request uses is forgotten.
func (st *stay) over(error) {
	t := st.of
	t.mu.Lock()
	defer t.mu.Unlock()
	if st.users == 0 && !st.attached() {
		t.forget(st)
	}
}

// used takes a stay from those that are idle. The lock is held, here and below.
func (s *stays) used(st *stay) {
	if st.place != nil {
		s.idle.Remove(st.place)
		st.place = nil
	}
}

// forget takes a stay from all that are known.
func (s *stays) forget(st *stay) {
	s.used(st)
	if st.timer != nil {
		st.timer.Stop()
	}
	if s.known[st.key] == st {
		delete(s.known, st.key)
	}
}

// until is when the session has stayed for long enough.
func (st *stay) until() time.Time {
	return st.began.Add(min(longestStay, st.session.Timeout()/stayParts))
}

// arm has the timer look, unless it will anyway.
func (st *stay) arm(now time.Time) {
	switch left := st.until().Sub(now); {
	case st.armed:
		return
	case st.timer == nil:
		st.timer = time.AfterFunc(left, st.look)
	default:
		st.timer.Reset(left)
	}
	st.armed = true
}

// look detaches the session where it has stayed for long enough.
func (st *stay) look() {
	t := st.of
	t.mu.Lock()
	st.armed = false
	now := time.Now()
	switch {
	case st.place == nil: // a request uses it, or it is gone
	case now.Before(st.until()):
		st.arm(now)
	default:
		t.forget(st)
		t.mu.Unlock()
		st.detach(background)
		return
	}
	t.mu.Unlock()
}

// background is for what is not waited for.
var background = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// detach leaves the session what it has left of its timeout since the latest request that has renewed it. No lock is
// held.
func (st *stay) detach(ctx context.Context) {
	// Where no host answers, the session is detached with the connection.
	_ = st.session.Detach(ctx, max(st.session.Timeout()-time.Since(st.began), time.Millisecond))
}

// drop detaches the session of the request that has the turn: it does not stay.
func (st *stay) drop() {
	st.detach(background)
	st.sit(nil, nil, time.Time{})
}

// close detaches all, and waits for that as long as the context lasts.
func (s *stays) close(ctx context.Context) {
	s.mu.Lock()
	s.closed = true
	var all []*stay
	for s.idle.Len() > 0 {
		st := s.idle.Front().Value.(*stay)
		s.forget(st)
		all = append(all, st)
	}
	s.mu.Unlock()
	var leaving sync.WaitGroup
	for _, st := range all {
		leaving.Go(func() { st.detach(ctx) })
	}
	leaving.Wait()
}
