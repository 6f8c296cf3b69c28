package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Client speaks to one cluster. It is safe for use by many goroutines; a program needs one, which its
// sessions and watches share.
type Client struct {
	config  config
	clock   clock
	cluster *cluster
	ctx     context.Context // ends when the client is closed
	stop    context.CancelCauseFunc
	stripe  atomic.Uint32
	home    uint32 // which host to read from
	pools   pools
	stops   stops
	closing atomic.Bool // no new sessions and requests; set under mu

	otherLimits otherLimits

	mu       sync.Mutex // guards what follows
	closed   bool       // no new goroutines
	work     sync.WaitGroup
	sessions map[*Session]struct{}
	feeds    map[feedKey]*feed
	nodes    map[string]*nodeID
}

// Open connects to a cluster. The addresses are those of some of its hosts, in any order, separated by
// commas: host:port, where the host may be a DNS name and the port is DefaultPort if it is missing. One host
// that answers is enough, the others are found through it.
//
// Where none answers, the error says what was tried.
func Open(ctx context.Context, addresses string, options ...Option) (*Client, error) {
	config, err := newConfig(options)
	if err != nil {
		return nil, err
	}
	list := splitAddresses(addresses)
	if len(list) == 0 {
		return nil, errors.New("client: open: no address of a host was given")
	}
	c := &Client{
		config: config, clock: newClock(), home: rand.Uint32(),
		sessions: make(map[*Session]struct{}),
		feeds:    make(map[feedKey]*feed),
		nodes:    make(map[string]*nodeID),
	}
	c.pools.init()
	c.stops.init(c)
	c.ctx, c.stop = context.WithCancelCause(context.Background())
	c.cluster = newCluster(c, list)
	if err := c.open(ctx); err != nil {
		c.end()
		return nil, fmt.Errorf("client: open: %w", err)
	}
	return c, nil
}

func splitAddresses(addresses string) []string {
	var list []string
	for _, a := range strings.Split(addresses, ",") {
		if a = strings.TrimSpace(a); a != "" {
			list = append(list, a)
		}
	}
	return list
}

// open tries the hosts in random order, the next one when the one before has failed or is slow, and asks the
// first that answers for the routing.
func (c *Client) open(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.config.dialTimeout,
		fmt.Errorf("no host has answered within %v", c.config.dialTimeout))
	defer cancel()
	hosts := c.cluster.all()
	rand.Shuffle(len(hosts), func(i, j int) { hosts[i], hosts[j] = hosts[j], hosts[i] })
	results := make(chan error, len(hosts))
	next := time.NewTimer(0)
	defer next.Stop()
	var errs []error
	for started := 0; len(errs) < len(hosts); {
		select {
		case <-next.C:
			if started < len(hosts) {
				h := hosts[started]
				c.spawn(func() { results <- c.enter(ctx, h) })
				started++
				next.Reset(openStagger)
			}
		case err := <-results:
			if err == nil {
				return nil
			}
			errs = append(errs, err)
			next.Reset(0)
		}
	}
	return errors.Join(errs...)
}

// enter asks one host for the routing. It ends with the context at the latest.
func (c *Client) enter(ctx context.Context, h *host) error {
	for {
		l, err := h.link(ctx, 0)
		switch {
		case err == nil:
			if err = c.cluster.askOver(ctx, l); err == nil {
				return nil
			}
			return &transportError{address: l.address, err: err}
		case context.Cause(ctx) != nil:
			return &transportError{address: h.address(), err: context.Cause(ctx)}
		case !errors.Is(err, errPatience):
			return err
		}
	}
}

// Close ends the client: its sessions are closed, so that what they own is free at once, as far as hosts can
// be reached within a second; then the connections. It waits for all that the client does to be over, but
// not for callbacks of its user.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closing.Store(true)
	sessions := make([]*Session, 0, len(c.sessions))
	for s := range c.sessions {
		sessions = append(sessions, s)
	}
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(c.ctx, farewellTime)
	defer cancel()
	errs := make(chan error, len(sessions))
	for _, s := range sessions {
		go func() { errs <- s.Close(ctx) }()
	}
	var first error
	left := 0
	for range sessions {
		if err := <-errs; err != nil {
			left++
			first = cmp.Or(first, err)
		}
	}
	c.end()
	if left > 0 {
		return fmt.Errorf("client: %d sessions could not be ended at their hosts, and end by their timeouts: %w", left, first)
	}
	return nil
}

// end stops everything.
func (c *Client) end() {
	c.mu.Lock()
	c.closing.Store(true)
	c.mu.Unlock()
	c.stop(ErrClosed) // links end with it
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.work.Wait()
}

// spawn runs a function on a goroutine that Close waits for. It returns false, and does not run it, where
// the client is closed.
func (c *Client) spawn(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.work.Go(f)
	return true
}

// usable tells why nothing new may begin.
func (c *Client) usable() error {
	if c.closing.Load() {
		return ErrClosed
	}
	return nil
}

// pools keep what is used for each request. They are the client's own, because the channels in them may be
// those of a synctest bubble, which nobody outside may touch.
type pools struct {
	calls     sync.Pool
	mutations sync.Pool
}

func (p *pools) init() {
	p.calls.New = func() any { return &call{done: make(chan struct{}, 1)} }
	p.mutations.New = func() any { return &mutation{wake: make(chan struct{}, 1)} }
}
