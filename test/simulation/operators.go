package simulation

import (
	"context"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/test/workload"
)

// finishTime is the maximum time after all faults for an operator to unblock its objects.
const finishTime = 2 * time.Minute

// startOperators creates the rollouts and processes for clients, and operates on them if the world has an operator.
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

// finishOperators lets operators unblock rollouts and processes, and start a last one.
func (w *world) finishOperators() {
	for _, o := range w.operators {
		ctx, cancel := context.WithTimeout(context.Background(), finishTime)
		if !o.Finish(ctx) {
			w.record.Note("all faults are over, and %T could not finish in %v", o, finishTime)
		}
		cancel()
	}
}

// readOperators records decisions of rollouts and processes.
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
