package lock

import (
	"context"
	"sync"

	"github.com/signalbox/signalbox/client"
)

// place is a session's only position in a semaphore. To the cluster, a second acquire by the session would be a change
// to the first, so both callers would be admitted.
type place struct {
	placeKey
	users int // guarded by the registry

	// busy has a token while a caller acquires the place, and for as long as a caller has the place alone.
	busy chan struct{}

	mu    sync.Mutex // guards group, and each group's size
	group *group     // shares the place; nil if no group does
}

// group is a set of goroutines that share one lease.
type group struct {
	lease *client.Lease
	size  int
	gone  chan struct{} // closed once the lease is given back
}

func (p *place) obtain(ctx context.Context, a *ask, try bool) (*Lock, error) {
	if try {
		select {
		case p.busy <- struct{}{}:
		default:
			return nil, nil
		}
	} else {
		select {
		case p.busy <- struct{}{}:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-p.session.Context().Done():
			return nil, context.Cause(p.session.Context())
		}
	}
	h, err := p.acquire(ctx, a, try)
	if h == nil || h.group != nil {
		<-p.busy
	}
	return h, err
}

// acquire gets the place, by joining the group that shares the place or with a new lease. The caller ensures that no
// other acquire runs for the place.
func (p *place) acquire(ctx context.Context, a *ask, try bool) (*Lock, error) {
	for {
		h, g := p.join(a)
		if h != nil || g != nil && try {
			return h, nil
		}
		if g == nil {
			break
		}
		// Even if the group's lease is lost, its holders may still be working in this process, so wait for the group.
		select {
		case <-g.gone:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-p.session.Context().Done():
			return nil, context.Cause(p.session.Context())
		}
	}
	lease, err := a.acquireLease(ctx, p.session, p.name, try)
	if err != nil || lease == nil {
		return nil, err
	}
	h := &Lock{place: p, lease: lease}
	if a.shared {
		h.group = &group{lease: lease, size: 1, gone: make(chan struct{})}
		p.mu.Lock()
		p.group = h.group
		p.mu.Unlock()
	}
	return h, nil
}

// join joins the group that shares the place, if possible. Otherwise the caller must wait until the group is gone: its
// holders are working, or its lease is being released.
func (p *place) join(a *ask) (h *Lock, g *group) {
	p.mu.Lock()
	defer p.mu.Unlock()
	g = p.group
	if g != nil && g.size > 0 && a.shared && g.lease.Err() == nil {
		g.size++
		h = &Lock{place: p, lease: g.lease, group: g}
	}
	return h, g
}

// release gives the place back, and releases the lease unless other goroutines still share it.
func (p *place) release(ctx context.Context, h *Lock) error {
	defer places.drop(p)
	if h.group == nil {
		defer func() { <-p.busy }()
		return h.lease.Release(ctx)
	}
	p.mu.Lock()
	h.group.size--
	last := h.group.size == 0
	p.mu.Unlock()
	if !last {
		return nil
	}
	err := h.lease.Release(ctx)
	p.mu.Lock()
	p.group = nil
	p.mu.Unlock()
	close(h.group.gone)
	return err
}
