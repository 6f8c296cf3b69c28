package client

import (
	"context"
	"errors"

	"github.com/signalbox/signalbox/protocol"
)

// binding is the part that a life has in a link that it is not attached over. Many that need it at the same
// time share one SESSION_BIND.
type binding struct {
	done chan struct{}
	err  error
}

// linkFor returns a link to the leader of a slot's shard, over which the life may act.
func (x *life) linkFor(ctx context.Context, slot uint16, tried *host) (*link, *host, error) {
	c := x.client
	h := c.cluster.routes.Load().of(slot).leaderOf()
	if h == nil {
		h = c.cluster.some(tried)
	}
	l, err := h.link(ctx, x.stripe)
	if err != nil {
		return nil, h, err
	}
	return l, h, x.bind(ctx, l)
}

// bind makes sure that the life may act over a link.
func (x *life) bind(ctx context.Context, l *link) error {
	x.mu.Lock()
	if x.cause != nil {
		defer x.mu.Unlock()
		return x.cause
	}
	if l == x.home {
		x.mu.Unlock()
		return nil
	}
	b := x.bound[l]
	if b == nil {
		b = &binding{done: make(chan struct{})}
		if !l.carry(x) {
			x.mu.Unlock()
			return &transportError{address: l.address, err: errGone}
		}
		if x.bound == nil {
			x.bound = make(map[*link]*binding)
		}
		x.bound[l] = b
		if !x.client.spawn(func() { x.bindNow(l, b) }) {
			x.mu.Unlock()
			return ErrClosed
		}
	}
	x.mu.Unlock()
	select {
	case <-b.done:
		return b.err
	default:
	}
	select {
	case <-b.done:
		return b.err
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-x.ctx.Done():
		return context.Cause(x.ctx)
	}
}

// bindNow asks the host. A binding that fails is forgotten, so that the next who needs it tries again.
func (x *life) bindNow(l *link, b *binding) {
	ctx, cancel := context.WithTimeoutCause(x.ctx, x.patience(), errSlow)
	defer cancel()
	b.err = l.roundTrip(ctx, &protocol.SessionBind{SessionID: x.id, Key: x.key}, nil)
	if errors.Is(b.err, errSlow) {
		b.err = &transportError{address: l.address, err: errSlow}
	}
	x.mu.Lock()
	if b.err != nil && x.bound[l] == b {
		delete(x.bound, l)
		if l != x.home {
			l.drop(x)
		}
	}
	x.mu.Unlock()
	close(b.done)
}
