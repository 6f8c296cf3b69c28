package simulation_test

import (
	"strings"
	"testing"

	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/shard/meta"
	"github.com/signalbox/signalbox/test/history"
	"github.com/signalbox/signalbox/test/simulation"
)

// TestLeadersLeaveSlowHosts runs worlds with a slow disk on one host, or on all hosts. Leaders leave a slow host, and
// do not return to a slow host. If all hosts are slow, no host counts as slow.
func TestLeadersLeaveSlowHosts(t *testing.T) {
	if testing.Short() {
		t.Skip("worlds of members take long")
	}
	sum := &totals{}
	for seed := range uint64(4) {
		p := simulation.DrawSlow(seed + 1)
		check(t, p, run(t, p, nil, sum), sum)
	}
	if t.Log(sum.faults); sum.faults[simulation.SlowHost] == 0 {
		t.Error("no host was slow")
	}
}

// plantedInSlowHosts are bugs about slow hosts. The world with the bug's seed must detect the bug.
var plantedInSlowHosts = []struct {
	name string
	seed uint64
	make func() *simulation.Bug
}{
	{"no host becomes slow", 1, func() *simulation.Bug {
		return withSlowMarks(func(m *meta.HostSlow) { m.Slow = false })
	}},
	{"a host measures nothing", 1, func() *simulation.Bug {
		return &simulation.Bug{Config: func(c *server.Config) { c.LogSyncs = server.NewSyncTimes() }}
	}},
}

func TestPlantedBugsInSlowHostsAreNoticed(t *testing.T) {
	if testing.Short() {
		t.Skip("plays many worlds, which take minutes under the race detector")
	}
	for i, x := range plantedInSlowHosts {
		if !isPlanted(i, len(plantedInSlowHosts)) {
			continue
		}
		t.Run(strings.ReplaceAll(x.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			for range memberTries {
				found, _ := history.Check(run(t, simulation.DrawSlow(x.seed), x.make(), &totals{}))
				for _, f := range found {
					if strings.Contains(f.Text, "is slow, and leads shards") {
						t.Log(f)
						return
					}
				}
			}
			t.Errorf("not noticed in %d runs of seed %d", memberTries, x.seed)
		})
	}
}

// withSlowMarks changes what the governor records about slow hosts.
func withSlowMarks(change func(*meta.HostSlow)) *simulation.Bug {
	return withFullLog(func(id uint64, l *fullLog) {
		if id != 0 {
			return
		}
		l.alter = func(c *meta.Command) {
			if m, is := c.Request.(*meta.HostSlow); is {
				change(m)
			}
		}
	})
}
