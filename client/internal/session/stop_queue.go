package session

import (
	"sync"
	"time"

	"github.com/signalbox/signalbox/client/internal/retry"
)

// stopsAtOnce is how many sessions are ended at their hosts at a time.
const stopsAtOnce = 64

// stopQueue has a client's sessions that still need to be ended at their hosts and that no caller waits for: sessions
// that expired on the client's clock, or were closed while the cluster was unreachable. One goroutine ends all
// sessions, however many there are and however long it takes. While no host answers, the goroutine keeps trying one
// session; later it tries many at a time.
type stopQueue struct {
	group *Group
	wake  chan struct{} // a session was added; capacity 1

	mu      sync.Mutex // guards the fields below
	waiting []*stop
	running bool
}

// add queues a session to be ended at its host. The incarnation's lock is held.
func (q *stopQueue) add(s *stop) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting = append(q.waiting, s)
	if !q.running {
		q.running = q.group.scope.Go(q.run)
	}
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// run ends when the queue is empty, or with the client.
func (q *stopQueue) run() {
	ctx := q.group.scope.Context()
	many, failures := stopsAtOnce, 0
	for ctx.Err() == nil {
		due, next, left := q.pop(many)
		if !left {
			return
		}
		wait := next
		if len(due) > 0 {
			if q.tryAll(due) {
				many, failures, wait = stopsAtOnce, 0, 0
			} else {
				many, wait = 1, retry.Requests.Pause(failures)
				failures++
			}
		}
		if wait > 0 {
			q.pause(wait, len(due) == 0)
		}
	}
}

// pause waits. With orMore, an added session ends the wait.
func (q *stopQueue) pause(wait time.Duration, orMore bool) {
	more := q.wake
	if !orMore {
		more = nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-more:
	case <-q.group.scope.Context().Done():
	}
}

// pop removes due sessions from the queue, at most many. If no session is due, next is the time until the first is. If
// the queue is empty, left is false, and the next add starts another goroutine.
func (q *stopQueue) pop(many int) (due []*stop, next time.Duration, left bool) {
	now := q.group.scope.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		q.running = false
		return nil, 0, false
	}
	rest := q.waiting[:0]
	for _, s := range q.waiting {
		switch until := s.due.Sub(now); {
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

// tryAll tries to end sessions, and puts sessions that are not over back. It reports whether any host gave a real
// answer.
func (q *stopQueue) tryAll(due []*stop) (anyAnswered bool) {
	again := make([]bool, len(due))
	answered := make([]bool, len(due))
	var all sync.WaitGroup
	for i, s := range due {
		all.Go(func() { again[i], answered[i] = s.tryOnce(q.group.scope.Context()) })
	}
	all.Wait()
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, s := range due {
		if again[i] {
			q.waiting = append(q.waiting, s)
		}
		anyAnswered = anyAnswered || answered[i]
	}
	return anyAnswered
}
