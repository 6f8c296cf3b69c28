package simulation

import (
	"context"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/test/workload"
)

// finishTime is how long an operator may take, when all faults are over, to take away what holds its objects up.
const finishTime = 2 * time.Minute

// startOperators has the rollouts and processes made that clients work with, and acts on them where the world has an
// operator.
func (w *world) startOperators(ctx context.Context) {
	for i, pace := range []time.Duration{w.plan.Rollouts, w.plan.Processes} {
		if pace == 0 {
			continue
		}
		desk := workload.Desk{
			Client: workload.Open(context.Background(), w.cluster.Addresses(), client.WithDialer(w.cluster.Dial)),
			Record: w.record, Node: path, Pace: pace, Gathers: w.plan.Gathers,
			Random: w.random(700 + i),
		}
		var o workload.Operator = &workload.RolloutOperator{Desk: desk}
		if i == 1 {
			o = &workload.ProcessOperator{Desk: desk}
		}
		w.desks, w.operators = append(w.desks, desk.Client), append(w.operators, o)
		w.background.Go(func() {
			if w.plan.Operator {
				o.Operate(ctx)
			} else {
				o.Make(ctx)
			}
		})
	}
}

// finishOperators has operators take away what holds rollouts and processes up, and begin something last.
func (w *world) finishOperators() {
	for _, o := range w.operators {
		ctx, cancel := context.WithTimeout(context.Background(), finishTime)
		if !o.Finish(ctx) {
			w.record.Note("all faults are over, and %T could not finish in %v", o, finishTime)
		}
		cancel()
	}
}

// readOperators records what rollouts and processes have decided.
func (w *world) readOperators() {
	for i, o := range w.operators {
		ctx, cancel := context.WithTimeout(context.Background(), w.plan.Recovery)
		o.ReadEnd(ctx)
		cancel()
		if err := w.desks[i].Close(); err != nil {
			w.record.Note("the client of %T did not end in order: %v", o, err)
		}
	}
}
