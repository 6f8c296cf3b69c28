package replica

import (
	"errors"
	"slices"
	"testing"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/meta"
)

// TestABatchThatThisHostNeverProposedHaltsIt plants a batch with the host's own number and a future sequence.
func TestABatchThatThisHostNeverProposedHaltsIt(t *testing.T) {
	s := standalone(t, 1)
	r := s.All()[0]
	var halted error
	s.config.Halt = func(err error) { halted = err }
	command := shard.AppendCommand(nil, &shard.Command{Kind: shard.CmdContinue})
	batch := shard.AppendGathered(nil, s.proposer, 1<<40, clock.Stamp{}, 1, command)
	if err := r.Apply([]shard.Entry{{Index: r.AppliedIndex() + 1, Data: batch}}); err == nil || halted == nil {
		t.Fatalf("Apply returned %v, and Halt was called with %v", err, halted)
	}
}

// TestApplyReportsTheCommandsOfEachBatch: also for batches from other hosts, because snapshots depend on the count.
func TestApplyReportsTheCommandsOfEachBatch(t *testing.T) {
	s := standalone(t, 1)
	s.closeLogs() // the logs apply nothing beside the test
	ofMeta, err := meta.AppendBatch(nil, &meta.Batch{Commands: slices.Repeat(
		[]meta.Command{{Kind: meta.CmdGraceConfirmed}}, 3)})
	if err != nil {
		t.Fatal(err)
	}
	ofData := shard.AppendBatch(nil, &shard.Batch{Commands: []shard.Command{
		{Kind: shard.CmdContinue}, {Kind: shard.CmdContinue},
	}})
	for _, c := range []struct {
		machine shard.StateMachine
		applied uint64
		batch   []byte
		want    int
	}{
		{s.Meta, s.Meta.applied.Load(), ofMeta, 3},
		{s.All()[0], s.All()[0].AppliedIndex(), ofData, 2},
	} {
		entries := []shard.Entry{{Index: c.applied + 1, Data: c.batch}}
		if err := c.machine.Apply(entries); err != nil || entries[0].Commands != c.want {
			t.Errorf("%T: %d commands are reported, want %d; %v", c.machine, entries[0].Commands, c.want, err)
		}
	}
}

// TestResultsThatAreNotThoseOfTheirCommandsAreRefused plants effects for a batch with two commands.
func TestResultsThatAreNotThoseOfTheirCommandsAreRefused(t *testing.T) {
	r := standalone(t, 1).All()[0]
	for what, c := range map[string]struct {
		results []int32
		ok      bool
	}{
		"both":           {[]int32{0, 1}, true},
		"the first":      {[]int32{0}, false},
		"the second":     {[]int32{1}, false},
		"none":           {nil, false},
		"swapped":        {[]int32{1, 0}, false},
		"one twice":      {[]int32{0, 0}, false},
		"one too many":   {[]int32{0, 1, 2}, false},
		"the last again": {[]int32{0, 1, 1}, false},
	} {
		t.Run(what, func(t *testing.T) {
			r.batch = shard.Batch{Commands: []shard.Command{{Kind: shard.CmdContinue}, {Kind: shard.CmdContinue}}}
			r.effects.Reset()
			for _, op := range c.results {
				r.effects.List = append(r.effects.List, shard.Effect{Kind: shard.EffectResult, Op: op})
			}
			if err := r.complete(nil); errors.Is(err, errBrokenBatch) == c.ok {
				t.Fatalf("the error is %v", err)
			}
		})
	}
}
