package client

import (
	"slices"
	"time"

	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/option"
	"github.com/signalbox/signalbox/client/internal/session"
	"github.com/signalbox/signalbox/protocol"
)

// SemaphoreOption sets how a semaphore is used.
type SemaphoreOption func(*Semaphore)

// Limit lets an acquire create the semaphore with limit n if the semaphore does not exist. An existing semaphore keeps
// its limit, which may have been changed by Resize. If the limit differs, the client logs a warning and reports a
// LimitMismatch to the hooks; if an acquire is rejected because the count exceeds the limit, its error contains a
// *LimitMismatch. With limit 0, or if a creating acquire asks for more than the limit, the acquire fails with
// ErrBadRequest and creates nothing.
func Limit(n uint64) SemaphoreOption {
	return func(s *Semaphore) { s.limit, s.limited = n, true }
}

// InitialData sets the data for a semaphore created because of Limit.
func InitialData(data []byte) SemaphoreOption {
	return func(s *Semaphore) { s.data = data }
}

// All is the count for exclusive ownership of an ephemeral semaphore, and the limit of every ephemeral semaphore.
const All = protocol.Exclusive

// AcquireOption configures an acquire.
type AcquireOption func(*acquireConfig)

type acquireConfig = session.Request

// Count sets the number of units to acquire. Default: 1.
func Count(n uint64) AcquireOption {
	return func(c *acquireConfig) { c.Count = n }
}

// Data attaches data to the owner or waiter, visible to readers of the semaphore, for example an address.
func Data(data []byte) AcquireOption {
	data = slices.Clone(data)
	return func(c *acquireConfig) { c.Data = data }
}

// Wait sets how long to wait in the queue; ErrNotAcquired says that the time has passed. Without a Wait, an acquire
// waits for as long as the session lives and the context lasts. The host measures the time. If no host can be reached,
// the client gives up half a second later. The timeout is from 0, with which an acquire does not wait, to a day.
func Wait(d time.Duration) AcquireOption {
	return func(c *acquireConfig) { c.Timeout = d }
}

// OnQueued is called if the acquire has to wait, with the order id that the session will own under. The function runs
// in the goroutine that called Acquire.
func OnQueued(f func(order uint64)) AcquireOption {
	return func(c *acquireConfig) { c.OnQueued = f }
}

// UpdateOption guards an update, or a resize.
type UpdateOption func(*updateConfig)

type updateConfig struct {
	lease    *Lease
	revision uint64
}

// Guard makes an update conditional on the lease, which must be for the same semaphore. If the lease is not held, the
// update fails with ErrFenced and the reason for the lease's end. The host decides, regardless of this process's clock.
func Guard(lease *Lease) UpdateOption {
	return func(c *updateConfig) { c.lease = lease }
}

// IfRevision lets an update, or a resize, take effect only if the semaphore still has the revision of the description;
// ErrPreconditionFailed says that the revision has changed. Then the update changed nothing: describe the semaphore
// again, and decide again. Owners that come, go, or change their data change the revision too. With 0 no revision is
// asked for.
//
// If the answer to an update through a Session was lost, the client asks for the answer again, and the answer is true.
// If the answer to an update through a Node was lost, the error is ErrUnavailable, and the update may have taken
// effect.
func IfRevision(revision uint64) UpdateOption {
	return func(c *updateConfig) { c.revision = revision }
}

func newResizeConfig(limit uint64, options []UpdateOption) (updateConfig, error) {
	c := newUpdateConfig(options)
	switch {
	case limit == 0:
		return c, failure.BadRequest("the limit must be at least 1")
	case c.lease != nil:
		return c, failure.BadRequest("a lease cannot guard a resize; use IfRevision")
	}
	return c, nil
}

func newUpdateConfig(options []UpdateOption) updateConfig {
	return *option.Apply(&updateConfig{}, options)
}

// DeleteOption sets how a semaphore is deleted.
type DeleteOption func(*deleteConfig)

type deleteConfig struct{ force bool }

// Force deletes a semaphore though sessions own or wait. The sessions are notified: leases end with ErrLeaseLost,
// waiting acquires fail with ErrDeleted.
func Force() DeleteOption {
	return func(c *deleteConfig) { c.force = true }
}
