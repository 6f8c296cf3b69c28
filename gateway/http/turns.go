package http

import (
	"context"
	"errors"
	"time"

	"github.com/signalbox/signalbox/internal/fairshare"
	"github.com/signalbox/signalbox/protocol"
)

// How much a request may hold, and from when on, is in DESIGN.md.
const (
	// callsPerProcessor is the number of concurrent requests per processor; others wait for their turn. A request that
	// takes longer than longCall waits for hosts, so the next request starts alongside.
	callsPerProcessor = 64
	longCall          = 100 * time.Millisecond
	// maxWaits is the maximum number of requests that wait for other sessions, plus open event streams.
	maxWaits = 1024
	// heldBytes is how much memory bodies under way take together.
	heldBytes = 64 << 20
)

// errTurnedAway is the response to a request that got no turn in time.
var errTurnedAway = refuse(protocol.StatusOverloaded, "too many requests in progress")

// serveInTurn carries out a complete request. The turn is over before the answer is written, however slowly the caller
// reads.
func (c *call) serveInTurn(of *route) (err error) {
	c.gateway.calls.Add(1)
	defer c.gateway.calls.Add(-1)
	waiting, cancel := context.WithTimeoutCause(c.r.Context(), callTimeout, errTurnedAway)
	defer cancel()
	if c.turn, err = c.gateway.turns.Take(waiting, c.party()); err != nil {
		if errors.Is(err, errTurnedAway) {
			c.gateway.turnedAway.Add(1)
		}
		return err
	}
	defer c.turn.End()
	if !c.conn.Begin() {
		return context.Canceled // the connection is closed
	}
	defer c.conn.End()
	err = of.serve(c)
	c.gateway.note(c, of, err)
	return err
}

// wait takes a slot for a request that waits for others. The returned context ends if another party needs the slot. The
// caller must call leave.
func (c *call) wait(ctx context.Context) (waiting context.Context, leave func(), err error) {
	waiting, cancel := context.WithCancel(ctx)
	place := c.gateway.waits.Unit(1, cancel)
	if !place.Assign(c.party(), fairshare.Idle) {
		cancel()
		return nil, nil, refuse(protocol.StatusOverloaded, "too many waiting requests or open event streams")
	}
	return waiting, func() { place.Leave(); cancel() }, nil
}

// party is the request's sender.
func (c *call) party() fairshare.Party {
	return fairshare.Party{Token: c.identity(), Address: fairshare.Network(c.from)}
}

// identity identifies a request's accepted token; empty if none.
func (c *call) identity() string {
	if c.token == "" || c.caller == nil {
		return ""
	}
	return c.caller.name
}
