package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/object"
	"github.com/signalbox/signalbox/client/internal/option"
	"github.com/signalbox/signalbox/client/internal/retry"
	"github.com/signalbox/signalbox/protocol"
)

// ReportGate reports a verdict on a target at a gate. client.ErrFenced means that the location has another target by
// now.
func (r *Rollout) ReportGate(ctx context.Context, j GateReport) error {
	j.Verdict.Text = cut(j.Verdict.Text)
	return r.change(ctx, OpGateReport, func(k object.Key) protocol.MutationMessage {
		return &protocol.RolloutGateReport{NodeID: k.Node, Name: k.Name, GateReport: j}
	}, nil)
}

// takenUpWithin is how long a check waits until hosts show that the check has started.
const takenUpWithin = time.Second

// GateOption sets how a gate is checked.
type GateOption func(*checker)

// CheckedBy sets the checker's display name.
func CheckedBy(name string) GateOption { return func(c *checker) { c.judgement.By = name } }

type checker struct {
	rollout   *Rollout
	judgement GateReport // the common section of all verdicts
	check     func(context.Context, Version) Verdict
}

// Gate checks a location's targets at one of its gates, each target once, until the context or the session ends, and
// returns the reason. client.ErrNotFound means that the rollout, the location or the gate does not exist.
//
// Rollout.Why names the checker, set by CheckedBy, from when the checker starts on a target, with the elapsed time.
//
// check gets a target's version, with payload and label, and returns a verdict. The context ends when the location has
// another target; the verdict is ignored then. check runs in the caller's goroutine.
func Gate(
	ctx context.Context, s *client.Session, name, location, gate string,
	check func(ctx context.Context, v Version) Verdict, options ...GateOption,
) error {
	c := option.Apply(&checker{
		rollout: NewInSession(s, name), judgement: GateReport{Location: location, Gate: gate}, check: check,
	}, options)
	ctx, cancel := object.Within(ctx, s.Context())
	defer cancel()
	err := c.exists(ctx)
	if err == nil {
		err = c.run(ctx)
	}
	return failed(OpGateReport, name, err)
}

// exists detects a mistake in a name before the gate waits forever.
func (c *checker) exists(ctx context.Context) error {
	s, err := c.rollout.Describe(ctx)
	if err != nil {
		return err
	}
	l := s.Location(c.judgement.Location)
	if l == nil || !slices.Contains(l.Location.Gates, c.judgement.Gate) {
		return fmt.Errorf("%w: gate %q in location %q", ErrNotFound, c.judgement.Gate, c.judgement.Location)
	}
	return nil
}

func (c *checker) run(ctx context.Context) error {
	f := c.rollout.follow(ctx, "location/"+c.judgement.Location)
	defer f.Stop()
	var judged *Target
	for {
		v, err := f.Next(ctx, -1)
		if err != nil {
			return err
		}
		if v == nil {
			continue
		}
		t, err := targetIn(v)
		if err != nil {
			return err
		}
		if t == nil || t.same(judged) {
			continue
		}
		judged = t
		if err := c.judge(ctx, f, t); err != nil {
			return err
		}
	}
}

// takeUp reports who checks a target, for operators who ask why the target is not reached. A gate with a verdict or a
// checker does not change. The report is optional, so a check waits only briefly for it.
func (c *checker) takeUp(ctx context.Context, j GateReport) {
	ctx, cancel := context.WithTimeout(ctx, takenUpWithin)
	defer cancel()
	s, err := c.rollout.Describe(ctx, Consistency(client.Strict))
	if err != nil {
		return
	}
	l := s.Location(j.Location)
	untouched := func(g GateState) bool { return g.Name == j.Gate && g.Verdict == Verdict{} && g.By == "" }
	if l == nil || l.Target.Generation != j.Generation || !slices.ContainsFunc(l.Gates, untouched) {
		return
	}
	j.Verdict = Verdict{Result: GatePending, Text: "a check is in progress"}
	_ = c.rollout.ReportGate(ctx, j) // the verdict is what counts
}

// judge checks a target and reports the verdict until a host has it or the location has another target.
func (c *checker) judge(ctx context.Context, f *object.Follower, t *Target) error {
	whole := ctx
	ctx, end := f.Begin(ctx, t.isIn)
	defer end(nil)
	j := c.judgement
	j.Seq, j.Generation = t.Seq, t.Generation
	c.takeUp(ctx, j)
	j.Verdict = c.check(ctx, Version{Seq: t.Seq, Payload: t.Payload, Label: t.Label, PayloadBytes: len(t.Payload)})
	for failures := 0; ctx.Err() == nil; failures++ {
		err := c.rollout.ReportGate(ctx, j)
		switch {
		case err == nil || errors.Is(err, client.ErrFenced):
			return nil
		case isFinal(whole, err):
			return err
		}
		_ = retry.Wait(ctx, again.Pause(failures)) // the loop looks at the context
	}
	return nil
}
