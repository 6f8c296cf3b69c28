package session

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/protocol"
)

// queueSlack is the extra time beyond an acquire's timeout for an unreachable host or a host that restarted the
// timeout.
const queueSlack = 500 * time.Millisecond

// Request holds an acquire's parameters.
type Request struct {
	Count     uint64
	Data      []byte
	Ephemeral bool
	// Timeout bounds the wait in the queue, unless it is Forever. With 0 the acquire does not wait.
	Timeout time.Duration
	// NamedLimit is the limit that the caller expects; 0 if none.
	NamedLimit uint64
	// OnQueued, if set, is called with a waiting acquire's order id.
	OnQueued func(order uint64)
}

// Forever is the Timeout for an acquire that waits as long as its session lasts.
const Forever = time.Duration(math.MinInt64)

// Check rejects a request that every host would reject.
func (r *Request) Check() error {
	switch {
	case r.Count == 0:
		return failure.BadRequest("the count must be at least 1")
	case r.Timeout < 0 && r.Timeout != Forever:
		return failure.BadRequest(fmt.Sprintf("the timeout must not be negative, but is %v", r.Timeout))
	case r.Timeout > protocol.MaxAcquireWaitMillis*time.Millisecond:
		return failure.BadRequest(fmt.Sprintf("the timeout must be at most a day, but is %v; omit it to wait "+
			"forever", r.Timeout))
	}
	return nil
}

// Acquire acquires a semaphore. The lease is nil if the acquire was not granted; the error is then nil, or says more.
func (in *Incarnation) Acquire(ctx context.Context, name string, r *Request) (*Lease, error) {
	if r.Timeout > 0 {
		// Usually the host ends the wait. The client's limit applies if the host is unreachable or restarts the
		// timeout.
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, r.Timeout+queueSlack, failure.ErrNotAcquired)
		defer cancel()
	}
	q, err := in.begin(ctx, name)
	if err != nil {
		return nil, err
	}
	m := in.newAcquire(q, r)
	if err := m.sendUntilAnswered(ctx); err != nil {
		in.abandonAcquire(m)
		return nil, failure.Overtaken(err)
	}
	in.mu.Lock()
	in.beginNext(q)
	phase, order, limit := m.phase, m.order, m.limit
	waits := phase == queued || phase == unobserved
	var lease *Lease
	if !waits {
		lease, err = in.outcome(m)
	}
	in.mu.Unlock()
	if r.NamedLimit != 0 && limit != 0 && limit != r.NamedLimit {
		in.owner.LimitMismatch(name, r.NamedLimit, limit)
	}
	if waits {
		if r.OnQueued != nil {
			r.OnQueued(order)
		}
		if err := in.wait(ctx, m); err != nil {
			return nil, err
		}
		in.mu.Lock()
		lease, err = in.outcome(m)
		in.mu.Unlock()
	}
	m.recycle()
	return lease, err
}

// newAcquire returns an acquire mutation.
func (in *Incarnation) newAcquire(q *keyQueue, r *Request) *mutation {
	m := in.group.mutations.Get().(*mutation)
	m.in, m.queue = in, q
	m.message, m.numbers = &m.acquire, &m.acquire.Mutation
	a := &m.acquire
	a.NodeID, a.Name = in.nodeID, protocol.View(q.name)
	a.Count, a.Data, a.Ephemeral, a.WaitMillis = r.Count, r.Data, r.Ephemeral, protocol.Forever
	if r.Timeout != Forever {
		// The host counts whole milliseconds, so round up.
		a.WaitMillis = uint64((r.Timeout + time.Millisecond - 1) / time.Millisecond)
	}
	return m
}

// outcome is an acquire's result, once known. The lock is held.
func (in *Incarnation) outcome(m *mutation) (*Lease, error) {
	switch {
	case m.phase == ended && errors.Is(m.err, failure.ErrNotAcquired):
		return nil, nil
	case m.phase == ended:
		return nil, m.err
	case m.phase != owned:
		return nil, nil
	case !in.alive():
		return nil, in.cause
	case m.lease.cause != nil:
		return nil, m.lease.cause
	}
	return m.lease, nil
}

// wait waits for a queued acquire's outcome, and sends the acquire again if the host will not report the outcome.
func (in *Incarnation) wait(ctx context.Context, m *mutation) error {
	for {
		switch m.at() {
		case owned, ended:
			return nil
		case unobserved:
			if err := in.sendWaiting(ctx, m); err != nil {
				return err
			}
			continue
		}
		select {
		case <-m.wake:
		case <-ctx.Done():
			in.withdraw(m)
			return context.Cause(ctx)
		case <-in.ctx.Done():
			return context.Cause(in.ctx)
		}
	}
}

// sendWaiting sends a waiting acquire again with its old number, so a host reports the outcome.
func (in *Incarnation) sendWaiting(ctx context.Context, m *mutation) error {
	q, err := in.begin(ctx, m.queue.name)
	if err != nil {
		in.withdraw(m)
		return err
	}
	if m.at() == unobserved {
		if err := m.sendUntilAnswered(ctx); err != nil {
			in.abandonAcquire(m)
			return failure.Overtaken(err)
		}
	}
	in.finish(q)
	return nil
}

// acquireAnswered records the answer to an acquire. The lock is held, here and below.
func (in *Incarnation) acquireAnswered(m *mutation, a *protocol.AcquireAnswer) {
	q := m.queue
	m.limit = a.SemaphoreLimit
	if old := q.waiting; old != nil && old != m {
		// Whatever the newer acquire got, the older acquire has lost its queue position.
		in.endAcquire(old, failure.Aborted(protocol.AbortReplaced))
	}
	switch a.Outcome {
	case protocol.Acquired:
		in.own(m, a.OrderID)
	case protocol.Queued:
		m.phase, m.order, m.waited = queued, a.OrderID, true
		q.waiting = m
	default:
		err := failure.ErrNotAcquired
		if m.waited && m.acquire.WaitMillis == protocol.Forever {
			// An acquire without a timeout cannot have timed out, so it was superseded while the client was
			// disconnected.
			err = failure.Aborted(protocol.AbortUnknown)
		}
		in.endAcquire(m, err)
	}
}

// grant makes a waiting acquire an owner.
func (in *Incarnation) grant(m *mutation, order uint64) {
	if m.phase == queued || m.phase == unobserved {
		in.own(m, order)
		m.wakeUp()
	}
}

// own creates the lease for a granted acquire, or changes the existing lease.
func (in *Incarnation) own(m *mutation, order uint64) {
	q := m.queue
	if q.waiting == m {
		q.waiting = nil
	}
	if q.lease != nil && q.lease.Order != order {
		q.removeLease(failure.ErrLeaseLost)
	}
	if q.lease == nil {
		l, user := in.owner.NewLease()
		l.In, l.User, l.Name, l.Order = in, user, q.name, order
		q.lease = l
	}
	q.lease.number, q.lease.count = m.numbers.Sequence, m.acquire.Count
	q.lease.data, q.lease.ephemeral, q.lease.missing = m.acquire.Data, m.acquire.Ephemeral, false
	m.phase, m.order, m.lease = owned, order, q.lease
	if q.early.order == order {
		q.removeLease(q.early.cause)
		in.dropIfEmpty(q)
	}
	if q.lease != nil && in.isLost(q.name, order, m.losses) {
		in.giveUpLease(q)
	}
}

// endAcquire ends an acquire that owns nothing.
func (in *Incarnation) endAcquire(m *mutation, err error) {
	if m.phase == owned || m.phase == ended {
		return
	}
	if m.conn != nil {
		m.conn.Forget(m.id)
	}
	m.phase, m.err = ended, err
	if m.queue.waiting == m {
		m.queue.waiting = nil
		in.dropIfEmpty(m.queue)
	}
	m.wakeUp()
}

// unobserve records that no host will report a waiting acquire's outcome any more.
func (in *Incarnation) unobserve(m *mutation) {
	if m.phase == queued {
		m.conn.Forget(m.id)
		m.phase = unobserved
		m.wakeUp()
	}
}
