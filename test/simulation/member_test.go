package simulation_test

import (
	"slices"
	"testing"
	"time"

	"github.com/signalbox/signalbox/test/simulation"
)

// TestHostsComeAndGo runs worlds whose hosts join, lose directories, are drained, cordoned and expelled, and die while
// a step is open.
func TestHostsComeAndGo(t *testing.T) {
	long := 10 * time.Second
	if testing.Short() {
		long = 3 * time.Second
	}
	sum := fresh(t, 1, long, simulation.DrawMembers, anyPlan)
	t.Log(sum.faults)
	if sum.faults[simulation.Join] == 0 && sum.worlds.Load() > 0 {
		t.Error("no host has ever joined")
	}
}

// TestAClusterGrowsToThirtyHosts runs a wide world with joins only.
func TestAClusterGrowsToThirtyHosts(t *testing.T) {
	if !*wide {
		t.Skip("takes a minute and more, played with -wide")
	}
	p := simulation.DrawWide(1)
	p.Faults = slices.DeleteFunc(p.Faults, func(f simulation.Fault) bool { return f.Kind != simulation.Join })
	p.Length, p.Clients = 75*time.Second, p.Clients[:1]
	sum := &totals{}
	check(t, p, run(t, p, nil, sum), sum)
	if sum.hosts < 30 {
		t.Errorf("the cluster had %d hosts at most, want 30", sum.hosts)
	}
}
