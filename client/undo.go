package client

import (
	"context"

	"github.com/signalbox/signalbox/protocol"
)

// An acquire that is given up must leave nothing behind: no place in the queue, and no owner that nobody
// knows of. While its outcome is open its lane stays closed; then a release under the next number undoes it.
// The number makes sure that a copy of the acquire that is still on its way can take effect no more.

// abandon ends the turn of an acquire that was given up, or refused.
func (x *life) abandon(m *mutation) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.cause != nil: // the end of the session undoes everything
	case m.phase == answered && !again(m.result.Status):
		// The host refused it. If it waited before, it does so no more.
		if m.waited {
			x.settle(m, m.result.Err())
		}
	case m.phase == sent || m.doubt || m.waited || m.phase == owned || m.phase == queued:
		if x.client.spawn(func() { x.undo(m) }) {
			return
		}
	default:
		m.giveUp()
	}
	x.pass(m.lane)
}

// undo takes an acquire back whose outcome is open. It has the lane's turn.
func (x *life) undo(m *mutation) {
	defer x.leave(m.lane)
	x.mu.Lock()
	before := uint64(0)
	if m.changes && m.lane.lease != nil {
		before = m.lane.lease.order
	}
	x.mu.Unlock()
	if before != 0 {
		// The session owns the semaphore anyhow. What is open is only how much of it.
		if m.carry(x.ctx) != nil {
			return
		}
	} else {
		m.untilAnswered()
	}
	x.mu.Lock()
	order := m.order
	needless := m.phase == owned && order == before ||
		m.phase == settled ||
		m.phase == answered && !again(m.result.Status) ||
		!m.doubt && !m.waited && m.phase != owned && m.phase != queued
	x.mu.Unlock()
	if !needless {
		x.sendRelease(m.lane, order)
	}
	x.mu.Lock()
	m.giveUp()
	x.settle(m, context.Canceled)
	x.mu.Unlock()
}

// untilAnswered waits for the answer to what was sent, for as long as its connection is up.
func (m *mutation) untilAnswered() {
	for m.at() == sent {
		select {
		case <-m.wake:
		case <-m.life.ctx.Done():
			return
		}
	}
}

// sendRelease releases what the session has under an order id, or whatever it has where that is 0. It ends
// when the host has answered, or the session has ended. The caller has the lane's turn.
func (x *life) sendRelease(l *lane, order uint64) {
	r := x.mutation(l)
	r.useRelease(order)
	_ = x.closeRelease(r, r.carry(x.ctx)) // nobody waits for it
}

// closeRelease draws the conclusion from a release that was answered for good.
func (x *life) closeRelease(r *mutation, err error) error {
	if statusOf(err) == protocol.StatusFenced {
		x.mu.Lock()
		if l := r.lane; l.lease != nil && l.lease.order == r.release.OrderID {
			l.lease.lose(ErrLeaseLost)
			l.lease = nil
		}
		x.mu.Unlock()
	}
	return err
}

// releaseAnswered takes in that the session has nothing of the semaphore any more. The lock is held.
func (x *life) releaseAnswered(l *lane) {
	if l.waiting != nil {
		x.settle(l.waiting, aborted(protocol.AbortReleased))
	}
	if l.lease != nil {
		l.lease.lose(ErrReleased)
		l.lease = nil
	}
}

// withdraw takes an acquire out of the queue that was given up while it waited, or gives back what it was
// granted meanwhile.
func (x *life) withdraw(m *mutation) {
	x.client.spawn(func() {
		l, err := x.enter(x.ctx, m.lane.name)
		if err != nil {
			return // the end of the session does it
		}
		defer x.leave(l)
		x.mu.Lock()
		order := m.order
		waits := l.waiting == m
		owns := m.phase == owned && l.lease != nil && l.lease == m.lease && l.lease.number == m.numbers.Number
		x.mu.Unlock()
		if waits || owns {
			x.sendRelease(l, order)
			x.mu.Lock()
			x.settle(m, context.Canceled)
			x.mu.Unlock()
		}
	})
}
