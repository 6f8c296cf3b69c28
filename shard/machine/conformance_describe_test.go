package machine_test

import (
	"slices"
	"testing"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine"
)

// playReading plays a case with the machine alone: the twin has no reads.
func playReading(t *testing.T, story func(m *scene, machine *machine.Machine)) {
	t.Helper()
	machine := machine.New(machine.TestKinds, machine.Options{})
	story(newScene(t, machine, shard.EverySlot()), machine)
}

func TestDescribeTellsTheCountWithoutListingAnybody(t *testing.T) {
	playReading(t, func(m *scene, machine *machine.Machine) {
		m.start("s1", "s2")
		m.create("sem", 5)
		m.acquire("s1", "sem", count(4))
		m.acquire("s2", "sem", count(2))
		var d shard.Description
		if !machine.Describe(semaphoreRef(homeNode, "sem"), shard.DescribeOptions{}, &d) {
			t.Fatal("not found")
		}
		if d.Count != 4 || d.Owners != 1 || d.Waiters != 1 || len(d.Links) != 0 {
			t.Errorf("described as %+v", d)
		}
	})
}

// TestDescribeListsOwnersAndWaitersWithTheirData: waiters have their timeout, owners do not.
func TestDescribeListsOwnersAndWaitersWithTheirData(t *testing.T) {
	playReading(t, func(m *scene, machine *machine.Machine) {
		m.start("s1", "s2")
		m.create("sem", 5, data("own"))
		m.acquire("s1", "sem", count(3), data("foobar"), timeout(30))
		m.acquire("s2", "sem", count(3), data("next"), timeout(20))
		var d shard.Description
		machine.Describe(semaphoreRef(homeNode, "sem"), shard.DescribeOptions{Owners: true, Waiters: true}, &d)
		want := []shard.LinkView{
			{Order: 1, Session: m.id("s1"), Count: 3, Data: "foobar", Owner: true},
			{Order: nthOrder(2), Session: m.id("s2"), Count: 3, Data: "next", Timeout: 20_000},
		}
		if d.Count != 3 || d.Limit != 5 || d.Data != "own" || !slices.Equal(d.Links, want) {
			t.Errorf("described as %+v", d)
		}
	})
}

func TestDescribeOfAMissingNameFindsNothing(t *testing.T) {
	playReading(t, func(_ *scene, machine *machine.Machine) {
		if machine.Describe(semaphoreRef(homeNode, "sem"), shard.DescribeOptions{Owners: true}, &shard.Description{}) {
			t.Error("found")
		}
	})
}
