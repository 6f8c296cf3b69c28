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
	// Step is a step of the governor, open or next to be begun.
	Step = host.Step
	// Reason is why the governor does not do something.
	Reason = host.Reason
	// Policy is what operators ask of the governor.
	Policy = host.Policy
)

// Plan is what the governor would do if all went well.
type Plan struct {
	Steps []Step
	// Reasons say why nothing is done after the last step; without reasons all is as it should be.
	Reasons []Reason
	Cut     bool `name:"truncated"` // more steps follow
}

// Plan returns what the governor would do next, one step after the other until nothing is left to do. Plan changes
// nothing.
func (a *Admin) Plan(ctx context.Context) (p *Plan, err error) {
	err = a.read(ctx, OpPlan, cluster.MetaLeader, &protocol.ClusterPlan{}, func(a *protocol.Answer) {
		m := &a.ClusterPlan
		p = &Plan{Steps: m.Steps, Reasons: m.Reasons, Cut: m.Truncated}
	})
	return p, err
}

// Why is the present work of the governor, the obstacles, and everything that is not as it should be.
type Why struct {
	Steps []Step // open steps
	// Reasons say why nothing else is done, which hosts are away, and with CodeDue which step only waits for time.
	Reasons []Reason
	// AtRest: all is as it should be, and stays so if nothing happens. A leadership that may be moved later to spread
	// the load is no unrest.
	AtRest bool `name:"idle"`
}

const (
	// CodeDue is the code of a reason for a step that only waits for time, CodeOccupied for a step that waits for an
	// open step, CodeAway for a host that is drained, stopped, taken for failed, or was never started.
	CodeDue, CodeOccupied, CodeAway = "pending", "occupied", "host-offline"
	// RuleLeaders is the rule that moves leaderships to spread the load, whenever they have rested for long enough.
	RuleLeaders = "leaders"
)

// Why returns which steps are open, what the governor waits for, and what is due.
func (a *Admin) Why(ctx context.Context) (w *Why, err error) {
	err = a.read(ctx, OpWhy, cluster.MetaLeader, &protocol.ClusterWhy{}, func(a *protocol.Answer) {
		w = &Why{Steps: a.ClusterWhy.Steps, Reasons: a.ClusterWhy.Reasons}
		w.AtRest = len(w.Steps) == 0 &&
			!slices.ContainsFunc(w.Reasons, func(r Reason) bool { return r.Rule != RuleLeaders })
	})
	return w, err
}

// CancelStep ends an open step. The changes of the step until then stay. During hold no other step about the subject
// is begun.
func (a *Admin) CancelStep(ctx context.Context, id uint64, hold time.Duration, by ChangeInfo) (changed bool,
	err error) {
	m := &protocol.StepCancel{Operation: by.operation(), StepID: id, HoldMillis: uint64(hold.Milliseconds())}
	return a.cancel(ctx, OpCancel, number(id), m)
}

// RetryStep has the governor try again at once after a failure. The subject is the subject of a reason.
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

// SetPolicy changes the policy: change gets the policy in force, and is called again if another operator changes the
// policy at the same time. SetPolicy returns the policy that is in force then.
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
