package simulation_test

import (
	"testing"
	"time"

	"github.com/signalbox/signalbox/test/simulation"
)

// TestHostsComeAndGo plays worlds whose hosts join, lose their directories, are drained, cordoned and expelled, and die
// while a step is open.
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
