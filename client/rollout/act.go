package rollout

import (
	"context"

	"github.com/signalbox/signalbox/client/internal/object"
	"github.com/signalbox/signalbox/protocol"
)

// Act carries out an action. The methods below do the same, one method for each kind of action.
func (r *Rollout) Act(ctx context.Context, act Action) error {
	return r.change(ctx, OpAction, func(k object.Key) protocol.MutationMessage {
		return &protocol.RolloutAction{NodeID: k.Node, Name: k.Name, Action: act}
	}, nil)
}

// Pause keeps all targets as they are, until Resume. Promote, Abort and Rollback work meanwhile.
func (r *Rollout) Pause(ctx context.Context, by ChangeInfo) error {
	return r.Act(ctx, Action{Kind: Pause, By: by})
}

// Resume ends a pause, and a halt.
func (r *Rollout) Resume(ctx context.Context, by ChangeInfo) error {
	return r.Act(ctx, Action{Kind: Resume, By: by})
}

// Promote gives the version to the locations, or to all, without waiting for delays, gates and the locations before;
// with a seq of 0 each location gets the version that the location would get next if no delay were left. A location
// that has the version already counts as having reached it.
func (r *Rollout) Promote(ctx context.Context, by ChangeInfo, seq uint64, locations ...string) error {
	return r.Act(ctx, Action{Kind: Promote, By: by, Seq: seq, Locations: locations})
}

// Abort gives up all targets that are not reached, and halts the rollout. No target changes.
func (r *Rollout) Abort(ctx context.Context, by ChangeInfo) error {
	return r.Act(ctx, Action{Kind: Abort, By: by})
}

// Rollback lets the locations, or all, go back to a version: one after the other, in the order and with the delays of
// the rollout, or fast, all at once. The locations do not get the present versions above the given version.
func (r *Rollout) Rollback(ctx context.Context, by ChangeInfo, seq uint64, fast bool, locations ...string) error {
	return r.Act(ctx, Action{Kind: Rollback, By: by, Seq: seq, Fast: fast, Locations: locations})
}

// Bypass takes the locations out of the order: they keep their targets, and the next locations follow the locations
// before the bypassed ones.
func (r *Rollout) Bypass(ctx context.Context, by ChangeInfo, locations ...string) error {
	return r.Act(ctx, Action{Kind: Bypass, By: by, Locations: locations})
}

// Unbypass puts the locations back into the order.
func (r *Rollout) Unbypass(ctx context.Context, by ChangeInfo, locations ...string) error {
	return r.Act(ctx, Action{Kind: Unbypass, By: by, Locations: locations})
}

// Withdraw has a version never chosen again. Targets of the version that are not reached are given up.
func (r *Rollout) Withdraw(ctx context.Context, by ChangeInfo, seq uint64) error {
	return r.Act(ctx, Action{Kind: Withdraw, By: by, Seq: seq})
}

// Retry assigns the targets of the locations, or of all locations, again if the targets were given up, are stuck, or
// fail in some instance. Retry ends a halt.
func (r *Rollout) Retry(ctx context.Context, by ChangeInfo, locations ...string) error {
	return r.Act(ctx, Action{Kind: Retry, By: by, Locations: locations})
}
