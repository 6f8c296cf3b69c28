package http

import (
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/raw"
	"github.com/signalbox/signalbox/gateway/operation"
	"github.com/signalbox/signalbox/internal/fairshare"
	"github.com/signalbox/signalbox/protocol"
)

const (
	// maxCallers is the maximum number of tokens in use at a time. Every token has its own client, whose requests have
	// the token's rights.
	maxCallers = 256
	// callerIdle is how long an unused client stays.
	callerIdle = 5 * time.Minute
	// maxOpening is how many clients are being made at once.
	maxOpening = 16
	// maxRefused is the number of tokens whose last rejection is kept, for requests that arrived before the rejection.
	maxRefused = 256
)

// caller is a token and the client that presents the token to hosts.
type caller struct {
	*client.Client
	key   [sha256.Size]byte
	name  string // the key, for counting by token
	views views
	raw   *raw.Client // attaches the caller's own sessions

	// The next fields are guarded by callers.mu.
	uses  int
	since time.Time // the last use ended
	// revoked: the token is no longer accepted, and the client is closed with the last use.
	revoked bool
}

// callers has the callers for recently used tokens.
type callers struct {
	open func(ctx context.Context, token string) (*client.Client, error)

	mu      sync.Mutex
	known   map[[sha256.Size]byte]*caller
	opening map[[sha256.Size]byte]*opening // tokens whose clients are being created
	refused map[[sha256.Size]byte]*opening // last rejections for some tokens
	closed  bool
	turns   *fairshare.Turns // for clients being created
}

func newCallers(open func(ctx context.Context, token string) (*client.Client, error)) callers {
	return callers{
		open: open, opening: make(map[[sha256.Size]byte]*opening), turns: fairshare.NewTurns(maxOpening, 0),
	}
}

// opening is a token whose client is being created.
type opening struct {
	done chan struct{} // closed at the end
	// began and err, the reason for not having a client, are set before done is closed.
	began time.Time
	err   error
}

// acquire returns a token's caller, for use until release. For a token not recently used, hosts are asked once for all
// concurrent requests whether they accept the token. Addresses take turns.
func (c *callers) acquire(ctx context.Context, token string, from netip.Addr) (*caller, error) {
	key, arrived := sha256.Sum256([]byte(token)), time.Now()
	for {
		c.mu.Lock()
		if found := c.known[key]; found != nil {
			found.uses++
			c.mu.Unlock()
			return found, nil
		}
		// A rejection from before this request may have been too early for a token created just now.
		if last := c.refused[key]; last != nil && last.began.After(arrived) {
			c.mu.Unlock()
			return nil, last.err
		}
		other := c.opening[key]
		if other == nil {
			break
		}
		c.mu.Unlock()
		select {
		case <-other.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	own := &opening{done: make(chan struct{})}
	c.opening[key] = own
	c.mu.Unlock()
	opened, err := c.openInTurn(ctx, token, from, own)
	c.mu.Lock()
	defer c.mu.Unlock()
	defer close(own.done)
	delete(c.opening, key)
	if err == nil {
		return c.add(key, opened)
	}
	if own.err = unknownToken(err, token); problemCode(own.err) == http.StatusUnauthorized {
		if len(c.refused) >= maxRefused || c.refused == nil {
			c.refused = make(map[[sha256.Size]byte]*opening)
		}
		c.refused[key] = own
	}
	return nil, own.err
}

// openInTurn creates a client once fewer than maxOpening are being created and it is the address's turn.
func (c *callers) openInTurn(
	ctx context.Context, token string, from netip.Addr, o *opening,
) (*client.Client, error) {
	turn, err := c.turns.Take(ctx, fairshare.Party{Address: fairshare.Network(from)})
	if err != nil {
		return nil, err
	}
	defer turn.End()
	o.began = time.Now()
	return c.open(ctx, token)
}

// unknownToken turns a token's rejection into a problem that asks for a different token.
func unknownToken(err error, token string) error {
	if !errors.Is(err, client.ErrUnauthorized) {
		return err
	}
	do := "send the header Authorization: Bearer TOKEN"
	if token != "" {
		do = "use another token: the token is unknown, revoked or expired"
	}
	detail := operation.Plain(err)
	if answer, ok := errors.AsType[*protocol.Error](err); ok && answer.Message != "" {
		detail = answer.Message // without the reporting host
	}
	return refuseCode(http.StatusUnauthorized, protocol.StatusUnauthorized, detail, do)
}

// refusedNow removes a caller whose token was accepted earlier but is rejected now, and returns a response that asks
// for a different token. Other errors stay unchanged.
func (c *callers) refusedNow(of *caller, token string, err error) error {
	if of == nil || !errors.Is(err, client.ErrUnauthenticated) {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known[of.key] == of {
		delete(c.known, of.key)
		of.revoked = true
	}
	return unknownToken(err, token)
}

// add adds an opened client. mu is held.
func (c *callers) add(key [sha256.Size]byte, opened *client.Client) (*caller, error) {
	c.closeIdle(time.Now())
	if c.closed || len(c.known) >= maxCallers {
		go func() { _ = opened.Close() }()
		return nil, refuse(protocol.StatusOverloaded, "too many tokens are in use")
	}
	if c.known == nil {
		c.known = make(map[[sha256.Size]byte]*caller)
	}
	added := &caller{Client: opened, key: key, name: string(key[:]), uses: 1, raw: raw.New(opened, raw.Options{})}
	added.views.caller = added
	c.known[key] = added
	return added, nil
}

// closeIdle closes the clients not used for a while, and the client unused for longest if there are too many clients.
// mu is held.
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

// drop closes an unused client. mu is held.
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
	if one.revoked && one.uses == 0 {
		go func() { _ = one.Close() }()
	}
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
