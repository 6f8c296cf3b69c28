package membership

import (
	"context"
	"errors"
	"fmt"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/executor"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// governorMeta is the executor's view of the meta shard. governorMeta implements executor.Meta.
type governorMeta struct{ set *replica.Set }

// Leadership reports no leader until the hosts are bootstrapped: without records there is nothing to govern.
func (g governorMeta) Leadership() shard.Leadership {
	if !g.set.Meta.Machine.Bootstrapped() {
		return shard.Leadership{}
	}
	return g.set.Meta.Leader()
}

// Barrier implements executor.Meta.
func (g governorMeta) Barrier(ctx context.Context) error {
	done := make(chan bool, 1)
	g.set.Meta.Confirm(func(ok bool) { done <- ok })
	select {
	case ok := <-done:
		if !ok {
			return shard.ErrNoQuorum
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// State implements executor.Meta. State is called after Leadership has reported a leader.
func (g governorMeta) State() executor.State {
	t, now, _ := g.set.Meta.Topology()
	return executor.State{Records: t.Records, Plan: t.Plan, Now: now, Term: t.Clock.Term, Began: t.Clock.Base,
		Grace: g.set.LongestGrace()}
}

// Propose implements executor.Meta.
func (g governorMeta) Propose(ctx context.Context, c executor.Command) error {
	r, err := requestOf(&c)
	if err != nil {
		return err
	}
	e, err := g.set.Meta.Do(ctx, r, g.set.Origin("governor", ""))
	if err == nil && e.Status != protocol.StatusSuccess {
		err = fmt.Errorf("%w: %v: %s", errNotCarriedOut, e.Status, e.Message)
	}
	return err
}

var errNotCarriedOut = errors.New("server: the meta shard did not apply a command")

// reports are the executor's progress reports about a step.
var reports = map[executor.Verb]meta.Report{
	executor.VerbProgress: meta.ReportProgress, executor.VerbRetry: meta.ReportRetry,
	executor.VerbDone: meta.ReportDone, executor.VerbDrop: meta.ReportDrop,
}

// requestOf returns the meta shard request for an executor command.
func requestOf(c *executor.Command) (meta.Request, error) {
	a := &c.Action
	switch c.Verb {
	case executor.VerbBegin:
		return &meta.StepBegin{Term: c.Term, Revision: c.Revision, Proposal: c.Proposal}, nil
	case executor.VerbProgress, executor.VerbRetry, executor.VerbDone, executor.VerbDrop:
		return &meta.StepReport{Act: c.Act, Report: reports[c.Verb], Phase: c.Phase, Text: c.Text}, nil
	case executor.VerbKnown:
		return &meta.ReplicasKnown{Term: c.Term, Shard: c.Shard, Change: c.Change, Members: c.Members}, nil
	case executor.VerbFail:
		return &meta.HostFailed{Term: c.Term, Host: a.Host, Epoch: a.Epoch, Reason: a.Reason, Text: a.Text}, nil
	case executor.VerbReach:
		return &meta.HostReach{Term: c.Term, Host: a.Host, Variant: a.Variant, Epoch: a.Epoch}, nil
	case executor.VerbAssign:
		return &meta.SlotAssign{Slot: c.Slot, Shard: meta.ShardID(c.Owner.Shard), Generation: c.Owner.Generation,
			Text: c.Text}, nil
	case executor.VerbServe:
		return &meta.ShardServe{Term: c.Term, Shard: a.Shard}, nil
	case executor.VerbRetire:
		return &meta.ShardRetire{Term: c.Term, Shard: a.Shard}, nil
	case executor.VerbRestart:
		return &meta.ShardRestart{Term: c.Term, Shard: a.Shard, Group: a.Number, Host: a.Host}, nil
	case executor.VerbSlow:
		return &meta.HostSlow{Term: c.Term, Host: c.Mark.Host, Slow: c.Mark.Slow, Text: c.Mark.Text}, nil
	case executor.VerbCounted:
		return &meta.ShardsCounted{Term: c.Term, List: c.Counts}, nil
	case executor.VerbCleared:
		return &meta.ReplicaCleared{Shard: c.Shard, Replica: c.Replica, Incarnation: c.Incarnation}, nil
	}
	return nil, fmt.Errorf("%w: verb %d", errNotCarriedOut, c.Verb)
}
