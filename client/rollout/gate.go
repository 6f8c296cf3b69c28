package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/object"
	"github.com/signalbox/signalbox/protocol"
)

// Verdict is what a checker says of a target at a gate.
type Verdict struct {
	Result Result
	// Text is what was found, for people.
	Text string
}

// Result is the result of a check.
type Result uint8

// The results. A gate begins as pending: what no checker has passed is not passed.
const (
	GatePending      = Result(protocol.VerdictPending)
	GatePassed       = Result(protocol.VerdictPassed)
	GateFailed       = Result(protocol.VerdictFailed)
	GateInconclusive = Result(protocol.VerdictInconclusive)
)

// String returns the result in a word.
func (r Result) String() string { return object.InWords(protocol.Verdict(r).String()) }

// Judgement is a verdict, and what it is about.
type Judgement struct {
	Location string
	Gate     string
	// Seq is the version that was checked, Generation the target; 0 is the present target of that version.
	Seq        uint64
	Generation uint64
	Verdict    Verdict
	By         string // who checked
}

// Judge passes a verdict on a target at a gate. client.ErrFenced says that the location has another target by now.
func (r *Rollout) Judge(ctx context.Context, j Judgement) error {
	return r.change(ctx, OpGate, func(k object.Key) (protocol.RequestMessage, *protocol.Mutation) {
		m := &protocol.RolloutGate{
			NodeID: k.Node, Name: k.Name, Location: protocol.View(j.Location), Gate: protocol.View(j.Gate), Seq: j.Seq,
			Generation: j.Generation, Verdict: protocol.Verdict(j.Verdict.Result), By: protocol.View(j.By),
			Text: protocol.View(cut(j.Verdict.Text)),
		}
		return m, &m.Mutation
	}, nil)
}

// GateOption sets how a gate is checked.
type GateOption func(*checker)

// CheckedBy is who checks, for people.
func CheckedBy(name string) GateOption { return func(c *checker) { c.judgement.By = name } }

type checker struct {
	rollout   *Rollout
	judgement Judgement // what is the same in all
	check     func(context.Context, Version) Verdict
}

// Gate checks the targets of a location at one of its gates, each once, until the context or the session ends; it
// returns why. client.ErrNotFound says that there is no such rollout, location or gate.
//
// check gets the version of a target, with its payload and label, and returns when it has found out. Its context ends
// when the location has another target: what it returns is not used then. It runs on the goroutine of the call.
func Gate(
	ctx context.Context, s *client.Session, name, location, gate string,
	check func(ctx context.Context, v Version) Verdict, options ...GateOption,
) error {
	c := &checker{rollout: In(s, name), judgement: Judgement{Location: location, Gate: gate}, check: check}
	for _, o := range options {
		o(c)
	}
	ctx, cancel := object.Within(ctx, s.Context())
	defer cancel()
	err := c.exists(ctx)
	if err == nil {
		err = c.run(ctx)
	}
	return failed(OpGate, name, err)
}

// exists finds a mistake in a name before the gate waits for ever.
func (c *checker) exists(ctx context.Context) error {
	s, err := c.rollout.Describe(ctx)
	if err != nil {
		return err
	}
	l := s.Location(c.judgement.Location)
	if l == nil || !slices.Contains(l.Location.Gates, c.judgement.Gate) {
		return fmt.Errorf("%w: a gate %q of the location %q", ErrNotFound, c.judgement.Gate, c.judgement.Location)
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

// judge checks a target, and passes the verdict on until a host has it, or the location has another target.
func (c *checker) judge(ctx context.Context, f *object.Follower, t *Target) error {
	whole := ctx
	ctx, end := f.Begin(ctx, t.isIn)
	defer end(nil)
	j := c.judgement
	j.Seq, j.Generation = t.Seq, t.Generation
	j.Verdict = c.check(ctx, Version{Seq: t.Seq, Payload: t.Payload, Label: t.Label, PayloadBytes: len(t.Payload)})
	for failures := 0; ctx.Err() == nil; failures++ {
		err := c.rollout.Judge(ctx, j)
		switch {
		case err == nil || errors.Is(err, client.ErrFenced):
			return nil
		case isFinal(whole, err):
			return err
		}
		select {
		case <-time.After(again.Pause(failures)):
		case <-ctx.Done():
		}
	}
	return nil
}
