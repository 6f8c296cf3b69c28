package limiter

import (
	"context"
	"errors"
	"slices"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/retry"
	"github.com/signalbox/signalbox/client/lock"
)

// queue has this process's waiting goroutines, and the session attempts to get slots for them. Both lists are sorted by
// start. An attempt belongs to no particular waiter: the first slot goes to the first waiter. The limiter's lock guards
// the queue.
type queue struct {
	waiters  []*waiter
	attempts []*attempt
}

// waiter is one Acquire.
type waiter struct {
	got chan result // holds one
}

// result is a waiter's result.
type result struct {
	slot *Slot
	err  error
}

// attempt is a session that acquires, or is being started for an acquire.
type attempt struct {
	ctx    context.Context
	cancel context.CancelFunc
}

// remove removes a waiter that gave up, and ends the attempt at the waiter's index, so later waiters do not move ahead
// of other processes. It returns false if the waiter already has a result.
func (q *queue) remove(w *waiter) bool {
	i := slices.Index(q.waiters, w)
	if i < 0 {
		return false
	}
	q.waiters = slices.Delete(q.waiters, i, i+1)
	if i < len(q.attempts) {
		q.attempts[i].cancel()
		q.attempts = slices.Delete(q.attempts, i, i+1)
	}
	return true
}

// drop removes a finished attempt. It returns the attempt's index, or -1 if the attempt was ended before.
func (q *queue) drop(a *attempt) int {
	i := slices.Index(q.attempts, a)
	if i >= 0 {
		q.attempts = slices.Delete(q.attempts, i, i+1)
	}
	return i
}

// give gives the first waiter a result. It returns false if no waiter is left.
func (q *queue) give(r result) bool {
	if len(q.waiters) == 0 {
		return false
	}
	q.waiters[0].got <- r
	q.waiters = slices.Delete(q.waiters, 0, 1)
	return true
}

// fail ends everything in the queue.
func (q *queue) fail(err error) {
	for q.give(result{err: err}) {
	}
	for _, a := range q.attempts {
		a.cancel()
	}
	q.attempts = nil
}

// balance starts an attempt for each waiter without an attempt, as far as more sessions are allowed, and ends unneeded
// attempts. The lock is held.
func (l *Limiter) balance() {
	q := &l.queue
	for len(q.attempts) < len(q.waiters) && l.pool.used < l.config.sessions && !l.closed {
		a := &attempt{}
		a.ctx, a.cancel = context.WithCancel(l.ctx)
		q.attempts = append(q.attempts, a)
		l.pool.used++
		l.work.Go(func() { l.attempt(a) })
	}
	for len(q.attempts) > len(q.waiters) {
		last := len(q.attempts) - 1
		q.attempts[last].cancel()
		q.attempts = q.attempts[:last]
	}
}

// attempt gets a slot for the waiter that has waited longest, using a new session whenever a session is lost.
func (l *Limiter) attempt(a *attempt) {
	defer a.cancel()
	for {
		session, err := l.session(a.ctx)
		var hold *lock.Lock
		if err == nil {
			hold, err = lock.Acquire(a.ctx, session, l.name, l.options()...)
		}
		switch {
		case err == nil && hold.Err() == nil:
			l.granted(a, &Slot{limiter: l, session: session, hold: hold})
			return
		case err == nil:
			_ = hold.Unlock(a.ctx) // the slot was lost
		case !passing(err) || a.ctx.Err() != nil:
			l.failed(a, session, err)
			return
		}
		l.makeIdle(session)
		_ = retry.Wait(a.ctx, retryPause) // the next attempt fails if the context has ended
	}
}

// granted gives a slot to the first waiter, or back to the cluster if no waiter is left.
func (l *Limiter) granted(a *attempt, s *Slot) {
	l.mu.Lock()
	l.queue.drop(a)
	given := l.queue.give(result{slot: s})
	l.balance()
	l.mu.Unlock()
	if !given {
		_ = s.Release(l.ctx) // goes on by itself
	}
}

// failed gives an attempt's error to the waiter at the attempt's index.
func (l *Limiter) failed(a *attempt, session *client.Session, err error) {
	l.free(session)
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := l.queue.drop(a); i >= 0 && i < len(l.queue.waiters) {
		l.queue.waiters[i].got <- result{err: err}
		l.queue.waiters = slices.Delete(l.queue.waiters, i, i+1)
	}
	l.balance()
}

// passing reports whether another session can succeed after a session's error.
func passing(err error) bool {
	return errors.Is(err, client.ErrSessionExpired) || errors.Is(err, client.ErrDeleted) ||
		errors.Is(err, client.ErrSemaphoreNotFound)
}
