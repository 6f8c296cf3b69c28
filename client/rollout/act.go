package rollout

import (
	"context"

	"github.com/signalbox/signalbox/client/internal/object"
	"github.com/signalbox/signalbox/protocol"
)

// Act performs an action. The methods below do the same, one per action kind.
func (r *Rollout) Act(ctx context.Context, act Action) error {
	return r.change(ctx, OpAction, func(k object.Key) protocol.MutationMessage {
		return &protocol.RolloutAction{NodeID: k.Node, Name: k.Name, Action: act}
	}, nil)
}

// Pause freezes all targets until Resume. Promote, Abort and Rollback work meanwhile.
func (r *Rollout) Pause(ctx context.Context, by ChangeInfo) error {
	return r.Act(ctx, Action{Kind: Pause, By: by})
}

// Resume ends a pause, and a halt.
func (r *Rollout) Resume(ctx context.Context, by ChangeInfo) error {
	return r.Act(ctx, Action{Kind: Resume, By: by})
}

// Promote gives the version to the locations, or to all, without waiting for delays, gates and earlier locations. With
// seq 0 each location gets its next version, as if no delay were left. A location that already has the version counts
// as having reached the version.
func (r *Rollout) Promote(ctx context.Context, by ChangeInfo, seq uint64, locations ...string) error {
	return r.Act(ctx, Action{Kind: Promote, By: by, Seq: seq, Locations: locations})
}

// Abort abandons all targets that are not reached and halts the rollout. No target changes.
func (r *Rollout) Abort(ctx context.Context, by ChangeInfo) error {
	return r.Act(ctx, Action{Kind: Abort, By: by})
}

// Rollback returns the locations, or all, to a version: one after another, in the rollout's order and with its delays,
// or all at once if fast. The locations do not get current versions above the given version.
func (r *Rollout) Rollback(ctx context.Context, by ChangeInfo, seq uint64, fast bool, locations ...string) error {
	return r.Act(ctx, Action{Kind: Rollback, By: by, Seq: seq, Fast: fast, Locations: locations})
}

// Bypass removes the locations from the order: they keep their targets, and the next locations follow the locations
// before the bypassed ones.
func (r *Rollout) Bypass(ctx context.Context, by ChangeInfo, locations ...string) error {
	return r.Act(ctx, Action{Kind: Bypass, By: by, Locations: locations})
}

// Unbypass puts the locations back into the order.
func (r *Rollout) Unbypass(ctx context.Context, by ChangeInfo, locations ...string) error {
	return r.Act(ctx, Action{Kind: Unbypass, By: by, Locations: locations})
}

// Withdraw prevents a version from being chosen again. Targets with the version that are not reached are abandoned.
func (r *Rollout) Withdraw(ctx context.Context, by ChangeInfo, seq uint64) error {
	return r.Act(ctx, Action{Kind: Withdraw, By: by, Seq: seq})
}

// Retry assigns targets again that were abandoned, are stuck, or fail in some instance, for the given locations or for
// all. Retry ends a halt.
func (r *Rollout) Retry(ctx context.Context, by ChangeInfo, locations ...string) error {
	return r.Act(ctx, Action{Kind: Retry, By: by, Locations: locations})
}
