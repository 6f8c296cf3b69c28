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

// Client sends requests of other programs over the connections of a client.Client, and attaches the programs' sessions
// over them. It is safe for use by many goroutines, and ends with the client.Client.
type Client struct {
	cluster *cluster.Cluster
	scope   *lifecycle.Scope
	options Options

	mu    sync.Mutex // guards the map, and the fields of each seat
	seats map[uint64]*seat
}

// Options say how a Client works. The zero value is good.
type Options struct {
	// PingEvery is the longest time between two pings over a connection that has sessions, if PingEvery is above zero:
	// then Session.LeaseLeft is seldom further behind than PingEvery. The time that a host may take to answer follows
	// from the timeouts of the sessions.
	PingEvery time.Duration
}

// New returns a Client on the connections of a client.Client.
func New(c *client.Client, o Options) *Client {
	of := core.Of(c).Cluster()
	return &Client{cluster: of, scope: of.Scope(), options: o, seats: make(map[uint64]*seat)}
}

// Shards returns the ids of the data shards, for the lists of a node: a list is read shard by shard.
func (c *Client) Shards() []uint64 { return c.cluster.DataShards() }

// Do sends a request that belongs to no session to the right host, and again after moves and failures as long as
// another try is safe. read gets the answer of a success, which is valid only until read returns; read may be nil.
//
// A change of nodes is carried out once; Do numbers the change. A change of a semaphore
// without a session is not sent again if it may have been carried out: then Do fails with client.ErrUnavailable.
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

// Principal returns the name of the token or certificate that lets the client in, empty for an anonymous
// client.
func (c *Client) Principal(ctx context.Context) (string, error) {
	to, _, err := c.cluster.Connect(ctx, cluster.Leisure, cluster.MetaLeader, 0, nil)
	if err != nil {
		return "", err
	}
	return to.Welcome().Principal, nil
}

// ForwardedFor makes hosts note, if they note the origin of requests, that a gateway sends the requests of a context
// for a client at an address. Requests about sessions and watches are sent without the note.
func ForwardedFor(ctx context.Context, address string) context.Context {
	return conn.ForwardedFor(ctx, address)
}

// OnReceive calls a function with the length of each answer of hosts to a read of the context, before the client copies
// the answer. If the function ends the context, the read fails with the cause, and the answer is not copied. So a
// gateway reserves memory before it has the answer. The function must not wait. Watches do not call it.
func OnReceive(ctx context.Context, f func(bytes int)) context.Context { return conn.OnReceive(ctx, f) }

// seat orders the handles of one session: an attach, a detach and a stop of the session wait for one another. A detach
// that arrived behind a newer attach over the connection would undo the attach.
type seat struct {
	turn    chan struct{} // holds one while an attach, a detach or a stop is under way
	users   int           // requests that have the turn, or wait
	current *Session      // nil if no handle is attached
}

// seatOf returns the seat of a session. The lock is held.
func (c *Client) seatOf(id uint64) *seat {
	at := c.seats[id]
	if at == nil {
		at = &seat{turn: make(chan struct{}, 1)}
		c.seats[id] = at
	}
	return at
}

// takeTurn waits until no other attach, detach or stop of the session is under way. The caller calls endTurn.
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

// dropSeat forgets a seat that is not used. The lock is held.
func (c *Client) dropSeat(id uint64, at *seat) {
	if at.users == 0 && at.current == nil && c.seats[id] == at {
		delete(c.seats, id)
	}
}

// sit makes a handle that was just attached the current handle of its session, and returns the handle before.
func (c *Client) sit(s *Session) (before *Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.seatOf(s.id)
	before, at.current = at.current, s
	return before
}

// rise takes a handle that is over from its seat.
func (c *Client) rise(s *Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := c.seats[s.id]; at != nil && at.current == s {
		at.current = nil
		c.dropSeat(s.id, at)
	}
}
