package rollout

import (
	"context"
	"errors"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/object"
	"github.com/signalbox/signalbox/client/internal/view"
	"github.com/signalbox/signalbox/protocol"
)

// Rollout is a handle for operators and publishers on a named rollout, which need not exist. Creating a handle does not
// contact a host. A Rollout is safe for concurrent use.
type Rollout struct{ object object.Object }

// New returns a handle for the named rollout in the node at path, for use without a session. Changes are not retried if
// the outcome is unknown, because they could be applied twice; they fail with client.ErrUnavailable instead.
func New(c *client.Client, path, name string) *Rollout { return &Rollout{object.Of(c, path, name)} }

// NewInSession returns the rollout of a name in the session's node. Changes are carried out once, whatever happens to
// connections and hosts, for as long as the session goes on.
func NewInSession(s *client.Session, name string) *Rollout { return &Rollout{object.In(s, name)} }

// Name returns the rollout name.
func (r *Rollout) Name() string { return r.object.Name }

// change applies a change, by the session if there is one. read copies data out of the response.
func (r *Rollout) change(
	ctx context.Context, operation client.OperationKind, message object.Mutation, read func(a *protocol.Answer),
) error {
	return failed(operation, r.Name(), r.object.Change(ctx, operation, message, read))
}

// Kinds of rollout operations that hooks report.
const (
	OpPut        client.OperationKind = "rollout_put"
	OpDelete     client.OperationKind = "rollout_delete"
	OpPublish    client.OperationKind = "rollout_publish"
	OpSource     client.OperationKind = "rollout_source"
	OpOffer      client.OperationKind = "rollout_offer"
	OpJoin       client.OperationKind = "rollout_join"
	OpLeave      client.OperationKind = "rollout_leave"
	OpReport     client.OperationKind = "rollout_report" // also for an instance's role
	OpPoll       client.OperationKind = "rollout_poll"
	OpAction     client.OperationKind = "rollout_action"
	OpGateReport client.OperationKind = "rollout_gate_report"
	OpDescribe   client.OperationKind = "rollout_describe"
	OpPlan       client.OperationKind = "rollout_plan"
)

// follow follows a rollout section until Stop. Work that is missing in a newer view ends with ErrSuperseded.
func (r *Rollout) follow(ctx context.Context, part string) *object.Follower {
	return r.object.Follow(ctx, protocol.ObjectRollout, part, ErrSuperseded)
}

// endsParts reports whether the session's part in the rollout has ended, because the rollout of the view before is
// gone. before is nil for the first view; if the first view shows no rollout, the rollout was removed since the
// session took its part. In doubt the part counts as ended, because a session that still has the part may take the
// part again.
func endsParts(before, now *view.View) bool {
	if before == nil {
		return !now.Exists
	}
	return now.IsAnother(before) || now.IsWhole(before) || now.Exists != before.Exists
}

// Errors that this package reports. Test for them with errors.Is. Rejections by a host are errors from package client.
var (
	// ErrNotFound: no rollout has the name, or the rollout does not have the given location, gate or version. The
	// error is client.ErrNotFound too.
	ErrNotFound = errors.New("the rollout, location, gate or version does not exist")
	// ErrLeft: the member or the source has left.
	ErrLeft = errors.New("the member has left")
	// ErrSuperseded: the location has another target, or no target.
	ErrSuperseded = errors.New("the target has been superseded")
)

// failed adds the operation and the subject to an error.
func failed(operation client.OperationKind, name string, err error) error {
	return failure.OfObject("rollout", string(operation), name, err, ErrNotFound)
}

// isFinal reports whether no other program can resolve an error, or the context has ended.
func isFinal(ctx context.Context, err error) bool {
	return err != nil && (ctx.Err() != nil || errors.Is(err, client.ErrBadRequest) ||
		errors.Is(err, client.ErrUnauthorized) || errors.Is(err, client.ErrUnsupported) ||
		errors.Is(err, client.ErrNodeNotFound) || errors.Is(err, client.ErrClosed))
}
