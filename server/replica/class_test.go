package replica

import (
	"testing"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
)

// TestOrderIDsOfAReplicaHaveTheClassOfItsShard: even in a replica that was emptied and applies the log again.
func TestOrderIDsOfAReplicaHaveTheClassOfItsShard(t *testing.T) {
	var out shard.Effects
	apply := func(r *Replica, c shard.Command) *shard.Effect {
		out.Reset()
		r.Machine.Apply(&shard.Batch{Stamp: clock.Stamp{Term: r.Machine.Term()}, Commands: []shard.Command{c}}, &out)
		for i := range out.List {
			if out.List[i].Kind == shard.EffectResult {
				return &out.List[i]
			}
		}
		t.Fatalf("%v was not answered", c.Kind)
		return nil
	}
	given := func(r *Replica) uint64 {
		apply(r, shard.Command{Kind: shard.CmdLevel, Count: uint64(level.Newest)})
		id := apply(r, shard.Command{Kind: shard.CmdSessionCreate, Level: 1, Slot: r.slots.At(0), Node: 1}).Session
		name := []byte("lock-")
		for !r.slots.Has(shard.SlotOf(1, name)) {
			name[len(name)-1]++
		}
		return uint64(apply(r, shard.Command{
			Kind: shard.CmdAcquire, Level: 1, Node: 1, Name: name, Session: id, Number: 1, Count: 1,
			Flags: shard.FlagEphemeral,
		}).Order)
	}
	for _, r := range standalone(t, 3).All() {
		for _, of := range []string{"a shard", "an emptied copy"} {
			if order := given(r); order == 0 || order%1024 != r.ID {
				t.Errorf("%s of shard %d gives order id %d", of, r.ID, order)
			}
			if err := r.empty(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
