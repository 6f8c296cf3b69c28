package session

import (
	"context"

	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/protocol"
)

// An abandoned acquire must leave nothing behind: no queue position at the host, and no owner unknown to the client.
// While the outcome is open, no other mutation in the queue starts; then a release with the next number undoes the
// acquire. Because of this number, a delayed copy of the acquire can no longer take effect.

// abandonAcquire ends an abandoned or rejected acquire, and lets the next mutation in the queue start once the outcome
// is known.
func (in *Incarnation) abandonAcquire(m *mutation) {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.cause != nil: // the session's end undoes everything
	case m.refused():
		// A rejected acquire that waited before waits no more.
		if m.waited {
			in.endAcquire(m, m.result.Err())
		}
	case m.phase == sent || m.doubt || m.waited || m.phase == owned || m.phase == queued:
		if in.group.scope.Go(func() { in.undo(m) }) {
			return
		}
	default:
		m.dropNumber()
	}
	in.beginNext(m.queue)
}

// undo reverses an acquire whose outcome is open. No other mutation in the queue is in flight.
func (in *Incarnation) undo(m *mutation) {
	defer in.finish(m.queue)
	in.mu.Lock()
	before := uint64(0)
	if m.changes && m.queue.lease != nil {
		before = m.queue.lease.Order
	}
	in.mu.Unlock()
	if before != 0 {
		// The session owns the semaphore anyhow. Only the count is open.
		if m.sendUntilAnswered(in.ctx) != nil {
			return
		}
	} else {
		m.awaitAnswer()
	}
	in.mu.Lock()
	order := m.order
	needless := m.phase == owned && order == before ||
		m.phase == ended || m.refused() ||
		!m.doubt && !m.waited && m.phase != owned && m.phase != queued
	in.mu.Unlock()
	if !needless {
		in.sendRelease(m.queue, order)
	}
	in.mu.Lock()
	m.dropNumber()
	in.endAcquire(m, context.Canceled)
	in.mu.Unlock()
}

// withdraw removes an abandoned waiting acquire from the host's queue, or gives back units granted meanwhile.
func (in *Incarnation) withdraw(m *mutation) {
	in.group.scope.Go(func() {
		q, err := in.begin(in.ctx, m.queue.name)
		if err != nil {
			return // the session's end removes the acquire
		}
		defer in.finish(q)
		in.mu.Lock()
		order := m.order
		waits := q.waiting == m
		owns := m.phase == owned && q.lease != nil && q.lease == m.lease && q.lease.number == m.numbers.Sequence
		in.mu.Unlock()
		if waits || owns {
			in.sendRelease(q, order)
			in.mu.Lock()
			in.endAcquire(m, context.Canceled)
			in.mu.Unlock()
		}
	})
}

// Release gives back the session's units: those under an order id, or all if order is 0. If the context ends, the
// release continues in the background.
func (in *Incarnation) Release(ctx context.Context, name string, order uint64) (released bool, err error) {
	if ctx.Err() != nil {
		// The release runs in the background, unless the session's end makes it unnecessary.
		in.releaseLater(name, order)
		return false, context.Cause(ctx)
	}
	q, err := in.begin(ctx, name)
	if err != nil {
		in.releaseLater(name, order)
		return false, err
	}
	r := in.release(q, order)
	if err = r.sendRelease(ctx); err == nil {
		released = r.released
		in.finish(q)
		r.recycle()
		return released, nil
	}
	in.mu.Lock()
	refused := r.refused()
	in.mu.Unlock()
	if in.ctx.Err() == nil && !refused {
		background := in.group.scope.Go(func() {
			defer in.finish(q)
			_ = r.sendRelease(in.ctx) // no caller waits any more
		})
		if background {
			return false, err
		}
	}
	in.finish(q)
	return false, err
}

func (in *Incarnation) releaseLater(name string, order uint64) {
	if in.ctx.Err() == nil {
		in.group.scope.Go(func() { _, _ = in.Release(in.ctx, name, order) })
	}
}

// release returns a release mutation.
func (in *Incarnation) release(q *keyQueue, order uint64) *mutation {
	r := in.group.mutations.Get().(*mutation)
	r.in, r.queue = in, q
	r.message, r.numbers = &r.release, &r.release.Mutation
	r.release.NodeID, r.release.Name, r.release.OrderID = in.nodeID, protocol.View(q.name), order
	return r
}

// sendRelease releases the session's units under an order id, or all if order is 0. It ends when the host has answered
// or the session has ended. No other mutation in the queue is in flight.
func (in *Incarnation) sendRelease(q *keyQueue, order uint64) {
	_ = in.release(q, order).sendRelease(in.ctx) // no caller waits for the result
}

// sendRelease sends a release until answered. A host that does not know the owner has ended the lease.
func (m *mutation) sendRelease(ctx context.Context) error {
	err := m.sendUntilAnswered(ctx)
	if failure.Status(err) == protocol.StatusFenced {
		m.in.mu.Lock()
		if q := m.queue; q.lease != nil && q.lease.Order == m.release.OrderID {
			q.removeLease(failure.ErrLeaseLost)
		}
		m.in.mu.Unlock()
	}
	return err
}

// releaseAnswered records that the session owns nothing in the semaphore any more. The lock is held.
func (in *Incarnation) releaseAnswered(q *keyQueue) {
	if q.waiting != nil {
		in.endAcquire(q.waiting, failure.Aborted(protocol.AbortReleased))
	}
	q.removeLease(failure.ErrReleased)
}
