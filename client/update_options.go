package client

import "github.com/signalbox/signalbox/client/internal/failure"

// UpdateOption guards an update, or a resize.
type UpdateOption func(*updateConfig)

type updateConfig struct {
	lease    *Lease
	revision uint64
}

// Guard lets an update take effect only while the lease, of the same semaphore, is held; ErrFenced, together with the
// cause of the lease's end, says that it was not. The host decides, not the clock of this process.
func Guard(lease *Lease) UpdateOption {
	return func(c *updateConfig) { c.lease = lease }
}

// IfRevision lets an update, or a resize, take effect only if the semaphore still has the revision with which it was
// described; ErrPreconditionFailed says that it has another. Then nothing has changed: describe it again, and
// decide again. Owners that come, go, or change their data are a change of the revision too. 0 asks for none.
//
// Through a Session an update whose answer was lost is asked about again, and the answer is the true one.
// Through a Node it is ErrUnavailable, and the update may have taken effect.
func IfRevision(revision uint64) UpdateOption {
	return func(c *updateConfig) { c.revision = revision }
}

func newResizeConfig(limit uint64, options []UpdateOption) (updateConfig, error) {
	c := newUpdateConfig(options)
	switch {
	case limit == 0:
		return c, failure.BadRequest("a limit of 0: nothing could ever be acquired")
	case c.lease != nil:
		return c, failure.BadRequest("a lease guards no resize: IfRevision does")
	}
	return c, nil
}

func newUpdateConfig(options []UpdateOption) updateConfig {
	var c updateConfig
	for _, o := range options {
		o(&c)
	}
	return c
}
