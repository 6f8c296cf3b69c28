package rollout

import (
	"fmt"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	rolloutkind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine/machinetest"
)

// fullRollout is a bed for a rollout with the maximum numbers of locations and versions, maximum histories, and the
// longest texts.
func fullRollout(b *testing.B) *bed {
	b.Helper()
	spec := twoLocations()
	spec.KeepVersions, spec.Locations = rolloutkind.MaxKeep, nil
	for i := range rolloutkind.MaxLocations {
		spec.Locations = append(spec.Locations, rolloutkind.Location{Name: fmt.Sprintf("%0*d", rolloutkind.MaxWord, i)})
	}
	t := newBed(rolloutkind.MaxLocations)
	if e := t.put("dns", rolloutkind.Put{Spec: spec}); e.Status != protocol.StatusSuccess {
		b.Fatal(e)
	}
	for i, l := range spec.Locations {
		if e := t.joinRollout(i, fmt.Sprintf("%0*d", rolloutkind.MaxText, i),
			l.Name); e.Status != protocol.StatusSuccess {
			b.Fatal(e)
		}
		t.lead(i)
	}
	for n := range uint64(rolloutkind.MaxKeep) {
		t.publish(rolloutkind.Publication{Label: strings.Repeat("l", rolloutkind.MaxWord)})
		for i, l := range spec.Locations {
			at := t.target(b, l.Name)
			t.report(i, Report{Current: at.Seq, Generation: at.Generation})
		}
		if at := t.target(b, spec.Locations[rolloutkind.MaxLocations-1].Name); at.Seq != n+1 {
			b.Fatalf("the last location has %+v", at)
		}
	}
	return t
}

// BenchmarkWorstReads: how long reads of the largest rollouts hold the machine's lock.
func BenchmarkWorstReads(b *testing.B) {
	full := fullRollout(b)
	many := newBed(1)
	for i := range rolloutsInOneGo {
		spec := twoLocations()
		spec.Locations[1].Delay = rolloutkind.MaxDelay
		many.put(fmt.Sprint("rollout-", i), rolloutkind.Put{Spec: spec})
	}
	machinetest.BenchmarkRead(b, "a dry run's copy", func() {
		if r, _ := Rehearse(full.M, 1, "dns", 0); r == nil {
			b.Fatal("there is no rollout")
		}
	})
	machinetest.BenchmarkRead(b, "a rollout and why", func() {
		var d Description
		Describe(full.M, 1, "dns", shard.PartOptions{Why: true}, &d)
	})
	machinetest.BenchmarkRead(b, "a history", func() {
		var d Description
		part := historyPart + fmt.Sprintf("%0*d", rolloutkind.MaxWord, 3)
		if Describe(full.M, 1, "dns", shard.PartOptions{Part: part}, &d); len(d.Rows) == 0 {
			b.Fatal("it is empty")
		}
	})
	machinetest.BenchmarkRead(b, "a walk over rollouts", func() { Walk(many.M, 0, 0, func(*Status) {}) })
}
