package client

import (
	"context"

	"github.com/signalbox/signalbox/protocol"
)

// notice is a one-shot watch, from its description to the one thing that it is told.
type notice struct {
	life    *life
	message *protocol.SemaphoreDescribe
	into    *SemaphoreDetails
	changed func(data, owners bool)
	done    chan error // of the description; holds one

	// Guarded by the lock of the life.
	link  *link
	id    uint64
	armed bool // it was left at the host
	gone  bool // nobody waits for the description
	fired bool
}

// describeWatching reads the first page of a description and leaves a one-shot watch, over a link that the
// session may use.
func (c *Client) describeWatching(ctx context.Context, x *life, m *protocol.SemaphoreDescribe, config *describeConfig, into *SemaphoreDetails) error {
	if x == nil {
		return badRequest("a one-shot watch needs a session; watch the semaphore instead")
	}
	if err := c.usable(); err != nil {
		return err
	}
	m.WatchData, m.WatchOwners, m.SessionID = config.watchData, config.watchOwners, x.id
	var r retries
	var tried *host
	for {
		l, h, err := x.linkFor(ctx, x.slot(string(m.Name)), tried)
		if err == nil {
			n := &notice{life: x, message: m, into: into, changed: config.changed, link: l, done: make(chan error, 1)}
			err = n.describe(ctx, l)
		}
		if err == nil {
			return nil
		}
		tried = h
		if cause := context.Cause(x.ctx); cause != nil {
			return cause
		}
		if statusOf(err) == protocol.StatusBadSession && !isTransport(err) && l != nil && x.stray(l, &r) {
			continue
		}
		if err := c.redirect(ctx, err, l, h); err != nil {
			return err
		}
		if err := r.again(ctx, x.ctx, err); err != nil {
			return err
		}
	}
}

func (n *notice) describe(ctx context.Context, l *link) error {
	n.life.mu.Lock()
	id, err := l.send(n, n.message)
	n.id = id
	n.life.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case err := <-n.done:
		return err
	case <-ctx.Done():
	}
	l.forget(id)
	n.life.mu.Lock()
	defer n.life.mu.Unlock()
	n.gone = true
	delete(n.life.notices, n)
	return context.Cause(ctx)
}

func (n *notice) answered(from *link, a *protocol.Answer) {
	x := n.life
	x.mu.Lock()
	defer x.mu.Unlock()
	if a.Kind == protocol.KindChanged {
		x.fire(n, a.Changed.Data, a.Changed.Owners)
		return
	}
	if n.gone {
		return
	}
	if err := a.Result.Err(); err != nil {
		n.done <- err
		return
	}
	n.into.add(n.message, &a.SemaphoreDescribe)
	n.armed = true
	if x.notices == nil {
		x.notices = make(map[*notice]struct{})
	}
	x.notices[n] = struct{}{}
	n.done <- nil
	if x.cause != nil {
		x.fire(n, false, false)
	}
}

func (n *notice) lost(_ *link, err error) {
	x := n.life
	x.mu.Lock()
	defer x.mu.Unlock()
	if n.armed {
		x.fire(n, false, false)
	} else if !n.gone {
		n.done <- err
	}
}

// fire tells a one-shot watch, once. The lock is held.
func (x *life) fire(n *notice, data, owners bool) {
	delete(x.notices, n)
	if n.fired || n.gone || !n.armed {
		return
	}
	n.fired = true
	n.link.forget(n.id)
	go n.changed(data, owners)
}
