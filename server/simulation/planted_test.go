package simulation_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/history"
	"github.com/signalbox/signalbox/server/simulation"
	"github.com/signalbox/signalbox/shard"
)

var seek = flag.Int("seek", 0, "for each planted bug, how many seeds TestPlantedBugs looks through to tell which catch it")

// planted are mistakes that were made on purpose. Each must be noticed, in the world of its seed.
var planted = []struct {
	name string
	seed uint64
	make func() *simulation.Bug
}{
	{"a barrier passes without a quorum", 1, freshnessOff},
	{"a new leader gives no grace", 1, graceOff},
	{"a lease is counted from a ping that no host has answered yet", 1, latePong},
	{"a host answers pings without making sure that it leads", 1, unprovenPong},
	{"a change that is sent again is made again", 1, noDedupe},
	{"the wrong session expires", 1, wrongSession},
	{"nobody expires", 1, func() *simulation.Bug {
		return withCommand(shard.CmdSessionsExpire, func(c *shard.Command) { c.Sessions = nil })
	}},
	{"the dead keep what they have in other shards", 1, func() *simulation.Bug {
		return withCommand(shard.CmdSessionsForget, func(c *shard.Command) { c.Sessions = nil })
	}},
	{"clocks of hosts run at double speed", 1, fastClocks},
	{"who was promoted is not told", 1, func() *simulation.Bug { return dropping(protocol.KindGranted, 3) }},
	{"a release takes what another one has", 1, staleRelease},
	{"a release is answered and not made", 1, releaseSwallowed},
	{"a write with an old token is accepted", 1, func() *simulation.Bug {
		return withCommand(shard.CmdSemaphoreUpdate, func(c *shard.Command) { c.Order = 0 })
	}},
	{"less is counted than was asked for", 1, func() *simulation.Bug {
		return withCommand(shard.CmdAcquire, func(c *shard.Command) { c.Count = (c.Count + 1) / 2 })
	}},
	{"a host misses a batch", 1, lostChange},
	{"a watch misses a change", 1, func() *simulation.Bug { return dropping(protocol.KindWatchDelta, 20) }},
	{"a one-shot watch is not told", 1, func() *simulation.Bug { return dropping(protocol.KindChanged, 1) }},
	{"an owner is not told that he lost it", 1, func() *simulation.Bug { return dropping(protocol.KindHoldingLost, 1) }},
	{"a STRICT read is answered like a RELAXED one", 1, relaxedForStrict},
}

// tries is how often the world of a seed is played until the mistake in it is noticed: seeds do not fix everything.
const tries = 5

func TestPlantedBugsAreNoticed(t *testing.T) {
	for _, x := range planted {
		t.Run(strings.ReplaceAll(x.name, " ", "-"), func(t *testing.T) {
			if *seek > 0 {
				seekSeed(t, x.make)
				return
			}
			if testing.Short() && x.seed > 10 {
				t.Skip("a long world")
			}
			for range tries {
				if found := noticed(t, x.seed, x.make()); len(found) > 0 {
					t.Log(found[0])
					return
				}
			}
			t.Errorf("not noticed in %d runs of seed %d", tries, x.seed)
		})
	}
}

func noticed(t *testing.T, seed uint64, bug *simulation.Bug) []history.Finding {
	t.Helper()
	found, _ := history.Check(play(t, simulation.Draw(seed), bug, &tally{}))
	return found
}

// seekSeed tells which seeds notice a mistake, and by which rules.
func seekSeed(t *testing.T, bug func() *simulation.Bug) {
	for seed := range uint64(*seek) {
		rules, times := make(map[string]bool), 0
		for range 2 {
			found := noticed(t, seed+1, bug())
			for _, f := range found {
				rules[f.Rule] = true
			}
			if len(found) > 0 {
				times++
			}
		}
		if times > 0 {
			t.Log(fmt.Sprintf("seed %d: %d of 2, %v", seed+1, times, rules))
		}
		if times == 2 {
			return
		}
	}
	t.Errorf("no seed up to %d notices it twice", *seek)
}
