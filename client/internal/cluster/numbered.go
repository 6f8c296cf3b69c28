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

// numbers number the client's changes of nodes, so that each change is carried out once.
type numbers struct {
	client [protocol.MaxClientIDBytes]byte
	last   atomic.Uint64
	since  atomic.Uint64 // the largest that a host has reported
}

func (n *numbers) init() {
	_, _ = rand.Read(n.client[:]) // it never fails
}

// learn notes the number that a host said.
func (n *numbers) learn(since uint64) {
	for {
		known := n.since.Load()
		if since <= known || n.since.CompareAndSwap(known, since) {
			return
		}
	}
}

// next numbers a request that no host can have carried out yet.
func (n *numbers) next() protocol.Idempotency {
	return protocol.Idempotency{Client: n.client[:], Sequence: n.last.Add(1), Since: n.since.Load()}
}

// DoNumbered carries out a request that changes nodes once, however often the request is sent. It sets numbered, which
// is a field of the request. read returns the number in the answer that later requests go by.
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
