package twin_test

import (
	"testing"
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/test/twin"
)

// TestShrinkKeepsOnlyWhatTheFailureNeeds shrinks a failure that needs two of ten sessions, and one acquire from each.
func TestShrinkKeepsOnlyWhatTheFailureNeeds(t *testing.T) {
	o := machine.Options{Shard: 1, Slots: shard.EverySlot(), Bounds: allowed}
	var batches []*shard.Batch
	for range 10 {
		batches = append(batches, &shard.Batch{Commands: []shard.Command{{Kind: shard.CmdSessionCreate, Node: 1}}})
	}
	for i := range uint64(10) {
		session := shard.NewSessionID(0, i+1)
		batches = append(batches, &shard.Batch{Commands: []shard.Command{
			{Kind: shard.CmdSemaphoreCreate, Node: 1, Name: []byte("b"), Count: 1},
			{Kind: shard.CmdAcquire, Node: 1, Name: []byte("a"), Session: session, Number: 1, Count: 1,
				Flags: shard.FlagEphemeral},
		}})
	}
	failsAt := func(list []*shard.Batch) int {
		tw, out := twin.New(o), new(shard.Effects)
		for i, b := range list {
			tw.Apply(b, out)
			state := tw.State()
			if len(state.Semaphores) > 0 && len(state.Semaphores[0].Links) == 2 {
				return i
			}
		}
		return -1
	}
	shrunk := twin.Shrink(o, batches, time.Minute, failsAt)
	if len(shrunk) != 4 || failsAt(shrunk) != 3 {
		for _, b := range shrunk {
			t.Log(twin.CommandText(&b.Commands[0]))
		}
		t.Fatalf("shrunk to %d batches that fail at %d, not to 4 that fail at the last", len(shrunk), failsAt(shrunk))
	}
}
