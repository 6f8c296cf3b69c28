package httplimit

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/signalbox/signalbox/internal/fairshare"
)

// freeBytes is how much a connection may hold without being counted.
const freeBytes = 4 << 10

// Conn is a Limiter's connection. Its methods report the progress of the connection's request and are called by the
// goroutine that handles the request. A nil Conn belongs to a server without a limiter.
type Conn struct {
	net.Conn
	limiter *Limiter
	place   *fairshare.Unit // among all connections
	held    atomic.Pointer[fairshare.Unit]
	closed  atomic.Bool

	// For the goroutine that handles requests.
	party    fairshare.Party // sender of the latest request
	admitted bool            // the first request was answered
	working  bool

	mu     sync.Mutex
	cancel context.CancelFunc // ends the connection's request contexts; guarded by mu
}

// endsWith calls a function when the connection ends.
func (c *Conn) endsWith(cancel context.CancelFunc) {
	c.mu.Lock()
	c.cancel = cancel
	c.mu.Unlock()
	if c.closed.Load() {
		cancel()
	}
}

// Close implements net.Conn.
func (c *Conn) Close() error {
	c.closed.Store(true)
	c.place.Leave()
	c.release()
	c.mu.Lock()
	cancel := c.cancel
	c.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	return c.Conn.Close()
}

// reset closes a connection that is taken back, and makes the system drop all bytes not read by the client.
func (c *Conn) reset() {
	if socket, is := c.Conn.(*net.TCPConn); is {
		_ = socket.SetLinger(0)
	}
	_ = c.Close()
}

// keep resets a connection that does not fit, and returns whether it stays.
func (c *Conn) keep(fits bool) bool {
	if !fits {
		c.reset()
	}
	return fits
}

// From reports the client's address before its token is known. Until then a connection counts for its latest request's
// party, because a proxy's connections serve one client after another.
func (c *Conn) From(address netip.Addr) {
	if c != nil && c.party.Address != fairshare.Network(address) {
		c.Identify(address, "")
	}
}

// Identify reports the request's sender; token identifies an accepted token, and is empty if none.
func (c *Conn) Identify(address netip.Addr, token string) {
	if c == nil {
		return
	}
	by := fairshare.Party{Token: token, Address: fairshare.Network(address)}
	if by != c.party {
		c.party = by
		c.keep(c.place.Assign(by, c.state()))
	}
}

// state is a connection's state while it is not working. A connection counts as being admitted until its first request
// is answered: further requests do not make it younger than a connection whose first request waits.
func (c *Conn) state() fairshare.State {
	if c.admitted {
		return fairshare.Idle
	}
	return fairshare.Arriving
}

// Begin reports that the request is being handled: until End the connection is not closed in favour of other clients.
// Begin returns false if the connection was already closed.
func (c *Conn) Begin() bool {
	if c == nil {
		return true
	}
	c.working = true
	if held := c.held.Load(); held != nil {
		held.Set(fairshare.Pinned)
	}
	return c.place.Set(fairshare.Pinned)
}

// End ends the work begun by Begin.
func (c *Conn) End() {
	if c == nil {
		return
	}
	c.working = false
	if held := c.held.Load(); held != nil {
		c.keep(held.Set(fairshare.Idle))
	}
	c.keep(c.place.Set(c.state()))
}

// answered reports a request's end.
func (c *Conn) answered() {
	c.admitted = true
	c.Hold(0)
	c.keep(c.place.Set(fairshare.Idle))
}

// Hold reports the memory used by the current body, 0 at its end. Hold returns false if the connection was closed, by
// this call or before.
func (c *Conn) Hold(bytes int) bool {
	if c == nil {
		return true
	}
	size, held := max(int64(bytes)-freeBytes, 0), c.held.Load()
	switch {
	case size == 0:
		c.release()
	case held != nil:
		c.keep(held.Resize(size))
	default:
		state := fairshare.Idle
		if c.working {
			state = fairshare.Pinned
		}
		held = c.limiter.bytes.Unit(size, c.reset)
		c.held.Store(held)
		c.keep(held.Assign(c.party, state))
		if c.closed.Load() {
			c.release()
		}
	}
	return !c.closed.Load()
}

// release gives the memory back.
func (c *Conn) release() {
	if held := c.held.Swap(nil); held != nil {
		held.Leave()
	}
}

// outOfFiles reports whether the system had no file for a connection.
func outOfFiles(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE)
}
