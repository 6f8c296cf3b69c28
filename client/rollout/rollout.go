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

// Rollout is a rollout as operators and publishers use it: a name; the rollout need not exist. Making a Rollout asks
// no host. It is safe for use by many goroutines.
type Rollout struct{ object object.Object }

// New returns the rollout of a name in the node of a path, for use without a session. Changes are not protected against
// being carried out twice: if the outcome of a try is not known, the change fails with client.ErrUnavailable, and is
// not tried again.
func New(c *client.Client, path, name string) *Rollout { return &Rollout{object.Of(c, path, name)} }

// NewInSession returns the rollout of a name in the session's node. Changes are carried out once, whatever happens to
// connections and hosts, for as long as the session goes on.
func NewInSession(s *client.Session, name string) *Rollout { return &Rollout{object.In(s, name)} }

// Name returns the name of the rollout.
func (r *Rollout) Name() string { return r.object.Name }

// change carries out a change: by the session, if there is one. read copies the wanted parts out of the answer.
func (r *Rollout) change(
	ctx context.Context, operation client.OperationKind, message object.Mutation, read func(a *protocol.Answer),
) error {
	return failed(operation, r.Name(), r.object.Change(ctx, operation, message, read))
}

// The kinds of operations on rollouts that hooks see.
const (
	OpPut        client.OperationKind = "rollout_put"
	OpDelete     client.OperationKind = "rollout_delete"
	OpPublish    client.OperationKind = "rollout_publish"
	OpSource     client.OperationKind = "rollout_source"
	OpOffer      client.OperationKind = "rollout_offer"
	OpJoin       client.OperationKind = "rollout_join"
	OpLeave      client.OperationKind = "rollout_leave"
	OpReport     client.OperationKind = "rollout_report" // of an instance's role too
	OpPoll       client.OperationKind = "rollout_poll"
	OpAction     client.OperationKind = "rollout_action"
	OpGateReport client.OperationKind = "rollout_gate_report"
	OpDescribe   client.OperationKind = "rollout_describe"
	OpPlan       client.OperationKind = "rollout_plan"
)

// follow follows a part of the rollout, until Stop. Work that a newer view does not show any more ends with
// ErrSuperseded.
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

// Errors that this package reports, to be tested for with errors.Is. Refusals of a host are errors of package client.
var (
	// ErrNotFound: no rollout has the name, or the rollout does not have the given location, gate or version. The
	// error is client.ErrNotFound too.
	ErrNotFound = errors.New("the rollout, location, gate or version does not exist")
	// ErrLeft: the member, or the source, has ended its part.
	ErrLeft = errors.New("the member has left")
	// ErrSuperseded: the location has another target, or no target.
	ErrSuperseded = errors.New("the target has been superseded")
)

// failed puts the operation and the subject in front of an error.
func failed(operation client.OperationKind, name string, err error) error {
	return failure.OfObject("rollout", string(operation), name, err, ErrNotFound)
}

// isFinal reports whether no other program can mend an error, or the context has ended.
func isFinal(ctx context.Context, err error) bool {
	return err != nil && (ctx.Err() != nil || errors.Is(err, client.ErrBadRequest) ||
		errors.Is(err, client.ErrUnauthorized) || errors.Is(err, client.ErrUnsupported) ||
		errors.Is(err, client.ErrNodeNotFound) || errors.Is(err, client.ErrClosed))
}
