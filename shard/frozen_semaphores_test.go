package shard_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/test/keptlog"
	"github.com/signalbox/signalbox/test/twin"
)

// TestFrozenSemaphoresAreMade makes the log of random commands on semaphores for TestFrozenLevelsAreWhatTheyWere.
func TestFrozenSemaphoresAreMade(t *testing.T) {
	if !*shard.WriteFrozen {
		t.Skip("makes a log only where -frozen.write is given")
	}
	const commands, parts = 2000, 5
	source := twin.NewGenerator(replaySeed)
	m := shard.New(shard.Options{Slots: source.Options().Slots, Bounds: shard.FrozenBounds})
	w := keptlog.Writer{}
	note := func() {
		empty := shard.FrozenMachine(shard.New(shard.Options{Bounds: shard.FrozenBounds}))
		if err := w.Snapshot(shard.FrozenMachine(m), empty); err != nil {
			t.Fatal(err)
		}
	}
	var out shard.Effects
	apply := func(b *shard.Batch) {
		w.Batch(shard.AppendBatch(nil, b))
		out.Reset()
		m.Apply(b, &out)
	}
	note()
	for at := level.First + 1; at <= level.Newest; at++ {
		apply(&shard.Batch{Commands: []shard.Command{{Kind: shard.CmdLevel, Level: m.Level(), Count: uint64(at)}}})
	}
	for done, part := 0, 0; done < commands; {
		state := m.State()
		b := source.Batch(&state)
		for i := range b.Commands {
			if c := &b.Commands[i]; c.Kind.String() == fmt.Sprintf("command-%d", c.Kind) || c.Level > state.Level {
				*c = shard.Command{Kind: shard.CmdLead, Level: state.Level} // hosts propose what they know only
			}
		}
		apply(b)
		if done += len(b.Commands); done/(commands/parts) > part {
			part++
			note()
		}
	}
	note()
	if err := w.Keep(filepath.Join("testdata", "frozen", keptlog.FileName(level.Newest, "semaphores"))); err != nil {
		t.Fatal(err)
	}
}
