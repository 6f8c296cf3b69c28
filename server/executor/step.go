package executor

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/plan"
)

// step is an open step in the plan.
type step = plan.Step[governor.Action]

// work advances one open step. work reports whether a command for the step succeeded.
func (t *term) work(ctx context.Context, v governor.View, s *step) bool {
	t.mu.Lock()
	last := t.acts[s.ID]
	busy := last != nil && last.running
	t.mu.Unlock()
	if busy {
		return false
	}
	advice, phase := t.e.planner.Assess(v, s.ID)
	c := Command{Act: s.Act(t.number), Phase: phase}
	switch advice {
	case plan.Finish:
		c.Verb = VerbDone
	case plan.Drop:
		c.Verb = VerbDrop
	case plan.Report:
		c.Verb = VerbProgress
	case plan.Perform:
		if last != nil && !t.seenSince(v, s, last.ended) {
			return false
		}
		return t.perform(ctx, v, s)
	default:
		return false
	}
	return t.propose(ctx, c) == nil
}

// seenSince reports whether a step's subject was observed after a timestamp: actions are not repeated before.
func (t *term) seenSince(v governor.View, s *step, moment time.Time) bool {
	switch s.Kind {
	case governor.KindClear, governor.KindFail, governor.KindReach,
		governor.KindServe, governor.KindRetire, governor.KindRestart:
		return time.Since(moment) >= reportEvery
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	best := t.best(s.Payload.Shard, v.State)
	return best != nil && best.asked.After(moment)
}

// perform begins a step's action. Commands are proposed immediately; effects run on another goroutine.
func (t *term) perform(ctx context.Context, v governor.View, s *step) bool {
	if verb := recordVerbs[s.Kind]; verb != 0 {
		return t.changeRecords(ctx, s, verb)
	}
	if s.Kind == governor.KindMoveSlot {
		t.run(ctx, s, func(asked *step) error {
			began := time.Now()
			err := t.moveSlot(ctx, v, asked)
			t.moved(&asked.Payload, began)
			return err
		})
		return false
	}
	to, m := t.effectOf(v, s)
	if to == 0 {
		return false
	}
	h := v.State.Host(s.Payload.Host)
	t.run(ctx, s, func(asked *step) error {
		err := t.effect(ctx, to, m)
		if err == nil && asked.Kind == governor.KindClear {
			err = t.propose(ctx, Command{Verb: VerbCleared, Shard: asked.Payload.Shard,
				Replica: asked.Payload.Replica, Incarnation: h.Incarnation})
		}
		return err
	})
	return false
}

// run begins a step's effects on another goroutine.
func (t *term) run(ctx context.Context, s *step, do func(asked *step) error) {
	doing := &act{running: true}
	t.mu.Lock()
	t.acts[s.ID] = doing
	t.mu.Unlock()
	asked := *s
	t.calls.Go(func() { t.ended(ctx, &asked, doing, do(&asked)) })
}

// recordVerbs are the commands for steps that change only the records.
var recordVerbs = map[plan.Kind]Verb{
	governor.KindFail: VerbFail, governor.KindReach: VerbReach, governor.KindServe: VerbServe,
	governor.KindRetire: VerbRetire, governor.KindRestart: VerbRestart,
}

// changeRecords proposes the command for a step that changes only the records.
func (t *term) changeRecords(ctx context.Context, s *step, verb Verb) bool {
	doing := &act{}
	t.mu.Lock()
	t.acts[s.ID] = doing
	t.mu.Unlock()
	err := t.propose(ctx, Command{Verb: verb, Term: t.number, Action: s.Payload})
	t.ended(ctx, s, doing, err)
	return err == nil
}

// effectOf returns a step's effect and the host to ask: the shard's leader, or the host that deletes a replica. The
// host is 0 if unknown.
func (t *term) effectOf(v governor.View, s *step) (to shard.HostID, m *protocol.StepExecute) {
	a := &s.Payload
	m = &protocol.StepExecute{StepID: uint64(s.ID), Effect: protocol.EffectKind(s.Kind), ShardID: uint64(a.Shard),
		ReplicaID: a.Replica, HostID: uint64(a.Host), Change: a.Change}
	h := v.State.Host(a.Host)
	if h != nil {
		m.Incarnation = h.Incarnation[:]
	}
	switch {
	case s.Kind == governor.KindClear && h == nil, s.Kind == governor.KindAdd && h == nil:
		return 0, nil
	case s.Kind == governor.KindClear:
		return a.Host, m
	case s.Kind == governor.KindTransfer:
		return a.From, m
	}
	return leaderOf(v, a.Shard), m
}

// ended records that an action has ended. Unless the action was merely late, an error is recorded: the step waits,
// and by the end of the wait the state has been read again.
func (t *term) ended(ctx context.Context, s *step, doing *act, err error) {
	late := errors.Is(err, shard.ErrOtherMembership) || errors.Is(err, errOldTerm)
	if err != nil && !late && ctx.Err() == nil {
		t.e.config.Log.Warn("a governor step failed", "step", uint64(s.ID), "error", err)
		_ = t.propose(ctx, Command{Verb: VerbRetry, Act: s.Act(t.number), Text: err.Error()}) // else the act is retried
	}
	t.mu.Lock()
	doing.running, doing.ended = false, time.Now()
	for _, w := range t.watches {
		w.ask()
	}
	t.mu.Unlock()
	t.e.Wake()
}

// forgetActs removes actions whose steps are over.
func (t *term) forgetActs(p *plan.Plan[governor.Action]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	maps.DeleteFunc(t.acts, func(id plan.ID, a *act) bool { return p.Step(id) == nil && !a.running })
}
