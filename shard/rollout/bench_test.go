package rollout

import (
	"fmt"
	"testing"

	kind "github.com/signalbox/signalbox/protocol/rollout"
)

// crowd is a rollout with three locations and instances in the first.
func crowd(tb testing.TB, n int) (*Rollout, []*Instance, *At) {
	at := &At{Now: 1000, Revision: 1, Out: new(Effects)}
	r, a := New(*at, parseSpec([]string{"sas", "man:5000", "vla:5000"}),
		kind.ChangeInfo{Author: "op", Reason: "benchmark"})
	if a.Status != 0 {
		tb.Fatal(a.Text)
	}
	var list []*Instance
	for k := range n {
		i := &Instance{ID: uint64(k + 1)}
		r.Join(*at, i, fmt.Sprintf("dns-%05d.example.org", k), "sas", "")
		r.SetRole(*at, i, Leader)
		list = append(list, i)
	}
	r.Publish(*at, kind.Publication{Payload: make([]byte, 64)})
	return r, list, at
}

// TestAReportThatChangesNothingAllocatesNothing: a report that changes only counts allocates nothing either.
func TestAReportThatChangesNothingAllocatesNothing(t *testing.T) {
	r, list, at := crowd(t, 1000)
	report := Report{Current: 1, Generation: 1}
	r.Report(*at, list[0], report)
	if n := testing.AllocsPerRun(100, func() {
		at.Out.Reset()
		if !r.changesNothing(at.Now, list[0], &report, false) {
			t.Fatal("it changes something")
		}
		r.Report(*at, list[0], report)
	}); n != 0 {
		t.Errorf("a report that changes nothing allocates %v times", n)
	}
	k := 0
	if n := testing.AllocsPerRun(100, func() {
		at.Out.Reset()
		at.Revision++
		k++
		r.Report(*at, list[k], report)
	}); n != 0 {
		t.Errorf("a report that changes a count allocates %v times", n)
	}
	k = 0
	if n := testing.AllocsPerRun(100, func() {
		at.Out.Reset()
		r.Ask(*at, list[0], report)
	}); n != 0 {
		t.Errorf("an ask that changes nothing allocates %v times", n)
	}
}

// BenchmarkReport reports a new target for a location's 10,000 instances; the last report completes the target.
func BenchmarkReport(b *testing.B) {
	r, list, at := crowd(b, 10_000)
	b.ReportAllocs()
	k := 0
	for b.Loop() {
		if k == len(list) {
			k = 0
			b.StopTimer()
			at.Out.Reset()
			r.Publish(*at, kind.Publication{Payload: make([]byte, 64)})
			b.StartTimer()
		}
		at.Out.Reset()
		at.Now++
		at.Revision++
		t := r.locations[0].Target()
		r.Report(*at, list[k], Report{Current: t.Seq, Generation: t.Generation})
		k++
	}
}

// BenchmarkReportFailure is BenchmarkReport with instances that cannot use the target, and without a second version.
func BenchmarkReportFailure(b *testing.B) {
	r, list, at := crowd(b, 10_000)
	b.ReportAllocs()
	k, attempt := 0, uint64(4)
	for b.Loop() {
		if k == len(list) {
			k, attempt = 0, attempt+1
		}
		at.Out.Reset()
		at.Revision++
		t := r.locations[0].Target()
		r.Report(*at, list[k], Report{Generation: t.Generation, Status: kind.Failed, Attempts: attempt})
		k++
	}
}

// BenchmarkReportUnchanged repeats a report with known facts.
func BenchmarkReportUnchanged(b *testing.B) {
	r, list, at := crowd(b, 10_000)
	report := Report{Current: 1, Generation: 1}
	r.Report(*at, list[0], report)
	b.ReportAllocs()
	for b.Loop() {
		at.Out.Reset()
		r.Report(*at, list[0], report)
	}
}

// BenchmarkAdvance checks 32 locations with 64 rows each, without advancing any location.
func BenchmarkAdvance(b *testing.B) {
	at := At{Now: 1000, Revision: 1, Out: new(Effects)}
	words := []string{"l0"}
	for n := range kind.MaxLocations - 1 {
		words = append(words, fmt.Sprintf("l%d:5000", n+1))
	}
	r, _ := New(at, parseSpec(words), kind.ChangeInfo{Author: "op", Reason: "benchmark"})
	for n := range kind.MaxLocations {
		i := &Instance{ID: uint64(n + 1)}
		r.Join(at, i, fmt.Sprint("i", n), fmt.Sprint("l", n), "")
		r.SetRole(at, i, Leader)
	}
	for range 64 {
		r.Publish(at, kind.Publication{})
		r.Act(at, kind.Action{Kind: kind.Promote, Seq: r.lastSeq})
	}
	for n := range kind.MaxLocations {
		l := r.locations[n]
		r.Report(at, r.byName[fmt.Sprint("i", n)], Report{Current: l.present(), Generation: l.generation()})
	}
	b.ReportAllocs()
	for b.Loop() {
		at.Out.Reset()
		at.Now++
		r.run(at, true)
	}
}
