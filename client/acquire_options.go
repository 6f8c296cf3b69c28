package client

import (
	"fmt"
	"slices"
	"time"

	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/incarnation"
	"github.com/signalbox/signalbox/protocol"
)

// All is the count with which an acquire owns an ephemeral semaphore exclusively, and the limit of every ephemeral
// semaphore.
const All = protocol.Exclusive

// AcquireOption sets what an acquire asks for.
type AcquireOption func(*acquireConfig)

type acquireConfig = incarnation.Request

// Count sets how much of the limit is asked for; the default is 1.
func Count(n uint64) AcquireOption {
	return func(c *acquireConfig) { c.Count = n }
}

// Data attaches data to the owner, or waiter. Readers of the semaphore see the data: an address, for example.
func Data(data []byte) AcquireOption {
	data = slices.Clone(data)
	return func(c *acquireConfig) { c.Data = data }
}

// Timeout sets how long to wait in the queue; ErrNotAcquired says that the time has passed. Without a Timeout, an
// acquire waits for as long as the session lives and the context lasts. The host counts the time; if no host can be
// reached, or a new leader begins to count anew, the client gives up half a second later. The timeout is from 0, with
// which an acquire does not wait, to a day.
func Timeout(d time.Duration) AcquireOption {
	return func(c *acquireConfig) { c.Timeout = d }
}

// OnQueued is called when the acquire has to wait, with the place in the queue: the order id under which the session
// will own. The function runs on the goroutine of the Acquire.
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

// checkAcquire refuses a request that every host would refuse.
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

// checkName refuses a string that can be the name of no semaphore, before a host is asked.
func checkName(name string) error {
	if name == "" || len(name) > protocol.MaxNameBytes {
		return failure.BadRequest(fmt.Sprintf("a name of %d bytes: 1 to %d", len(name), protocol.MaxNameBytes))
	}
	return nil
}

// checkPath refuses a string that can be the path of no node, before a host is asked.
func checkPath(path string) error {
	if path == "" || len(path) > protocol.MaxPathBytes {
		return failure.BadRequest(fmt.Sprintf("a path of %d bytes: 1 to %d", len(path), protocol.MaxPathBytes))
	}
	return nil
}
