package client

import (
	"context"

	"github.com/signalbox/signalbox/protocol"
)

// carry sends the mutation until it is answered for good. It returns nil for a success, the host's refusal,
// or why it was given up: the context's cause, or that of the end of the session. After those two the
// outcome may be open: whoever has the turn of the lane must see to that.
func (m *mutation) carry(ctx context.Context) error {
	x := m.life
	var r retries
	var tried *host
	for {
		l, h, err := m.try(ctx, tried)
		if err == nil {
			return nil
		}
		tried = h
		if cause := context.Cause(x.ctx); cause != nil {
			return cause
		}
		if statusOf(err) == protocol.StatusBadSession && !isTransport(err) {
			if l == nil || !x.stray(l, &r) {
				return err
			}
			continue
		}
		if statusOf(err) == protocol.StatusSessionExpired {
			x.over(EndUnknown, "")
			return context.Cause(x.ctx)
		}
		if err := x.client.redirect(ctx, err, l, h); err != nil {
			return err
		}
		if err := r.again(ctx, x.ctx, err); err != nil {
			return err
		}
	}
}

// try sends the mutation once and waits for the answer. If it is under way already it only waits.
func (m *mutation) try(ctx context.Context, tried *host) (*link, *host, error) {
	x := m.life
	if m.at() == sent {
		return m.link, m.link.host, m.await(ctx)
	}
	l, h, err := x.linkFor(ctx, x.slot(m.lane.name), tried)
	if err != nil {
		return nil, h, err
	}
	part, err := m.send(ctx, l)
	if err != nil {
		return l, h, err
	}
	l.do(part, m.wake)
	return l, h, m.await(ctx)
}

// at returns where the mutation is.
func (m *mutation) at() phase {
	m.life.mu.Lock()
	defer m.life.mu.Unlock()
	return m.phase
}

// send gives the mutation its number, if it has none, and sends it; the caller does its part.
// Numbers are given and sent under one lock, so that they arrive in order.
func (m *mutation) send(ctx context.Context, l *link) (p part, err error) {
	x := m.life
	x.mu.Lock()
	for m.numbers.Number == 0 && x.numbers.full() {
		room := x.roomLater()
		x.mu.Unlock()
		select {
		case <-room:
		case <-ctx.Done():
			return part{}, context.Cause(ctx)
		case <-x.ctx.Done():
			return part{}, context.Cause(x.ctx)
		}
		x.mu.Lock()
	}
	defer x.mu.Unlock()
	if x.cause != nil {
		return part{}, x.cause
	}
	if m.numbers.Number == 0 {
		m.numbers.Number = x.numbers.give()
	}
	m.numbers.SessionID = x.id
	m.numbers.Acknowledged = x.numbers.acknowledged(m.numbers.Number)
	m.phase, m.link = sent, l
	m.tries++
	if m.id, p, err = l.sendAwaited(m, m.message); err != nil {
		m.phase = idle
	}
	return p, err
}

// await waits until the mutation that was sent has an answer, or its connection is lost.
func (m *mutation) await(ctx context.Context) error {
	x := m.life
	for {
		select {
		case <-m.wake:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-x.ctx.Done():
			return context.Cause(x.ctx)
		}
		x.mu.Lock()
		phase, err, result := m.phase, m.err, m.result
		x.mu.Unlock()
		switch phase {
		case sent: // what woke it belongs to an earlier try
		case broken:
			return err
		default:
			return result.Err()
		}
	}
}
