package client

import (
	"fmt"
	"slices"
	"time"

	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/incarnation"
	"github.com/signalbox/signalbox/protocol"
)

// All is the count of an acquire that has an ephemeral semaphore alone, and the limit of every
// ephemeral semaphore.
const All = protocol.Exclusive

// AcquireOption sets what an acquire asks for.
type AcquireOption func(*acquireConfig)

type acquireConfig struct {
	count    uint64
	data     []byte
	timeout  time.Duration
	bounded  bool
	onQueued func(order uint64)
	limit    uint64 // that the caller has named; 0 for none
}

// Count sets how much of the limit is asked for; 1 where it is not given.
func Count(n uint64) AcquireOption {
	return func(c *acquireConfig) { c.count = n }
}

// Data attaches data to the owner, or waiter, for others to read: an address, for example.
func Data(data []byte) AcquireOption {
	data = slices.Clone(data)
	return func(c *acquireConfig) { c.data = data }
}

// Timeout sets how long to wait in the queue; ErrNotAcquired says that it has passed. Without it, an
// acquire waits for as long as its session lives and its context lasts. The host counts it; where no host can
// be reached, or another one begins to count anew, the client gives up half a second later. It is from 0, which
// does not wait, to a day.
func Timeout(d time.Duration) AcquireOption {
	return func(c *acquireConfig) { c.timeout, c.bounded = d, true }
}

// OnQueued is called when the acquire has to wait, with its place: the order id that it will own with. It
// runs on the goroutine of the Acquire.
func OnQueued(f func(order uint64)) AcquireOption {
	return func(c *acquireConfig) { c.onQueued = f }
}

func newAcquireConfig(options []AcquireOption) acquireConfig {
	c := acquireConfig{count: 1}
	for _, o := range options {
		o(&c)
	}
	return c
}

// request is what is asked of a host.
func (c *acquireConfig) request(ephemeral bool) *incarnation.Request {
	r := &incarnation.Request{
		Count: c.count, Data: c.data, Ephemeral: ephemeral,
		Timeout: incarnation.Forever, NamedLimit: c.limit, OnQueued: c.onQueued,
	}
	if c.bounded {
		r.Timeout = c.timeout
	}
	return r
}

func (c *acquireConfig) validate() error {
	switch {
	case c.count == 0:
		return failure.BadRequest("a count of 0: there is nothing to acquire")
	case c.bounded && c.timeout < 0:
		return failure.BadRequest(fmt.Sprintf("a timeout of %v: it is below zero", c.timeout))
	case c.bounded && c.timeout > protocol.MaxAcquireTimeoutMillis*time.Millisecond:
		return failure.BadRequest(fmt.Sprintf("a timeout of %v: at most a day, or none to wait without end", c.timeout))
	}
	return nil
}

// checkName refuses what can be the name of no semaphore, before any host is asked.
func checkName(name string) error {
	if name == "" || len(name) > protocol.MaxNameBytes {
		return failure.BadRequest(fmt.Sprintf("a name of %d bytes: 1 to %d", len(name), protocol.MaxNameBytes))
	}
	return nil
}

// checkPath does so for the path of a node.
func checkPath(path string) error {
	if path == "" || len(path) > protocol.MaxPathBytes {
		return failure.BadRequest(fmt.Sprintf("a path of %d bytes: 1 to %d", len(path), protocol.MaxPathBytes))
	}
	return nil
}
