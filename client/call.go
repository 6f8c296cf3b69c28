package client

import (
	"context"
	"sync"

	"github.com/signalbox/signalbox/protocol"
)

// call is a request that has one answer.
type call struct {
	// read copies what is wanted out of an answer that is a success. It runs on the goroutine that reads
	// the connection, in the order of what the host sent. May be nil.
	read   func(from *link, a *protocol.Answer)
	done   chan struct{} // holds one
	result protocol.Result
	err    error

	mu   sync.Mutex // held while read runs
	left bool       // guarded by mu: nobody waits any more
}

func (c *call) answered(from *link, a *protocol.Answer) {
	c.result, c.err = a.Result, nil
	if c.read != nil && a.Result.Status == protocol.StatusSuccess {
		c.mu.Lock()
		if !c.left {
			c.read(from, a)
		}
		c.mu.Unlock()
	}
	c.done <- struct{}{}
}

func (c *call) lost(_ *link, err error) {
	c.err = err
	c.done <- struct{}{}
}

// roundTrip sends a request and waits for its answer. The error is a *transportError, a *protocol.Error, or
// the cause of the context's end; with the last, read is never called after roundTrip has returned.
func (l *link) roundTrip(ctx context.Context, m protocol.RequestMessage, read func(from *link, a *protocol.Answer)) error {
	if ctx.Err() != nil {
		return context.Cause(ctx) // nothing is asked for somebody who has gone
	}
	c := l.client.pools.calls.Get().(*call)
	c.read = read
	id, part, err := l.sendAwaited(c, m)
	if err != nil {
		c.read = nil
		l.client.pools.calls.Put(c)
		return err
	}
	l.do(part, c.done)
	select {
	case <-c.done:
		// The reader has let go of it, so it may be used again.
		err, result := c.err, c.result
		c.read, c.err = nil, nil
		l.client.pools.calls.Put(c)
		if err != nil {
			return err
		}
		return result.Err()
	case <-ctx.Done():
		l.forget(id)
		c.mu.Lock()
		c.left = true
		c.mu.Unlock()
		return context.Cause(ctx)
	}
}
