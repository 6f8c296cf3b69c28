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

// Limit lets an acquire create the semaphore, with this limit, if the semaphore does not exist. The limit of an
// existing semaphore stays as it is, and counts: a Resize may have changed it. If the limit differs, the client logs a
// warning and has the hooks see an LimitMismatch; an acquire that is refused because the count is above the limit has
// an *LimitMismatch in the error. An acquire with a Limit of 0, or an acquire that would create and asks for more than
// the limit, is ErrBadRequest, and creates nothing.
func Limit(n uint64) SemaphoreOption {
	return func(s *Semaphore) { s.limit, s.limited = n, true }
}

// InitialData is the data of a semaphore that is created because of Limit.
func InitialData(data []byte) SemaphoreOption {
	return func(s *Semaphore) { s.data = data }
}

// All is the count with which an acquire owns an ephemeral semaphore exclusively, and the limit of every ephemeral
// semaphore.
const All = protocol.Exclusive

// AcquireOption sets what an acquire asks for.
type AcquireOption func(*acquireConfig)

type acquireConfig = session.Request

// Count sets how much of the limit is asked for; the default is 1.
func Count(n uint64) AcquireOption {
	return func(c *acquireConfig) { c.Count = n }
}

// Data attaches data to the owner, or waiter. Readers of the semaphore see the data: an address, for example.
func Data(data []byte) AcquireOption {
	data = slices.Clone(data)
	return func(c *acquireConfig) { c.Data = data }
}

// Wait sets how long to wait in the queue; ErrNotAcquired says that the time has passed. Without a Wait, an
// acquire waits for as long as the session lives and the context lasts. The host counts the time; if no host can be
// reached, or a new leader begins to count anew, the client gives up half a second later. The timeout is from 0, with
// which an acquire does not wait, to a day.
func Wait(d time.Duration) AcquireOption {
	return func(c *acquireConfig) { c.Timeout = d }
}

// OnQueued is called when the acquire has to wait, with the place in the queue: the order id under which the session
// will own. The function runs on the goroutine of the Acquire.
func OnQueued(f func(order uint64)) AcquireOption {
	return func(c *acquireConfig) { c.OnQueued = f }
}

// UpdateOption guards an update, or a resize.
type UpdateOption func(*updateConfig)

type updateConfig struct {
	lease    *Lease
	revision uint64
}

// Guard lets an update take effect only while the lease, of the same semaphore, is held; ErrFenced, together with the
// cause of the lease's end, says that the lease was not held. The host decides, not the clock of this process.
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
