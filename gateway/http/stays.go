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
	// maxStays is how many unused sessions stay attached. Beyond the limit, the sessions idle for longest are
	// detached.
	maxStays = 10_000
	// longestStay is how long a session stays attached after the start of a request; for short sessions, the stay is
	// the session's timeout divided by stayParts. A gateway that dies leaves the session alive for so much longer
	// than promised.
	longestStay = time.Second
	stayParts   = 3
)

// stays has the sessions attached by callers' requests. A session stays attached briefly after a request, to spare the
// next request an attach. Only the caller that attached a session uses the stay.
type stays struct {
	most int // limit on idle stays

	mu     sync.Mutex // guards the next fields, and some fields in every stay
	known  map[stayKey]*stay
	idle   queue.List // the stays without a request, the longest idle first
	closed bool       // no session stays without a request
}

// stayKey identifies a stay: sessions are attached with one caller's rights.
type stayKey struct {
	caller  *caller
	session uint64
}

// stay is a session. Requests use the session in turn, so a mutation with a lower number does not come behind a
// mutation with a higher number.
type stay struct {
	of    *stays
	key   stayKey
	taken chan struct{} // holds a token while a request has its turn

	// For the request that has the turn; without a request, for the holder of the stays' lock.
	session *raw.Session // nil before an attach
	secret  []byte       // of the attach
	began   time.Time    // start of the latest request that renewed the session
	path    string       // session's node path; empty while unknown
	number  uint64       // the highest number invented for a mutation

	// Guarded by the stays' lock.
	users int            // requests that have or wait for the turn
	place *queue.Element // in stays.idle; nil if not idle
	timer *time.Timer    // checks whether the stay is over; nil if unset
	armed bool           // the timer is to fire
}

func newStays(most int) *stays { return &stays{most: most, known: make(map[stayKey]*stay)} }

// prepare creates a stay that is not in known.
func (s *stays) prepare(by *caller) *stay {
	return &stay{of: s, key: stayKey{caller: by}, taken: make(chan struct{}, 1)}
}

// take waits for a session's turn. The stay belongs to the caller until leave.
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

// release ends a use. A session without waiting requests stays.
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

// begin enters a newly started session, in a first turn.
func (st *stay) begin(s *raw.Session, secret []byte, began time.Time) {
	t := st.of
	t.mu.Lock()
	st.key.session = s.ID()
	t.known[st.key] = st // the caller does not know the session yet
	st.users = 1
	t.mu.Unlock()
	st.taken <- struct{}{}
	st.sit(s, secret, began)
}

// sit records that a request has attached the session, which ends an earlier request's attachment.
func (st *stay) sit(s *raw.Session, secret []byte, began time.Time) {
	st.of.mu.Lock()
	defer st.of.mu.Unlock()
	st.session, st.secret, st.began = s, secret, began
}

// opens reports whether the session is attached by the given key.
func (st *stay) opens(secret []byte) bool {
	return st.attached() && subtle.ConstantTimeCompare(st.secret, secret) == 1
}

func (st *stay) attached() bool { return st.session != nil && st.session.Err() == nil }

// over is called when the session has ceased to be attached: a stay without a request is forgotten.
func (st *stay) over(error) {
	t := st.of
	t.mu.Lock()
	defer t.mu.Unlock()
	if st.users == 0 && !st.attached() {
		t.forget(st)
	}
}

// used removes a stay from the idle stays. The lock is held, here and below.
func (s *stays) used(st *stay) {
	if st.place != nil {
		s.idle.Remove(st.place)
		st.place = nil
	}
}

// forget removes a stay from all lists.
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

// arm sets the timer unless already set.
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

// look detaches the session when the stay is over.
func (st *stay) look() {
	t := st.of
	t.mu.Lock()
	st.armed = false
	now := time.Now()
	switch {
	case st.place == nil: // in use by a request, or gone
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

// background is for calls without a wait for the outcome.
var background = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// detach leaves the session the rest of its timeout since the latest renewing request. No lock is held.
func (st *stay) detach(ctx context.Context) {
	// If no host answers, the session is detached with the connection.
	_ = st.session.Detach(ctx, max(st.session.Timeout()-time.Since(st.began), time.Millisecond))
}

// drop detaches the current request's session: the session does not stay.
func (st *stay) drop() {
	st.detach(background)
	st.sit(nil, nil, time.Time{})
}

// close detaches all sessions, and waits for the detaches until the context ends.
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
