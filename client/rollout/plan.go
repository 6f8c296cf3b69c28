package rollout

import (
	"context"
	"slices"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/object"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
)

// PlanOptions are the assumptions for a dry run.
type PlanOptions struct {
	// Takes is how long leaders take to reach a target.
	Takes time.Duration
	// Publish: as if a version was published now.
	Publish bool
	// Act, if not nil, is an action to perform first.
	Act         *Action
	Consistency client.Consistency
}

// Plan performs a dry run and changes nothing. It returns which location would get which version when, if every leader
// reached each target in the time Takes, every gate then passed, and nothing else happened.
func (r *Rollout) Plan(ctx context.Context, dry PlanOptions) (steps []Step, err error) {
	err = r.object.Read(ctx, OpPlan, func(k object.Key) protocol.RequestMessage {
		m := &protocol.RolloutPlan{
			NodeID: k.Node, Name: k.Name, TakesMillis: field.MillisOf(dry.Takes), Publish: dry.Publish,
			Consistency: protocol.Consistency(dry.Consistency),
		}
		if dry.Act != nil {
			m.Action = *dry.Act
		}
		return m
	}, func(a *protocol.Answer) {
		steps = slices.Collect(a.RolloutPlan.Steps.All(a.RolloutPlan.NowMillis))
	})
	return steps, failed(OpPlan, r.Name(), err)
}
