//go:build linux

package chaos

import (
	"context"
	"time"

	"github.com/signalbox/signalbox/test/workload"
)

const (
	// poolPace is the pace for rollouts and processes in a node: their delays are about a second.
	poolPace = 1
	// poolThink is the mean pause of pool workers.
	poolThink = 150 * time.Millisecond
)

// newOperators returns the act's rollout and process operators.
func (t *trial) newOperators() []workload.Operator {
	desk := func(part int) workload.Desk {
		return workload.Desk{
			Client: t.direct, Record: t.record, Node: t.node, Pace: poolPace, Gathers: t.act.gathers(),
			Random: t.act.random(part),
		}
	}
	return []workload.Operator{
		&workload.RolloutOperator{Desk: desk(5)}, &workload.ProcessOperator{Desk: desk(6)},
	}
}

// finishOperators lets operators remove everything that blocks rollouts and processes, and start a last one.
func (t *trial) finishOperators(ctx context.Context) {
	for _, o := range t.operators {
		finishing, cancel := withRunningTime(ctx, t.finalTimeout)
		if !o.Finish(finishing) {
			t.record.Note("no program works any more, and %T could not finish in %v", o, t.finalTimeout)
		}
		cancel()
	}
}
