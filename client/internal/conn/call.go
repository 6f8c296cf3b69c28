package conn

import (
	"context"
	"sync"

	"github.com/signalbox/signalbox/protocol"
)

// call is a request with a single response.
type call struct {
	ctx context.Context
	// read copies data out of a success response.
	read func(a *protocol.Answer)
	// received is called with the response length before read.
	received func(bytes int)
	done     chan struct{} // holds one
	result   protocol.Result
	err      error

	mu        sync.Mutex // held while read runs
	abandoned bool       // guarded by mu: the caller has stopped waiting
}

// Answered implements Handler.
func (c *call) Answered(from *Conn, a *protocol.Answer) {
	c.result, c.err = a.Result, nil
	if c.read != nil && a.Result.Status == protocol.StatusSuccess {
		c.mu.Lock()
		if !c.abandoned {
			c.take(from.payload, a)
		}
		c.mu.Unlock()
	}
	c.done <- struct{}{}
}

// take reads a response of the given length, unless the caller has abandoned the call.
func (c *call) take(bytes int, a *protocol.Answer) {
	if c.received != nil {
		c.received(bytes)
		if c.ctx.Err() != nil {
			c.err = context.Cause(c.ctx)
			return
		}
	}
	c.read(a)
}

// Lost implements Handler.
func (c *call) Lost(_ *Conn, err error) {
	c.err = err
	c.done <- struct{}{}
}

// RoundTrip sends a request and waits for the answer. read gets an answer that is a success, on the goroutine that
// reads the connection. The error is a *failure.Transport, a *protocol.Error, or the cause of the context's end; with
// the last, read is never called after RoundTrip has returned.
func (c *Conn) RoundTrip(ctx context.Context, m protocol.RequestMessage, read func(a *protocol.Answer)) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	pool := &c.dialer.calls
	r := pool.Get().(*call)
	r.read = read
	if r.received, _ = ctx.Value(receiving{}).(func(int)); r.received != nil {
		r.ctx = ctx
	}
	address, _ := ctx.Value(onBehalf{}).(string)
	id, work, err := c.SendAwaited(address, r, m)
	if err != nil {
		r.forget()
		pool.Put(r)
		return err
	}
	c.Do(work, r.done)
	select {
	case <-r.done:
		// The reading goroutine is done with the call, so the call may be reused.
		err, result := r.err, r.result
		r.forget()
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

// forget prepares a call for reuse.
func (c *call) forget() { c.ctx, c.read, c.received, c.err = nil, nil, nil, nil }

// receiving is the context key for a receive function.
type receiving struct{}

// OnReceive registers f to be called with each response's length before the response is copied. If f ends the context,
// the response is not copied. f runs in the goroutine that reads a connection, so it must not block.
func OnReceive(ctx context.Context, f func(bytes int)) context.Context {
	return context.WithValue(ctx, receiving{}, f)
}

// onBehalf is the context key for a client address.
type onBehalf struct{}

// ForwardedFor marks a context's requests as sent by a gateway for the client at an address. Hosts record the address
// if they support it.
func ForwardedFor(ctx context.Context, address string) context.Context {
	return context.WithValue(ctx, onBehalf{}, address[:min(len(address), protocol.MaxForwardedBytes)])
}

// introduce sends FORWARDED_FOR with the requesting client's address before the next request, if the host supports it.
// The lock is held.
func (c *Conn) introduce(address string) {
	if c.welcome.requests.Allows(protocol.KindForwardedFor) {
		_, _ = c.post(Unheard{}, &protocol.ForwardedFor{RequestID: c.lastID + 2, Address: protocol.View(address)})
	}
}

// Unheard is the handler for requests whose response is ignored.
type Unheard struct{}

// Answered implements Handler.
func (Unheard) Answered(*Conn, *protocol.Answer) {}

// Lost implements Handler.
func (Unheard) Lost(*Conn, error) {}
