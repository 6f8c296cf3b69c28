package simulation

import (
	"context"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/test/workload"
)

// finishTime is how long the operator of rollouts may take, when all faults are over, to take away what holds them up.
const finishTime = 2 * time.Minute

// startRollouts has the rollouts made that clients work with, and acts on them where the world has an operator.
func (w *world) startRollouts(ctx context.Context) {
	if w.plan.Rollouts == 0 {
		return
	}
	c := workload.Open(context.Background(), w.cluster.Addresses(), client.WithDialer(w.cluster.Dial))
	w.rollouts = &workload.RolloutOperator{
		Client: c, Record: w.record, Node: path, Pace: w.plan.Rollouts, Random: w.random(700),
	}
	w.background.Go(func() {
		if w.plan.Operator {
			w.rollouts.Operate(ctx)
		} else {
			w.rollouts.Make(ctx)
		}
	})
}

// finishRollouts takes away what holds the rollouts up, and publishes a last version of each.
func (w *world) finishRollouts() {
	if w.rollouts == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), finishTime)
	defer cancel()
	if !w.rollouts.Finish(ctx) {
		w.record.Note("all faults are over, and the operator could not finish the rollouts in %v", finishTime)
	}
}

// readRollouts records what the rollouts have decided.
func (w *world) readRollouts() {
	if w.rollouts == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), w.plan.Recovery)
	defer cancel()
	w.rollouts.ReadEnd(ctx)
	if err := w.rollouts.Client.Close(); err != nil {
		w.record.Note("the operator of the rollouts did not end in order: %v", err)
	}
}
