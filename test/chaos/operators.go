//go:build linux

package chaos

import (
	"context"
	"time"

	"github.com/signalbox/signalbox/test/workload"
)

const (
	// poolPace is that of the rollouts and processes of a node: their delays are about a second.
	poolPace = 1
	// poolThink is the mean pause of the workers of a pool.
	poolThink = 150 * time.Millisecond
)

// newOperators returns the operators of the rollouts and the processes of the act.
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

// finishOperators has operators take away what holds rollouts and processes up, and begin something last.
func (t *trial) finishOperators(ctx context.Context) {
	for _, o := range t.operators {
		finishing, cancel := withRunningTime(ctx, t.finalTimeout)
		if !o.Finish(finishing) {
			t.record.Note("no program works any more, and %T could not finish in %v", o, t.finalTimeout)
		}
		cancel()
	}
}
