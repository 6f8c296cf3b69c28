package raw

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/client/internal/conn"
	"github.com/signalbox/signalbox/client/internal/core"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/lifecycle"
	"github.com/signalbox/signalbox/protocol"
)

// Client sends other programs' requests over a client.Client's connections, and attaches these programs' sessions. A
// Client is safe for concurrent use, and ends with the client.Client.
type Client struct {
	cluster *cluster.Cluster
	scope   *lifecycle.Scope
	options Options

	mu    sync.Mutex // guards the map and each seat's fields
	seats map[uint64]*seat
}

// Options say how a Client works. The zero value is good.
type Options struct {
	// PingEvery, if positive, is the maximum time between two pings over a connection with sessions, so
	// Session.LeaseLeft seldom lags by more than PingEvery. The ping timeout still depends on the session timeouts.
	PingEvery time.Duration
}

// New returns a Client that uses a client.Client's connections.
func New(c *client.Client, o Options) *Client {
	of := core.Of(c).Cluster()
	return &Client{cluster: of, scope: of.Scope(), options: o, seats: make(map[uint64]*seat)}
}

// Shards returns the data shard ids, for lists that name a shard.
func (c *Client) Shards() []uint64 { return c.cluster.DataShards() }

// Do sends a request without a session to the right host, and retries after moves and failures while a retry is safe.
// read gets a success response, which is only valid until read returns; read may be nil.
//
// Do numbers a node change, so it is applied exactly once. A semaphore change without a session is not retried if it
// may have been applied; Do then fails with client.ErrUnavailable.
func (c *Client) Do(ctx context.Context, m protocol.RequestMessage, read func(a *protocol.Answer)) error {
	if read == nil {
		read = func(*protocol.Answer) {}
	}
	r, ok := routeOf(m)
	switch {
	case !ok:
		return failure.BadRequest(fmt.Sprintf("%v cannot be sent without a session", m.Kind()))
	case r.numbered != nil:
		return c.cluster.DoNumbered(ctx, r.target, m, r.numbered, func(a *protocol.Answer) uint64 {
			read(a)
			return sinceOf(a)
		})
	case r.once:
		return c.cluster.DoOnce(ctx, r.target, m, read)
	}
	return c.cluster.Do(ctx, r.target, m, read)
}

// Principal returns the authenticated token or certificate name, empty for an anonymous client.
func (c *Client) Principal(ctx context.Context) (string, error) {
	to, _, err := c.cluster.Connect(ctx, cluster.Leisure, cluster.MetaLeader, 0, nil)
	if err != nil {
		return "", err
	}
	return to.Welcome().Principal, nil
}

// ForwardedFor marks a context's requests as sent by a gateway for the client at an address. Hosts record the address
// if they support it. Session and watch requests are not marked.
func ForwardedFor(ctx context.Context, address string) context.Context {
	return conn.ForwardedFor(ctx, address)
}

// OnReceive registers f to be called with each response's length for reads with the context, before the client copies
// the response. If f ends the context, the read fails with the cause and the response is not copied. This lets a
// gateway reserve memory in advance. f must not block. Watches do not call f.
func OnReceive(ctx context.Context, f func(bytes int)) context.Context { return conn.OnReceive(ctx, f) }

// seat orders a session's handles: attach, detach and stop requests run in sequence. A detach after a newer attach over
// the connection would undo the attach.
type seat struct {
	turn    chan struct{} // capacity 1: an attach, detach or stop is in flight
	users   int           // requests that have the turn or wait
	current *Session      // nil if no handle is attached
}

// seatOf returns a session's seat. The lock is held.
func (c *Client) seatOf(id uint64) *seat {
	at := c.seats[id]
	if at == nil {
		at = &seat{turn: make(chan struct{}, 1)}
		c.seats[id] = at
	}
	return at
}

// takeTurn waits until no other attach, detach or stop for the session is in flight. The caller must call endTurn.
func (c *Client) takeTurn(ctx context.Context, id uint64) (*seat, error) {
	c.mu.Lock()
	at := c.seatOf(id)
	at.users++
	c.mu.Unlock()
	select {
	case at.turn <- struct{}{}:
		return at, nil
	case <-ctx.Done():
		c.leaveSeat(id, at)
		return nil, context.Cause(ctx)
	}
}

func (c *Client) endTurn(id uint64, at *seat) {
	<-at.turn
	c.leaveSeat(id, at)
}

func (c *Client) leaveSeat(id uint64, at *seat) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at.users--
	c.dropSeat(id, at)
}

// dropSeat removes an unused seat. The lock is held.
func (c *Client) dropSeat(id uint64, at *seat) {
	if at.users == 0 && at.current == nil && c.seats[id] == at {
		delete(c.seats, id)
	}
}

// sit makes a newly attached handle the session's current handle, and returns the previous handle.
func (c *Client) sit(s *Session) (before *Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.seatOf(s.id)
	before, at.current = at.current, s
	return before
}

// rise removes an ended handle from its seat.
func (c *Client) rise(s *Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := c.seats[s.id]; at != nil && at.current == s {
		at.current = nil
		c.dropSeat(s.id, at)
	}
}
