package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/protocol"
)

// host is a server process as the client knows it, and the links to it.
type host struct {
	cluster *cluster

	// id is 0 until a host was met at one of the addresses. It is written under the cluster's lock and
	// this host's, and read under either.
	id uint64
	// ailing: the latest try to reach the host has failed.
	ailing atomic.Bool

	mu        sync.Mutex // guards what follows
	addresses []string   // the one that worked last is first
	lines     []line
	gone      *host // the host that this one turned out to be
}

// line is a place for one link. Only one goroutine at a time makes a link for it.
type line struct {
	link     *link
	dialing  *dialing
	failures int
	retryAt  instant // nobody dials before
	err      error   // of the latest failure
}

// errPatience: there is no connection yet, and one is still being made.
var errPatience = fmt.Errorf("no connection within %v", dialPatience)

// dialing is a link in the making.
type dialing struct {
	done chan struct{}
	link *link
	err  error
}

func newHost(c *cluster, id uint64, addresses ...string) *host {
	return &host{cluster: c, id: id, addresses: addresses, lines: make([]line, c.client.config.connections)}
}

// link returns a link to the host, and makes one where there is none. The error is a *transportError, or
// what the host refused the connection with, or the context's cause.
func (h *host) link(ctx context.Context, stripe int) (*link, error) {
	h.mu.Lock()
	if h.gone != nil {
		other := h.gone
		h.mu.Unlock()
		return other.link(ctx, stripe)
	}
	ln := &h.lines[stripe%len(h.lines)]
	if ln.link != nil {
		defer h.mu.Unlock()
		return ln.link, nil
	}
	d := ln.dialing
	if d == nil {
		if h.cluster.client.clock.now() < ln.retryAt {
			defer h.mu.Unlock()
			return nil, ln.err
		}
		d = &dialing{done: make(chan struct{})}
		ln.dialing = d
		addresses := slices.Clone(h.addresses)
		if !h.cluster.client.spawn(func() { h.dial(d, stripe, addresses) }) {
			ln.dialing = nil
			h.mu.Unlock()
			return nil, ErrClosed
		}
	}
	h.mu.Unlock()
	return h.await(ctx, d)
}

func (h *host) await(ctx context.Context, d *dialing) (*link, error) {
	patience := time.NewTimer(dialPatience)
	defer patience.Stop()
	select {
	case <-d.done:
		return d.link, d.err
	case <-patience.C:
		return nil, &transportError{address: h.address(), err: errPatience}
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// dial makes a link, by one address after the other.
func (h *host) dial(d *dialing, stripe int, addresses []string) {
	c := h.cluster.client
	defer close(d.done)
	d.err = &transportError{address: h.address(), err: errors.New("it cannot be reached")}
	for i, address := range addresses {
		l, w, err := c.dial(c.ctx, address)
		if err != nil {
			if i == 0 {
				d.err = &transportError{address: address, err: err}
			}
			if s := statusOf(err); s != protocol.StatusSuccess && s.Retry() == protocol.RetryNever {
				d.err = fmt.Errorf("host %s: %w", address, err)
			}
			continue
		}
		to, err := h.cluster.meet(h, address, w)
		if err != nil {
			_ = l.conn.Close() // it leads astray
			d.err = &transportError{address: address, err: err}
			continue
		}
		l.host = to
		d.link, d.err = to.take(l, w, stripe), nil
		break
	}
	h.mu.Lock()
	ln := &h.lines[stripe%len(h.lines)]
	ln.dialing = nil
	h.ailing.Store(d.err != nil)
	id := h.id
	if d.err != nil {
		ln.err = d.err
		ln.retryAt = c.clock.now().add(pause(ln.failures, 0))
		ln.failures++
	}
	h.mu.Unlock()
	if d.err != nil {
		c.connectionChanged(ConnectionChange{ConnectionFailed, id, h.address(), d.err})
	}
}

// take puts a link to use and returns the one that is to be used: another one was there before where one
// host is met at two addresses.
func (h *host) take(l *link, w *welcome, stripe int) *link {
	h.mu.Lock()
	ln := &h.lines[stripe%len(h.lines)]
	if ln.link != nil {
		defer h.mu.Unlock()
		_ = l.conn.Close() // there is a better one
		return ln.link
	}
	ln.link, ln.err, ln.failures, ln.retryAt = l, nil, 0, 0
	h.ailing.Store(false)
	running := l.run(w) // before anybody can get hold of it
	h.mu.Unlock()
	h.cluster.client.connectionChanged(ConnectionChange{ConnectionUp, w.hostID, l.address, nil})
	if !running {
		l.fail(ErrClosed)
	}
	return l
}

// live returns a link that is up, nil where there is none.
func (h *host) live() *link {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.lines {
		if l := h.lines[i].link; l != nil {
			return l
		}
	}
	return nil
}

// linkDown takes a link out of use.
func (h *host) linkDown(l *link) {
	h.mu.Lock()
	known := false
	for i := range h.lines {
		if h.lines[i].link == l {
			h.lines[i].link, known = nil, true
		}
	}
	id := h.id
	h.mu.Unlock()
	if known {
		h.cluster.client.connectionChanged(ConnectionChange{ConnectionDown, id, l.address, l.err})
	}
}

// connectionChanged logs what has become of a connection, and has the hooks see it. No lock is held.
func (c *Client) connectionChanged(change ConnectionChange) {
	log := c.config.log.With("host", change.HostID, "address", change.Address)
	switch change.State {
	case ConnectionUp:
		log.Debug("connected")
	case ConnectionDown:
		log.Debug("connection lost", "error", change.Err)
	case ConnectionFailed:
		log.Debug("no connection to a host", "error", change.Err)
	}
	if c.config.hooks != nil {
		c.config.hooks.ConnectionChanged(change)
	}
}

// avoid keeps the client from coming back to a host that is going away before it may.
func (h *host) avoid(l *link, why error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.lines {
		if ln := &h.lines[i]; ln.link == l {
			ln.err = &transportError{address: l.address, err: why}
			ln.retryAt = h.cluster.client.clock.now().add(pause(1, waitOf(why)))
		}
	}
}

func (h *host) address() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.addresses) == 0 {
		return fmt.Sprintf("%d, whose address is not known,", h.id)
	}
	return h.addresses[0]
}

// learn puts an address in front of the others.
func (h *host) learn(address string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.addresses) > 0 && h.addresses[0] == address {
		return
	}
	h.addresses = append([]string{address}, slices.DeleteFunc(h.addresses, func(a string) bool { return a == address })...)
}

// unlearn forgets an address at which another host answered.
func (h *host) unlearn(address string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.addresses = slices.DeleteFunc(h.addresses, func(a string) bool { return a == address })
}

// identify is told which host this is. The cluster's lock is held.
func (h *host) identify(id uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.id = id
}
