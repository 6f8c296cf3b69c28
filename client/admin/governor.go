package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/host"
)

// The types below are aliases: package protocol/host declares them once, for hosts and clients.
type (
	// Step is a governor step, either in progress or planned.
	Step = host.Step
	// Reason is why the governor does not do something.
	Reason = host.Reason
	// Policy holds the governor settings that operators can change.
	Policy = host.Policy
)

// Plan lists the steps that the governor would take if every step succeeded.
type Plan struct {
	Steps []Step
	// Reasons explain why the governor stops after the last step. The list is empty if nothing is left to do.
	Reasons []Reason
	Cut     bool `name:"truncated"` // more steps follow
}

// Plan returns the governor's next steps, in order, until nothing is left to do. Plan changes nothing.
func (a *Admin) Plan(ctx context.Context) (p *Plan, err error) {
	err = a.read(ctx, OpPlan, cluster.MetaLeader, &protocol.ClusterPlan{}, func(a *protocol.Answer) {
		m := &a.ClusterPlan
		p = &Plan{Steps: m.Steps, Reasons: m.Reasons, Cut: m.Truncated}
	})
	return p, err
}

// Why lists the governor's current steps, its obstacles, and everything that is not as desired.
type Why struct {
	Steps []Step // open steps
	// Reasons explain why the governor does nothing else and which hosts are offline. A reason with CodeDue names a
	// step that only waits for time.
	Reasons []Reason
	// AtRest reports that no work is pending and none will start unless something happens. Leadership moves that only
	// spread the load do not count.
	AtRest bool `name:"idle"`
}

const (
	// CodeDue marks a step that only waits for time. CodeOccupied marks a step that waits for a step in progress.
	// CodeAway marks a host that is drained, stopped, considered failed, or was never started.
	CodeDue, CodeOccupied, CodeAway = "pending", "occupied", "host-offline"
	// RuleLeaders is the rule that moves leaderships to spread the load, once a leadership has been stable for long
	// enough.
	RuleLeaders = "leaders"
	// RuleBalance is the rule that moves slots to the shards that should have them by their weights. CodeQueued marks
	// the reason with the number of slots that are still to move, CodePacing a rest between two moves.
	RuleBalance, CodeQueued, CodePacing = "balance", "slot-move-limit", "rebalance-pacing"
)

// Why returns the steps in progress, the obstacles, and the steps that are due.
func (a *Admin) Why(ctx context.Context) (w *Why, err error) {
	err = a.read(ctx, OpWhy, cluster.MetaLeader, &protocol.ClusterWhy{}, func(a *protocol.Answer) {
		w = &Why{Steps: a.ClusterWhy.Steps, Reasons: a.ClusterWhy.Reasons}
		w.AtRest = len(w.Steps) == 0 &&
			!slices.ContainsFunc(w.Reasons, func(r Reason) bool { return r.Rule != RuleLeaders })
	})
	return w, err
}

// CancelStep cancels a step in progress. Changes that the step already made remain. The governor starts no other step
// for the same subject until hold has passed.
func (a *Admin) CancelStep(ctx context.Context, id uint64, hold time.Duration, by ChangeInfo) (changed bool,
	err error) {
	m := &protocol.StepCancel{Operation: by.operation(), StepID: id, HoldMillis: uint64(hold.Milliseconds())}
	return a.cancel(ctx, OpCancel, number(id), m)
}

// RetryStep makes the governor retry immediately after a failure. subject is the subject named in a reason.
func (a *Admin) RetryStep(ctx context.Context, subject string, by ChangeInfo) error {
	m := &protocol.StepCancel{Operation: by.operation(), Subject: protocol.View(subject)}
	_, err := a.cancel(ctx, OpRetry, subject, m)
	return err
}

func (a *Admin) cancel(
	ctx context.Context, kind client.OperationKind, name string, m *protocol.StepCancel,
) (changed bool, err error) {
	err = a.change(ctx, kind, name, m, &m.Operation, func(a *protocol.Answer) uint64 {
		changed = !a.StepCancel.Existed
		return a.StepCancel.Since
	})
	return changed, err
}

// SetPolicy changes the policy. change receives the current policy, and runs again if another operator changes the
// policy concurrently. SetPolicy returns the resulting policy.
func (a *Admin) SetPolicy(ctx context.Context, change func(*Policy), by ChangeInfo) (*Policy, error) {
	for {
		c, err := a.Describe(ctx)
		if err != nil {
			return nil, err
		}
		to := c.Policy
		change(&to)
		if low := min(to.Voters, to.Replicas, to.Copies); low < 0 {
			return nil, fmt.Errorf("set policy: %w: a number must not be negative, but is "+
				"%d", client.ErrBadRequest, low)
		}
		m := &protocol.PolicySet{Operation: by.operation(), From: c.Policy, To: to}
		err = a.change(ctx, OpPolicy, "", m, &m.Operation, func(a *protocol.Answer) uint64 { return a.PolicySet.Since })
		if !errors.Is(err, client.ErrFenced) || ctx.Err() != nil {
			return &to, err
		}
	}
}
