package simulation_test

import (
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/server/backup"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/shard/meta"
	"github.com/signalbox/signalbox/test/history"
	"github.com/signalbox/signalbox/test/simulation"
)

// restoredWorld is a seed's world with a restore, shortened to a few seconds.
func restoredWorld(seed uint64) simulation.Plan {
	p := simulation.DrawRestored(seed)
	p.Length = p.Restore.At + p.Restore.Gap + 40*time.Second
	p.Clients = p.Clients[:2]
	for i := range p.Clients {
		p.Clients[i].Timeouts = p.Clients[i].Timeouts[:min(3, len(p.Clients[i].Timeouts))]
		p.Clients[i].Think = 200 * time.Millisecond
	}
	var faults []simulation.Fault
	for _, f := range p.Faults {
		if f.Client < len(p.Clients) && f.At < p.Length {
			faults = append(faults, f)
		}
	}
	p.Faults = faults
	return p
}

// TestAClusterIsRestoredInTheMiddleOfARun runs worlds whose cluster is backed up shard by shard during work, and
// replaced by a restored cluster, with the same and with a different number of shards.
func TestAClusterIsRestoredInTheMiddleOfARun(t *testing.T) {
	for _, seed := range restoredSeeds {
		p := restoredWorld(seed)
		sum := &totals{}
		h := run(t, p, nil, sum)
		check(t, p, h, sum)
		if h.Restored == nil {
			t.Errorf("seed %d: nothing was restored", seed)
		}
		t.Logf("%d shards, then %d: %v", p.Shards, p.Restore.Shards, sum)
	}
}

// restoredSeeds are a seed with an unchanged number of shards, and a seed with a different number.
var restoredSeeds = []uint64{2, 4}

// plantedInRestores are bugs in backup and restore. Each must be detected in its seed's world.
var plantedInRestores = []struct {
	name string
	seed uint64
	make func() *simulation.Bug
	// shape, if set, turns the plan into a world in which the bug matters.
	shape func(*simulation.Plan)
	// rule is the rule that must detect the bug.
	rule string
}{
	{"the meta shard is saved first", 1, metaFirst, nil, "notes"},
	{"no counter is moved", 1, noJump, nil, "restored"},
	{"numbers of versions are given again", 1, noJump, nil, "notes"},
	{"sessions are kept", 1, sessionsKept, sameShards, "restored"},
	{"what dead sessions have in other shards stays", 1, remoteSessionsKept, sameShards, "finals"},
}

func TestPlantedBugsInRestoresAreNoticed(t *testing.T) {
	if testing.Short() {
		t.Skip("plays many worlds, which take minutes under the race detector")
	}
	for i, x := range plantedInRestores {
		if !isPlanted(i, len(plantedInRestores)) {
			continue
		}
		t.Run(strings.ReplaceAll(x.name, " ", "-"), func(t *testing.T) {
			t.Parallel() // a bubble hardly uses more than one core
			for range restoreTries {
				p := restoredWorld(x.seed)
				if x.shape != nil {
					x.shape(&p)
				}
				found, _ := history.Check(run(t, p, x.make(), &totals{}))
				if f := noticedBy(found, x.rule); f != nil {
					t.Log(f)
					return
				}
			}
			t.Errorf("not noticed in %d runs of seed %d", restoreTries, x.seed)
		})
	}
}

// restoreTries is the number of runs per seed.
const restoreTries = 10

// sameShards has two shards before and after.
func sameShards(p *simulation.Plan) { p.Shards, p.Restore.Shards = 2, 2 }

// metaFirst: the meta shard's state is older than the data shards' states.
func metaFirst() *simulation.Bug {
	return &simulation.Bug{Save: func(save func() (*backup.States, error)) (*backup.States, error) {
		first, err := save()
		if err != nil {
			return nil, err
		}
		time.Sleep(time.Second)
		later, err := save()
		if err == nil {
			later.Meta = first.Meta
		}
		return later, err
	}}
}

// noJump: the new cluster continues with the backup's numbers.
func noJump() *simulation.Bug {
	return &simulation.Bug{Regenerate: func(s *backup.States, r meta.Regeneration) (*backup.Machines, error) {
		r.Jump = machine.Jump{}
		return s.Regenerate(r)
	}}
}

// sessionsKept: data shards are unchanged.
func sessionsKept() *simulation.Bug {
	return keeping(func(*machine.Machine) bool { return true })
}

// remoteSessionsKept: one of two shards is unchanged, and never forgets its remote sessions.
func remoteSessionsKept() *simulation.Bug {
	first := true
	bug := keeping(func(*machine.Machine) bool {
		kept := first
		first = false
		return kept
	})
	forget := withCommand(shard.CmdSessionsForget, func(c *shard.Command) { c.Sessions = nil })
	bug.Config = forget.Config
	return bug
}

// keeping leaves the data shards selected by keep unchanged.
func keeping(keep func(*machine.Machine) bool) *simulation.Bug {
	return &simulation.Bug{Regenerate: func(s *backup.States, r meta.Regeneration) (*backup.Machines, error) {
		m, err := s.Regenerate(r)
		if err != nil {
			return nil, err
		}
		for i, id := range s.Shards() {
			if keep(s.Data[id]) {
				m.Data[i] = s.Data[id]
			}
		}
		return m, nil
	}}
}
