package client

import (
	"context"
	"errors"

	"github.com/signalbox/signalbox/protocol"
)

// acquire carries an acquire to its end. ok is false where it was not granted; the error is then nil, or
// says more.
func (x *life) acquire(ctx context.Context, name string, ephemeral bool, c *acquireConfig) (lease *Lease, ok bool, err error) {
	if c.bounded && c.timeout > 0 {
		// The host counts the timeout, if it can be reached, and does not begin anew.
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.timeout+queueSlack, ErrNotAcquired)
		defer cancel()
	}
	l, err := x.enter(ctx, name)
	if err != nil {
		return nil, false, err
	}
	m := x.mutation(l)
	a := m.useAcquire()
	a.Count, a.Data, a.TimeoutMillis, a.Ephemeral = c.count, c.data, c.millis(), ephemeral
	x.mu.Lock()
	m.changes = l.lease != nil
	x.mu.Unlock()
	if err := m.carry(ctx); err != nil {
		x.abandon(m)
		return nil, false, overtaken(err)
	}
	x.leave(l)
	x.compareLimit(m, name, c.limit)
	if at := m.at(); at == queued || at == adrift {
		if c.onQueued != nil {
			c.onQueued(m.place())
		}
		err = x.wait(ctx, m)
	}
	lease, err = x.outcome(m, err)
	m.recycle()
	return lease, lease != nil, err
}

func (m *mutation) place() uint64 {
	m.life.mu.Lock()
	defer m.life.mu.Unlock()
	return m.order
}

// outcome is what an acquire returns, once it has an outcome or was given up with an error.
func (x *life) outcome(m *mutation, err error) (*Lease, error) {
	if err != nil {
		return nil, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case m.phase == settled && errors.Is(m.err, ErrNotAcquired):
		return nil, nil
	case m.phase == settled:
		return nil, m.err
	case m.phase != owned:
		return nil, nil
	case !x.aliveLocked():
		return nil, x.cause
	case m.lease.cause != nil:
		return nil, m.lease.cause
	}
	return m.lease, nil
}

// wait waits for the outcome of an acquire that is queued, and sends it again where its host lost sight of
// it.
func (x *life) wait(ctx context.Context, m *mutation) error {
	for {
		switch m.at() {
		case owned, settled:
			return nil
		case adrift:
			if err := x.resume(ctx, m); err != nil {
				return err
			}
			continue
		}
		select {
		case <-m.wake:
		case <-ctx.Done():
			x.withdraw(m)
			return context.Cause(ctx)
		case <-x.ctx.Done():
			return context.Cause(x.ctx)
		}
	}
}

// resume sends an acquire that waits again, under its number, so that its outcome is told here.
func (x *life) resume(ctx context.Context, m *mutation) error {
	l, err := x.enter(ctx, m.lane.name)
	if err != nil {
		x.withdraw(m)
		return err
	}
	x.mu.Lock()
	over := m.phase != adrift
	x.mu.Unlock()
	if over {
		x.leave(l)
		return nil
	}
	if err := m.carry(ctx); err != nil {
		x.abandon(m)
		return overtaken(err)
	}
	x.leave(l)
	return nil
}

// overtaken adds the reason to a host's word that the acquire was overtaken.
func overtaken(err error) error {
	var e *protocol.Error
	if statusOf(err) == protocol.StatusAborted && errors.As(err, &e) {
		return aborted(e.Reason)
	}
	return err
}

// acquireAnswered takes the answer to an acquire in. The lock is held, here and below. It runs in the order
// of what the host sends, so that a loss that is told later finds the lease.
func (x *life) acquireAnswered(m *mutation, a *protocol.AcquireAnswer) {
	l := m.lane
	m.limit = a.SemaphoreLimit
	if old := l.waiting; old != nil && old != m {
		// Whatever came of the newer acquire, the place in the queue is that one's now, or nobody's.
		x.settle(old, aborted(protocol.AbortReplaced))
	}
	switch a.Outcome {
	case protocol.Acquired:
		x.own(m, a.OrderID)
	case protocol.Queued:
		m.phase, m.order, m.waited = queued, a.OrderID, true
		l.waiting = m
	default:
		err := ErrNotAcquired
		if m.waited && m.acquire.TimeoutMillis == protocol.Forever {
			// It cannot have timed out, so something overtook it while nobody could be told.
			err = aborted(protocol.AbortUnknown)
		}
		x.settle(m, err)
	}
}

// granted makes an acquire that waited an owner.
func (x *life) granted(m *mutation, order uint64) {
	if m.phase == queued || m.phase == adrift {
		x.own(m, order)
		m.tell()
	}
}

// own makes the lease of an acquire that owns, or changes the one that is there.
func (x *life) own(m *mutation, order uint64) {
	l := m.lane
	if l.waiting == m {
		l.waiting = nil
	}
	if l.lease != nil && l.lease.order != order {
		l.lease.lose(ErrLeaseLost)
		l.lease = nil
	}
	if l.lease == nil {
		l.lease = &Lease{life: x, name: l.name, order: order}
	}
	l.lease.number, l.lease.count = m.numbers.Number, m.acquire.Count
	l.lease.data, l.lease.ephemeral = m.acquire.Data, m.acquire.Ephemeral
	m.phase, m.order, m.lease = owned, order, l.lease
	if l.early.order == order {
		l.lease.lose(l.early.cause)
		l.lease = nil
		x.tidy(l)
	}
}

// settle ends an acquire that owns nothing.
func (x *life) settle(m *mutation, err error) {
	if m.phase == owned || m.phase == settled {
		return
	}
	if m.link != nil {
		m.link.forget(m.id)
	}
	m.phase, m.err = settled, err
	if m.lane.waiting == m {
		m.lane.waiting = nil
		x.tidy(m.lane)
	}
	m.tell()
}

// drift notes that the outcome of an acquire that waits will not be told any more.
func (x *life) drift(m *mutation) {
	if m.phase == queued {
		m.link.forget(m.id)
		m.phase = adrift
		m.tell()
	}
}
