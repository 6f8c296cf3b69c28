package machine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	processkind "github.com/signalbox/signalbox/protocol/process"
	rolloutkind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/process"
	"github.com/signalbox/signalbox/shard/rollout"
)

// fullRollout is a bed of a rollout with as many locations and versions as there may be, whose histories are as long as
// they get, with the longest words.
func fullRollout(b *testing.B) *bed {
	b.Helper()
	spec := twoLocations()
	spec.KeepVersions, spec.Locations = rolloutkind.MaxKeep, nil
	for i := range rolloutkind.MaxLocations {
		spec.Locations = append(spec.Locations, rolloutkind.Location{Name: fmt.Sprintf("%0*d", rolloutkind.MaxWord, i)})
	}
	t := newestBed(rolloutkind.MaxLocations)
	t.do(shard.Command{Kind: shard.CmdLead, Term: 1})
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
			t.report(i, rollout.Report{Current: at.Seq, Generation: at.Generation})
		}
		if at := t.target(b, spec.Locations[rolloutkind.MaxLocations-1].Name); at.Seq != n+1 {
			b.Fatalf("the last location has %+v", at)
		}
	}
	return t
}

// BenchmarkWorstReads: how long what is read of the largest rollouts and processes holds the machine's lock, in the
// median and at the worst.
func BenchmarkWorstReads(b *testing.B) {
	full := fullRollout(b)
	many := newestBed(1)
	many.do(shard.Command{Kind: shard.CmdLead, Term: 1})
	for i := range rolloutsInOneGo {
		spec := twoLocations()
		spec.Locations[1].Delay = rolloutkind.MaxDelay
		many.put(fmt.Sprint("rollout-", i), rolloutkind.Put{Spec: spec})
	}
	inboxes := running(b, processkind.MaxMembers, processSpec)
	inboxes.fillInboxes()
	for _, c := range []struct {
		name string
		read func()
	}{
		{"a dry run's copy", func() {
			if r, _ := full.m.RehearseRollout(1, "dns", 0); r == nil {
				b.Fatal("there is no rollout")
			}
		}},
		{"a rollout and why", func() {
			var d RolloutDescription
			full.m.DescribeRollout(1, "dns", shard.PartOptions{Why: true}, &d)
		}},
		{"a history", func() {
			var d RolloutDescription
			part := historyPart + fmt.Sprintf("%0*d", rolloutkind.MaxWord, 3)
			if full.m.DescribeRollout(1, "dns", shard.PartOptions{Part: part}, &d); len(d.Rows) == 0 {
				b.Fatal("it is empty")
			}
		}},
		{"a walk over rollouts", func() { many.m.WalkRollouts(0, 0, func(*RolloutView) {}) }},
		{"a process and why", func() {
			var d ProcessDescription
			inboxes.m.DescribeProcess(1, "p", shard.PartOptions{Why: true}, &d)
		}},
		{"an inbox", func() {
			inboxes.m.Inbox(1, []byte("p"), inboxes.ids[0], inboxes.members[0], 0, process.MaxUnreadBytes, nil)
		}},
		{"a walk over processes", func() { inboxes.m.WalkProcesses(0, 0, func(*ProcessView) {}) }},
	} {
		b.Run(c.name, func(b *testing.B) {
			var all []time.Duration
			for b.Loop() {
				began := time.Now()
				c.read()
				all = append(all, time.Since(began))
			}
			slices.Sort(all)
			b.ReportMetric(float64(all[len(all)/2].Microseconds())/1000, "median-ms")
			b.ReportMetric(float64(all[len(all)-1].Microseconds())/1000, "worst-ms")
		})
	}
}
