package client

import (
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/option"
)

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
		return c, failure.BadRequest("a limit of 0: nothing could ever be acquired")
	case c.lease != nil:
		return c, failure.BadRequest("a lease guards no resize: IfRevision does")
	}
	return c, nil
}

func newUpdateConfig(options []UpdateOption) updateConfig {
	return *option.Apply(&updateConfig{}, options)
}
