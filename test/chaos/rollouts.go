//go:build linux

package chaos

import (
	"context"
	"time"

	"github.com/signalbox/signalbox/test/workload"
)

const (
	// rolloutPace is that of the rollouts of a node: their delays are about a second.
	rolloutPace = 1
	// rolloutThink is the mean pause of those that work with rollouts.
	rolloutThink = 150 * time.Millisecond
)

// newRolloutOperator returns the operator of the rollouts of the act.
func (t *trial) newRolloutOperator() *workload.RolloutOperator {
	return &workload.RolloutOperator{
		Client: t.direct, Record: t.record, Node: t.node, Pace: rolloutPace, Random: t.act.random(5),
	}
}

// finishRollouts takes away what holds the rollouts up, and publishes a last version of each.
func (t *trial) finishRollouts(ctx context.Context) {
	if t.rollouts == nil {
		return
	}
	ctx, cancel := withRunningTime(ctx, t.finalTimeout)
	defer cancel()
	if !t.rollouts.Finish(ctx) {
		t.record.Note("no program works any more, and the operator could not finish the rollouts in %v", t.finalTimeout)
	}
}
