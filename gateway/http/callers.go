package http

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/client/raw"
	"github.com/signalbox/signalbox/protocol"
)

const (
	// maxCallers is how many tokens are in use at once. Each has a client of its own, by whose rights all is done.
	maxCallers = 256
	// callerIdle is how long a client stays that is not used.
	callerIdle = 5 * time.Minute
	// maxOpening is how many clients are being made at once.
	maxOpening = 16
)

// caller is a token with the client that shows it to hosts.
type caller struct {
	*client.Client
	key   [sha256.Size]byte
	views views
	raw   *raw.Client // by which the caller's own sessions are attached
	turns turns

	// What follows is guarded by callers.mu.
	uses  int
	since time.Time // the last use ended
}

func (c *caller) admin() *admin.Admin { return admin.Of(c.Client) }

// callers are those of the tokens that were used lately.
type callers struct {
	open func(ctx context.Context, token string) (*client.Client, error)

	mu      sync.Mutex
	known   map[[sha256.Size]byte]*caller
	opening map[[sha256.Size]byte]chan struct{} // tokens whose clients are being made; each ends with that
	closed  bool
}

// acquire returns the caller of a token, for use until release. Hosts are asked whether they accept a token that was
// not used lately, once for all requests that show it at that time.
func (c *callers) acquire(ctx context.Context, token string) (*caller, error) {
	key := sha256.Sum256([]byte(token))
	for {
		c.mu.Lock()
		if found := c.known[key]; found != nil {
			found.uses++
			c.mu.Unlock()
			return found, nil
		}
		being := c.opening[key]
		if being == nil {
			break
		}
		c.mu.Unlock()
		select {
		case <-being:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if c.closed || len(c.opening) >= maxOpening {
		c.mu.Unlock()
		return nil, refuse(protocol.StatusOverloaded, "too many tokens are being shown at once")
	}
	if c.opening == nil {
		c.opening = make(map[[sha256.Size]byte]chan struct{})
	}
	c.opening[key] = make(chan struct{})
	c.mu.Unlock()
	opened, err := c.open(ctx, token)
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.opening[key])
	delete(c.opening, key)
	if err != nil {
		return nil, unknownToken(err, token)
	}
	return c.add(key, opened)
}

// unknownToken makes the refusal of a token one that asks for another.
func unknownToken(err error, token string) error {
	if !errors.Is(err, client.ErrUnauthorized) {
		return err
	}
	do := "send the header Authorization: Bearer TOKEN"
	if token != "" {
		do = "use another token: this one is not known, was revoked, or has expired"
	}
	return refuseCode(http.StatusUnauthorized, protocol.StatusUnauthorized, err.Error(), do)
}

// add adds a client that was opened. mu is held.
func (c *callers) add(key [sha256.Size]byte, opened *client.Client) (*caller, error) {
	c.closeIdle(time.Now())
	if c.closed || len(c.known) >= maxCallers {
		go func() { _ = opened.Close() }()
		return nil, refuse(protocol.StatusOverloaded, "too many tokens are in use")
	}
	if c.known == nil {
		c.known = make(map[[sha256.Size]byte]*caller)
	}
	added := &caller{Client: opened, key: key, uses: 1, raw: raw.New(opened, raw.Options{})}
	added.views.caller = added
	c.known[key] = added
	return added, nil
}

// closeIdle closes the clients that were not used for a while, and the one that was not for longest where there are
// too many. mu is held.
func (c *callers) closeIdle(now time.Time) {
	var oldest *caller
	for _, one := range c.known {
		switch {
		case one.uses > 0:
		case now.Sub(one.since) >= callerIdle:
			c.drop(one)
		case oldest == nil || one.since.Before(oldest.since):
			oldest = one
		}
	}
	if oldest != nil && len(c.known) >= maxCallers {
		c.drop(oldest)
	}
}

// drop closes a client that is not used. mu is held.
func (c *callers) drop(one *caller) {
	delete(c.known, one.key)
	go func() { _ = one.Close() }()
}

// release ends a use.
func (c *callers) release(one *caller) {
	c.mu.Lock()
	defer c.mu.Unlock()
	one.uses--
	one.since = time.Now()
	c.closeIdle(one.since)
}

func (c *callers) close() {
	c.mu.Lock()
	all := c.known
	c.known, c.closed = nil, true
	c.mu.Unlock()
	var closing sync.WaitGroup
	for _, one := range all {
		closing.Go(func() { _ = one.Close() })
	}
	closing.Wait()
}
