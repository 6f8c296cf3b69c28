package conn

import (
	"context"
	"sync"

	"github.com/signalbox/signalbox/protocol"
)

// call is a request that has one answer.
type call struct {
	// read copies what is wanted out of an answer that is a success.
	read   func(a *protocol.Answer)
	done   chan struct{} // holds one
	result protocol.Result
	err    error

	mu        sync.Mutex // held while read runs
	abandoned bool       // guarded by mu: the caller does not wait any more
}

// Answered implements Handler.
func (c *call) Answered(_ *Conn, a *protocol.Answer) {
	c.result, c.err = a.Result, nil
	if c.read != nil && a.Result.Status == protocol.StatusSuccess {
		c.mu.Lock()
		if !c.abandoned {
			c.read(a)
		}
		c.mu.Unlock()
	}
	c.done <- struct{}{}
}

// Lost implements Handler.
func (c *call) Lost(_ *Conn, err error) {
	c.err = err
	c.done <- struct{}{}
}

// RoundTrip sends a request and waits for its answer. read gets an answer that is a success, on the goroutine that
// reads the connection. The error is a *failure.Transport, a *protocol.Error, or the cause of the context's end; with
// the last, read is never called after RoundTrip has returned.
func (c *Conn) RoundTrip(ctx context.Context, m protocol.RequestMessage, read func(a *protocol.Answer)) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	pool := &c.dialer.calls
	r := pool.Get().(*call)
	r.read = read
	id, work, err := c.SendAwaited(r, m)
	if err != nil {
		r.read = nil
		pool.Put(r)
		return err
	}
	c.Do(work, r.done)
	select {
	case <-r.done:
		// The goroutine that reads has finished with it, so it may be used again.
		err, result := r.err, r.result
		r.read, r.err = nil, nil
		pool.Put(r)
		if err != nil {
			return err
		}
		return result.Err()
	case <-ctx.Done():
		c.Forget(id)
		r.mu.Lock()
		r.abandoned = true
		r.mu.Unlock()
		return context.Cause(ctx)
	}
}
