package client

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/signalbox/signalbox/protocol"
)

// stopping is the ending of a session at its host, from try to try.
type stopping struct {
	life    *life
	link    *link // to be tried first; nil: the session is attached elsewhere before
	tried   *host
	retries retries
	due     instant // not earlier
}

func (x *life) stopping() *stopping {
	x.mu.Lock()
	defer x.mu.Unlock()
	return &stopping{life: x, link: x.last}
}

// needless tells that the session ends without a word, because its connection is lost.
func (s *stopping) needless() bool {
	return s.life.timeout == 0 && (s.link == nil || s.link.isDown())
}

// try asks once for the end of the session. It returns over where the session has ended, or where there is no use in
// trying again: err says why. Otherwise err is what the try failed with; nil asks for another one at once.
func (s *stopping) try(ctx context.Context) (over bool, err error) {
	x, l := s.life, s.link
	var h *host
	if l == nil {
		l, h, err = x.attach(ctx, s.tried)
	} else {
		h = l.host
	}
	if err == nil {
		err = l.roundTrip(ctx, &protocol.SessionStop{SessionID: x.id}, nil)
	}
	s.link, s.tried = nil, h
	switch {
	case err == nil, statusOf(err) == protocol.StatusSessionExpired && !isTransport(err):
		return true, nil
	case l == nil || isTransport(err) || statusOf(err) != protocol.StatusBadSession:
		if end := x.client.redirect(ctx, err, l, h); end != nil {
			return true, end
		}
		return false, err
	}
	s.retries.strays++
	return s.retries.strays > 1, nil // it is somebody else's
}

// stops are the sessions of a client that nobody waits for and that are still to be ended at their hosts: given up by
// the client's own clock, or closed while the cluster was away. One goroutine sees to all of them, however many
// and however long that takes: while no host answers it tries one of them, again and again, and then many at a time.
type stops struct {
	client *Client
	wake   chan struct{} // there is another one; holds one

	mu      sync.Mutex // guards what follows
	waiting []*stopping
	running bool
}

func (q *stops) init(c *Client) { q.client, q.wake = c, make(chan struct{}, 1) }

// add has a session ended at its host, from some moment on. The life is over. Its lock is held.
func (q *stops) add(x *life, due instant) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, &stopping{life: x, link: x.last, due: due})
	if !q.running {
		q.running = q.client.spawn(q.run)
	}
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// run ends when nothing waits, or with the client.
func (q *stops) run() {
	many, failures := stopsAtOnce, 0
	for q.client.ctx.Err() == nil {
		due, next, left := q.take(many)
		if !left {
			return
		}
		wait := next
		if len(due) > 0 {
			if q.tryAll(due) {
				many, failures, wait = stopsAtOnce, 0, 0
			} else {
				many, wait = 1, pause(failures, 0)
				failures++
			}
		}
		if wait > 0 {
			q.rest(wait, len(due) == 0)
		}
	}
}

// rest waits, or until there is another session where that matters.
func (q *stops) rest(wait time.Duration, orMore bool) {
	more := q.wake
	if !orMore {
		more = nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-more:
	case <-q.client.ctx.Done():
	}
}

// take takes those off the queue that are due, so many at most. Where none is, next is the time until one will be. It
// returns false, and whoever is added next starts another goroutine, where nothing is left.
func (q *stops) take(many int) (due []*stopping, next time.Duration, left bool) {
	now := q.client.clock.now()
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.running = false
		return nil, 0, false
	}
	rest := q.waiting[:0]
	for _, s := range q.waiting {
		switch until := s.due.sub(now); {
		case until <= 0 && len(due) < many:
			due = append(due, s)
			continue
		case next == 0 || until < next:
			next = max(until, 1)
		}
		rest = append(rest, s)
	}
	clear(q.waiting[len(rest):])
	q.waiting = rest
	return due, next, true
}

// tryAll tries to end sessions, and puts back those that are not over. It tells whether a host that could has answered
// any of them.
func (q *stops) tryAll(due []*stopping) (answered bool) {
	again := make([]bool, len(due))
	heard := make([]bool, len(due))
	var all sync.WaitGroup
	for i, s := range due {
		all.Go(func() { again[i], heard[i] = s.once(q.client.ctx) })
	}
	all.Wait()
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, s := range due {
		if again[i] {
			q.waiting = append(q.waiting, s)
		}
		answered = answered || heard[i]
	}
	return answered
}

// once makes one try, of a bounded time, and tells whether another one is needed, and whether a host has answered this
// one with more than that it cannot at the moment.
func (s *stopping) once(ctx context.Context) (again, heard bool) {
	if s.needless() {
		return false, true
	}
	c := s.life.client
	limited, cancel := context.WithTimeoutCause(ctx, max(s.life.patience(), c.config.dialTimeout), errSlow)
	defer cancel()
	over, err := s.try(limited)
	if errors.Is(err, errSlow) {
		over, err = false, &transportError{address: addressOf(s.tried), err: errSlow}
	}
	switch {
	case over:
		return false, true
	case err == nil:
		return true, true
	}
	wait, final := s.retries.delay(err)
	s.due = c.clock.now().add(wait)
	return !final, final || statusOf(err).Retry() == protocol.RetryElsewhere && !isTransport(err)
}
