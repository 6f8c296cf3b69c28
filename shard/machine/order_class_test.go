package machine_test

import (
	"testing"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/test/twin"
)

// TestMistakesInClassesOfOrderIDsAreNoticed: an order id in a different shard's class is detected, even for an old
// command.
func TestMistakesInClassesOfOrderIDsAreNoticed(t *testing.T) {
	noticeMistakes(t, []plantedMistake{
		{"order ids have no class", twin.NoClass, 16, "order="},
	})
}

// TestOrderIDsOfTwoShardsAreNeverEqual: for the first, a middle, and the last possible shard.
func TestOrderIDsOfTwoShardsAreNeverEqual(t *testing.T) {
	given := map[shard.OrderID]uint64{}
	for _, id := range []uint64{1, 512, shard.MaxShard} {
		m := machine.New(machine.TestKinds, machine.Options{Shard: id})
		resultOf(t, m, shard.Command{Kind: shard.CmdLevel, Count: uint64(level.Newest)})
		session := resultOf(t, m, shard.Command{Kind: shard.CmdSessionCreate, Level: 1, Node: 1}).Session
		last := shard.OrderID(0)
		for i := range 100 {
			order := resultOf(t, m, shard.Command{
				Kind: shard.CmdAcquire, Level: 1, Node: 1, Name: []byte{byte(i)}, Session: session,
				Number: uint64(i + 1), Acked: uint64(i), Count: 1, Flags: shard.FlagEphemeral,
			}).Order
			if other, twice := given[order]; twice || order <= last {
				t.Fatalf("shard %d gave order id %d after %d; shard %d has given it too", id, order, last, other)
			}
			given[order], last = id, order
		}
	}
}

// TestAnIDAboveAllClassesIsRefused: such a shard would assign another shard's order ids.
func TestAnIDAboveAllClassesIsRefused(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("there is a shard with an id of eleven bits")
		}
	}()
	machine.New(machine.TestKinds, machine.Options{Shard: shard.MaxShard + 1})
}
