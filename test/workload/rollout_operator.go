package workload

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/test/history"
)

// RolloutOperator is the Operator for rollouts.
type RolloutOperator struct{ Desk }

var _ Operator = (*RolloutOperator)(nil)

// ObjectNames returns the names of all rollouts and processes in a test.
func ObjectNames() []string { return slices.Concat(rolloutNames, processNames) }

// rolloutNames are the names in Rollouts in a fixed order.
var rolloutNames = []string{"published", "asked"}

// Make implements Operator.
func (o *RolloutOperator) Make(ctx context.Context) bool {
	specs := Rollouts(o.Pace)
	for _, name := range rolloutNames {
		if !o.made(ctx, func(ctx context.Context) error {
			return rollout.New(o.Client, o.Node, name).Create(ctx, specs[name], rollout.ChangeInfo{Reason: "made"})
		}) {
			return false
		}
	}
	return true
}

// Operate implements Operator.
func (o *RolloutOperator) Operate(ctx context.Context) {
	if !o.Make(ctx) {
		return
	}
	for Sleep(ctx, UpTo(o.Random, 20*o.Pace*time.Second)) {
		o.act(ctx, Pick(o.Random, rolloutNames...))
	}
}

// act draws an action, followed by its reversal if the action would block the rollout forever.
func (o *RolloutOperator) act(ctx context.Context, name string) {
	long := UpTo(o.Random, 3*o.Pace*time.Second)
	locations := []string{Pick(o.Random, sas, man, man)}
	switch o.Random.IntN(10) {
	case 0, 1:
		o.do(ctx, name, rollout.Action{Kind: rollout.Pause})
		Sleep(ctx, long)
		o.do(ctx, name, rollout.Action{Kind: rollout.Resume})
	case 2:
		o.do(ctx, name, rollout.Action{Kind: rollout.Promote, Locations: Pick(o.Random, nil, locations)})
	case 3:
		o.do(ctx, name, rollout.Action{Kind: rollout.Abort})
		Sleep(ctx, long)
		o.do(ctx, name, rollout.Action{Kind: Pick(o.Random, rollout.Resume, rollout.Retry)})
	case 4, 5, 6:
		o.do(ctx, name, rollout.Action{
			Kind: rollout.Rollback, Seq: o.recent(ctx, name), Fast: o.Random.IntN(2) == 0,
			Locations: Pick(o.Random, nil, locations),
		})
	case 7:
		o.do(ctx, name, rollout.Action{Kind: rollout.Withdraw, Seq: o.recent(ctx, name)})
	case 8:
		o.do(ctx, name, rollout.Action{Kind: rollout.Retry})
	case 9:
		if o.Random.IntN(3) == 0 {
			o.do(ctx, name, rollout.Action{Kind: rollout.Bypass, Locations: locations})
			Sleep(ctx, long)
			o.do(ctx, name, rollout.Action{Kind: rollout.Unbypass, Locations: locations})
		}
	}
}

// recent draws one of a rollout's last versions, 0 if unreadable.
func (o *RolloutOperator) recent(ctx context.Context, name string) uint64 {
	ctx, cancel := context.WithTimeout(ctx, operatorTimeout)
	defer cancel()
	s, err := rollout.New(o.Client, o.Node, name).Describe(ctx)
	if err != nil {
		return 0
	}
	return s.LastSeq - min(s.LastSeq, o.Random.Uint64N(4))
}

// do performs an action, and reports whether the action certainly took effect.
func (o *RolloutOperator) do(ctx context.Context, name string, act rollout.Action) bool {
	o.acts++
	act.By = rollout.ChangeInfo{Author: "operator", Reason: fmt.Sprintf("act-%d", o.acts)}
	return o.request(ctx, name, history.Request{
		Kind: history.Act, Verb: act.Kind.String(), Locations: act.Locations, Seq: act.Seq, Mark: act.By.Reason,
	}, func(ctx context.Context, r *rollout.Rollout, _ *history.Request) error { return r.Act(ctx, act) })
}

// request sends a request in a new session, so that the request takes effect once. It reports whether the request
// certainly did.
func (o *RolloutOperator) request(
	ctx context.Context, name string, r history.Request,
	make func(context.Context, *rollout.Rollout, *history.Request) error,
) bool {
	o.inSession(ctx, func(ctx context.Context, s *client.Session) {
		r.Rollout, r.Session, r.Called = history.Rollout{Node: o.Node, Name: name}, s.ID(), o.Record.Now()
		r.Outcome, r.Error = OutcomeOf(make(ctx, rollout.NewInSession(s, name), &r))
		o.Record.Request(r)
	})
	return r.Outcome == history.Done
}

// Finish implements Operator. The last activity is a version for each rollout.
func (o *RolloutOperator) Finish(ctx context.Context) bool {
	if !o.Make(ctx) {
		return false
	}
	specs := Rollouts(o.Pace)
	for _, name := range rolloutNames {
		var all []string
		for _, l := range specs[name].Locations {
			all = append(all, l.Name)
		}
		if !untilDone(ctx,
			func() bool { return o.do(ctx, name, rollout.Action{Kind: rollout.Unbypass, Locations: all}) },
			func() bool { return o.do(ctx, name, rollout.Action{Kind: rollout.Resume}) },
			func() bool { return o.do(ctx, name, rollout.Action{Kind: rollout.Promote}) },
			func() bool { return o.publishLast(ctx, name) },
		) {
			return false
		}
	}
	return true
}

func (o *RolloutOperator) publishLast(ctx context.Context, name string) bool {
	o.acts++
	mark := fmt.Sprintf("last-%d", o.acts)
	return o.request(ctx, name, history.Request{Kind: history.Publish, Mark: mark},
		func(ctx context.Context, r *rollout.Rollout, x *history.Request) (err error) {
			x.Seq, err = r.Publish(ctx, []byte(mark), rollout.Label(mark))
			return err
		})
}
