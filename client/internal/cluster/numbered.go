package cluster

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync/atomic"

	"github.com/signalbox/signalbox/client/internal/conn"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/protocol"
)

// numbers assigns sequence numbers to the client's node changes, so each change is applied exactly once.
type numbers struct {
	client [protocol.MaxClientIDBytes]byte
	last   atomic.Uint64
	since  atomic.Uint64 // the largest reported by a host
}

func (n *numbers) init() {
	_, _ = rand.Read(n.client[:]) // it never fails
}

// learn records a number reported by a host.
func (n *numbers) learn(since uint64) {
	for {
		known := n.since.Load()
		if since <= known || n.since.CompareAndSwap(known, since) {
			return
		}
	}
}

// next numbers a request that no host can have applied yet.
func (n *numbers) next() protocol.Idempotency {
	return protocol.Idempotency{Client: n.client[:], Sequence: n.last.Add(1), Since: n.since.Load()}
}

// DoNumbered applies a node change exactly once, however often the request is sent. It sets numbered, a field in the
// request. read returns the number from the response that later requests continue from.
func (c *Cluster) DoNumbered(
	ctx context.Context, t Target, m protocol.RequestMessage, numbered *protocol.Idempotency,
	read func(a *protocol.Answer) (since uint64),
) error {
	if err := c.scope.Usable(); err != nil {
		return err
	}
	var unknown error
	doubt := false // whether an earlier try may have been carried out
	err := c.Repeat(ctx, t, func(to *conn.Conn) error {
		if !doubt {
			*numbered = c.numbers.next()
		}
		err := to.RoundTrip(ctx, m, func(a *protocol.Answer) { c.numbers.learn(read(a)) })
		since := failure.Since(err)
		c.numbers.learn(since)
		switch {
		case isDoubtful(err):
			doubt = true
		case failure.Status(err) != protocol.StatusStale:
		case doubt:
			unknown = fmt.Errorf("the outcome is unknown: %w",
				&protocol.Error{Status: protocol.StatusUnavailable, Message: failure.Message(err)})
			return nil
		case since <= numbered.Since:
			unknown = err // a new number would be as stale
			return nil
		}
		return err
	})
	if unknown != nil {
		return unknown
	}
	return err
}
