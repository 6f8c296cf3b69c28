package client

import (
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/signalbox/signalbox/protocol"
)

var errGone = errors.New("the connection is lost")

// startLife starts a session at some host that leads a shard.
func (c *Client) startLife(ctx context.Context, s *Session) (*life, error) {
	var r retries
	var tried *host
	for {
		l, h, err := c.pick(ctx, dataLeader, tried)
		var x *life
		if err == nil {
			x, err = s.startOver(ctx, l)
		}
		if err == nil {
			return x, nil
		}
		tried = h
		if err := c.redirect(ctx, err, l, h); err != nil {
			return nil, err
		}
		if err := r.again(ctx, c.ctx, err); err != nil {
			return nil, err
		}
	}
}

// startOver starts a session over a link. Where the answer does not come, another one is started; the one
// that may have come into being ends by its own timeout.
func (s *Session) startOver(ctx context.Context, l *link) (*life, error) {
	key := make([]byte, protocol.MaxKeyBytes)
	_, _ = rand.Read(key) // never fails
	x := &life{
		client: s.client, session: s, key: key, timeout: s.config.timeout, sequence: 1,
		stripe: int(s.client.stripe.Add(1)), born: s.client.clock.now(), lanes: make(map[string]*lane),
	}
	x.ctx, x.end = context.WithCancelCause(context.Background())
	b := &birth{life: x, done: make(chan error, 1), sent: s.client.clock.now()}
	_, err := l.send(b, &protocol.SessionStart{
		Path: protocol.View(s.path), TimeoutMillis: uint64(s.config.timeout / time.Millisecond),
		Description: protocol.View(s.config.description), Key: key, AttachSequence: x.sequence,
	})
	if err != nil {
		return nil, err
	}
	select {
	case err := <-b.done:
		if err != nil {
			return nil, err
		}
		return x, nil
	case <-ctx.Done():
		b.orphan(l)
		return nil, context.Cause(ctx)
	}
}

// birth waits for the answer to a SESSION_START.
type birth struct {
	life *life
	sent instant
	done chan error // holds one

	// Guarded by the lock of the life.
	unwanted bool
}

func (b *birth) answered(from *link, a *protocol.Answer) {
	if err := a.Result.Err(); err != nil {
		b.done <- err
		return
	}
	x, m := b.life, &a.SessionStart
	x.mu.Lock()
	x.id, x.nodeID = m.SessionID, m.Lease.NodeID
	x.timeout, x.sent = millis(m.Lease.TimeoutMillis), b.sent
	unwanted := b.unwanted
	x.mu.Unlock()
	if unwanted {
		b.undo(from)
		return
	}
	x.attachedOver(from, x.sequence, b.sent, &m.Lease)
	b.done <- nil
}

func (b *birth) lost(_ *link, err error) { b.done <- err }

// orphan has a session stopped that nobody waits for any more, when it turns out to have been started.
func (b *birth) orphan(l *link) {
	x := b.life
	x.mu.Lock()
	b.unwanted = true
	known := x.id != 0
	x.mu.Unlock()
	if known {
		b.undo(l)
	}
}

// undo stops the session, however long that takes: at its host it lives for as long as the connection does.
func (b *birth) undo(l *link) {
	x := b.life
	x.over(EndClosed, "")
	l.drop(x)
	x.mu.Lock()
	x.last = l
	x.mu.Unlock()
	x.stopLater()
}

// attach attaches the life over a link to the leader of its home shard.
func (x *life) attach(ctx context.Context, tried *host) (l *link, h *host, err error) {
	c := x.client
	h = c.cluster.routes.Load().of(protocol.SessionSlot(x.id)).leaderOf()
	if h == nil {
		h = c.cluster.some(tried)
	}
	if l, err = h.link(ctx, x.stripe); err != nil {
		return nil, h, err
	}
	x.mu.Lock()
	x.sequence++
	sequence := x.sequence
	x.mu.Unlock()
	sentAt := c.clock.now()
	m := &protocol.SessionAttach{SessionID: x.id, Key: x.key, AttachSequence: sequence}
	err = l.roundTrip(ctx, m, func(from *link, a *protocol.Answer) {
		x.attachedOver(from, sequence, sentAt, &a.SessionAttach.Lease)
	})
	return l, h, err
}

// attachFailure tells whether a life that could not be attached is over, and why.
func attachFailure(err error) (reason EndReason, final bool) {
	switch {
	case isTransport(err):
		return 0, false
	case statusOf(err) == protocol.StatusSessionExpired:
		return EndExpired, true
	case statusOf(err) == protocol.StatusBadSession:
		return EndTaken, true
	case statusOf(err) == protocol.StatusNotFound:
		return EndNodeDropped, true
	}
	return 0, false
}

// patience bounds one try to attach or to bind, so that a host that does not answer leaves time for others.
func (x *life) patience() time.Duration { return max(x.timeout/8, minAttachPatience) }

var errSlow = errors.New("the host is slow to answer")
