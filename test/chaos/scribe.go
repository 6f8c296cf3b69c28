//go:build linux

package chaos

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/test/history"
	"github.com/signalbox/signalbox/test/workload"
)

// listener is who a client tells what happens: the run, directly or through a pipe. It is safe for use by many
// goroutines.
type listener interface {
	take(entry)
	// write asks the store that locks guard.
	write(of history.Semaphore, token uint64) (at history.Time, accepted bool)
}

// scribe tells of one client, and of what it believes in. A client believes in a lease for as long as a look at
// it says so; it is looked at all the time, because one whose process stood still does not know when it should
// have stopped believing. So what is taken down is never longer than the truth.
type scribe struct {
	*clock
	client int
	grace  time.Duration // of the node
	to     listener
	number atomic.Uint64
	quit   chan struct{}
	done   chan struct{}

	mu    sync.Mutex // guards what follows
	holds map[*holding]bool
	last  history.Time // when the process was seen to run
	// slept and woke are when the process stood still the last time.
	slept, woke history.Time
}

var _ workload.Recorder = (*scribe)(nil)

// newScribe begins to tell of a client. Of a client whose process is started again the life says which it is.
func newScribe(c *clock, o Orders, to listener) *scribe {
	s := &scribe{
		clock: c, client: o.Client, grace: o.Grace, to: to, holds: make(map[*holding]bool), quit: make(chan struct{}), done: make(chan struct{}),
	}
	s.number.Store(uint64(o.Life) << 32)
	s.last = s.Now()
	go s.look()
	return s
}

// close ends the looking.
func (s *scribe) close() {
	close(s.quit)
	<-s.done
}

func (s *scribe) tell(number uint64, e entry) {
	e.Client, e.Number = s.client, number
	s.to.take(e)
}

func (s *scribe) Note(format string, args ...any) {
	s.tell(s.number.Add(1), entry{Note: s.complaint(format, args...)})
}

func (s *scribe) complaint(format string, args ...any) *note {
	return &note{At: s.Now(), Text: fmt.Sprintf("client %d: %s", s.client, fmt.Sprintf(format, args...))}
}

// noteUnless tells that something is wrong, unless something hinders everybody since a moment.
func (s *scribe) noteUnless(since history.Time, format string, args ...any) {
	n := s.complaint(format, args...)
	n.Since = since
	s.tell(s.number.Add(1), entry{Note: n})
}

// blame tells of an error that no fault explains.
func (s *scribe) blame(err error) {
	if errors.Is(err, client.ErrInternal) || errors.Is(err, client.ErrUnsupported) || errors.Is(err, client.ErrUnauthorized) {
		s.Note("%v", err)
	}
}

func (s *scribe) View(v history.View) {
	v.At = s.Now()
	s.tell(s.number.Add(1), entry{View: &v})
}

func (s *scribe) Session(of *client.Session, x history.Session) (close func()) {
	began := s.Now()
	end := s.session(x)
	over := func(why history.End, detail string) {
		at, why := s.endOf(x.Timeout, began, why)
		end(at, why, detail)
	}
	context.AfterFunc(of.Context(), func() { over(workload.EndOf(context.Cause(of.Context()))) })
	return func() { over(history.Closed, "by its user") }
}

// endOf tells from when on a session that is over now may have been over. Who stood still may hear of the end, or close
// the session, before it looks at its clock: then it may have ended at any moment since the process fell asleep.
func (s *scribe) endOf(timeout, began history.Time, why history.End) (history.Time, history.End) {
	now := s.Now()
	slept, ok := s.asleep(max(began, now-timeout-s.grace-stillness))
	switch {
	case !ok, why == history.Ended:
	case why != history.Closed, now-slept > timeout/2: // the host may have heard of it last some time before
		return slept, history.Silent
	}
	return now, why
}

// session tells of a session that has begun, and returns what tells of its end, once.
func (s *scribe) session(x history.Session) (end func(history.Time, history.End, string)) {
	number := s.number.Add(1)
	x.Client, x.From, x.To = s.client, s.Now(), history.Never
	s.tell(number, entry{Session: &x})
	var once sync.Once
	return func(at history.Time, why history.End, detail string) {
		once.Do(func() {
			ended := x
			ended.To, ended.End, ended.Detail = max(at, x.From), why, detail
			s.tell(number, entry{Session: &ended})
		})
	}
}

func (s *scribe) Begin(o history.Operation) (over func(history.Operation, error)) {
	number := s.number.Add(1)
	s.tell(number, entry{Operation: &o})
	return func(o history.Operation, err error) {
		s.blame(err)
		o.Returned = s.Now()
		s.tell(number, entry{Operation: &o})
	}
}

// Write writes to the store that locks guard. The writer believed if it still does afterwards.
func (s *scribe) Write(of history.Semaphore, lease *client.Lease) {
	w := history.Write{Semaphore: of, Order: lease.Fence()}
	w.At, w.Accepted = s.to.write(w.Semaphore, w.Order)
	w.Believed = lease.Err() == nil
	s.tell(s.number.Add(1), entry{Write: &w})
}
