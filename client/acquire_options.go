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

type acquireConfig = incarnation.Request

// Count sets how much of the limit is asked for; 1 where it is not given.
func Count(n uint64) AcquireOption {
	return func(c *acquireConfig) { c.Count = n }
}

// Data attaches data to the owner, or waiter, for others to read: an address, for example.
func Data(data []byte) AcquireOption {
	data = slices.Clone(data)
	return func(c *acquireConfig) { c.Data = data }
}

// Timeout sets how long to wait in the queue; ErrNotAcquired says that it has passed. Without it, an
// acquire waits for as long as its session lives and its context lasts. The host counts it; where no host can
// be reached, or another one begins to count anew, the client gives up half a second later. It is from 0, which
// does not wait, to a day.
func Timeout(d time.Duration) AcquireOption {
	return func(c *acquireConfig) { c.Timeout = d }
}

// OnQueued is called when the acquire has to wait, with its place: the order id that it will own with. It
// runs on the goroutine of the Acquire.
func OnQueued(f func(order uint64)) AcquireOption {
	return func(c *acquireConfig) { c.OnQueued = f }
}

func newAcquireConfig(options []AcquireOption) acquireConfig {
	c := acquireConfig{Count: 1, Timeout: incarnation.Forever}
	for _, o := range options {
		o(&c)
	}
	return c
}

// checkAcquire refuses what no host would take.
func checkAcquire(c *acquireConfig) error {
	switch {
	case c.Count == 0:
		return failure.BadRequest("a count of 0: there is nothing to acquire")
	case c.Timeout < 0 && c.Timeout != incarnation.Forever:
		return failure.BadRequest(fmt.Sprintf("a timeout of %v: it is below zero", c.Timeout))
	case c.Timeout > protocol.MaxAcquireTimeoutMillis*time.Millisecond:
		return failure.BadRequest(fmt.Sprintf("a timeout of %v: at most a day, or none to wait without end", c.Timeout))
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
