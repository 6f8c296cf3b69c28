package rollout

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	rolloutkind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine/machinetest"
)

// crowdBed is a bed for a rollout with the given number of leaders in sas, which have reached version 1.
func crowdBed(b testing.TB, instances int) *bed {
	b.Helper()
	t := rolloutBed(b, instances)
	for i := range instances {
		t.joinRollout(i, fmt.Sprintf("i%05d.sas.example.net", i), "sas")
		t.lead(i)
	}
	t.publish(rolloutkind.Publication{Payload: []byte("zone")})
	for i := range instances {
		t.report(i, Report{Current: 1, Generation: 1})
	}
	return t
}

// BenchmarkRolloutReport: an instance's report without consequences, among many instances.
func BenchmarkRolloutReport(b *testing.B) {
	for _, n := range []int{10, 5000} {
		b.Run(fmt.Sprintf("instances=%d", n), func(b *testing.B) {
			t := crowdBed(b, n)
			name := []byte("dns")
			bodies := [2][]byte{}
			for k := range bodies {
				bodies[k] = AppendReport(nil, Report{
					Current: 1, Generation: 1, Attempts: uint64(k),
				})
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				t.ApplyAs(i%n, &shard.Command{Kind: shard.CmdRolloutReport, Name: name, Body: bodies[i/n%2]})
			}
		})
	}
}

// BenchmarkRolloutAsk: an ask without consequences, executed, and an ask answered without the log.
func BenchmarkRolloutAsk(b *testing.B) {
	t := crowdBed(b, 5000)
	name := []byte("dns")
	body := AppendReport(nil, Report{Current: 1, Generation: 1})
	b.Run("logged", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			t.ApplyAs(i%5000, &shard.Command{Kind: shard.CmdRolloutAsk, Name: name, Body: body})
		}
	})
	b.Run("unchanged", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			at := i % 5000
			c := shard.Command{
				Kind: shard.CmdRolloutAsk, Node: 1, Name: name, Body: body, Session: t.IDs[at],
				Number: t.Numbers[at] + 1,
				Acked:  t.Numbers[at],
			}
			if _, is := Unchanged(t.M, &c, 0); !is {
				b.Fatal("it is not answered without the log")
			}
		}
	})
}

// BenchmarkRolloutPublish: a version for a location with 5,000 instances that have reached the previous version, and
// their reports.
func BenchmarkRolloutPublish(b *testing.B) {
	const instances = 5000
	t := crowdBed(b, instances)
	b.Run("publish", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			t.publish(rolloutkind.Publication{Payload: []byte("zone")})
		}
	})
	b.Run("reached by all", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			t.publish(rolloutkind.Publication{Payload: []byte("zone")})
			at := t.target(b, "sas")
			for i := range instances {
				t.report(i, Report{Current: at.Seq, Generation: at.Generation})
			}
		}
	})
}

// BenchmarkRolloutWhy: why a rollout is blocked, if the awaited instance is the last.
func BenchmarkRolloutWhy(b *testing.B) {
	const instances = rolloutkind.MaxInstances
	t := crowdBed(b, instances)
	t.publish(rolloutkind.Publication{})
	for i := range instances - 1 {
		t.report(i, Report{Current: 2, Generation: 2})
	}
	for b.Loop() {
		var d Description
		Describe(t.M, 1, "dns", shard.PartOptions{Part: "source", Why: true}, &d)
		if len(d.Reasons) == 0 || d.Reasons[0].Waiting != 1 {
			b.Fatalf("%v", d.Reasons)
		}
	}
}

// BenchmarkRolloutList: a list's longest page, with rollouts whose second location waits for its delay.
func BenchmarkRolloutList(b *testing.B) {
	t := newBed(1)
	for i := range maxPage {
		name := []byte(fmt.Sprintf("rollout-%05d", i))
		t.put(string(name), rolloutkind.Put{Spec: twoLocations()})
		j := Append(nil, &rolloutkind.Instance{Name: "a", Location: "sas"})
		t.As(0, shard.Command{Kind: shard.CmdRolloutJoin, Name: name, Body: j})
		t.As(0, shard.Command{Kind: shard.CmdRolloutRole, Name: name, Count: 1})
		for n := range uint64(64) {
			t.Do(shard.Command{
				Kind: shard.CmdRolloutPublish, Node: 1, Name: name,
				Body: Append(nil, &rolloutkind.Publication{}),
			})
			report := AppendReport(nil, Report{Current: n + 1, Generation: n + 1})
			t.As(0, shard.Command{Kind: shard.CmdRolloutReport, Name: name, Body: report})
		}
	}
	var page []rolloutkind.Summary
	for b.Loop() {
		page, _, _ = List(t.M, 1, "", "", 0, page[:0])
	}
	if len(page) != maxPage || page[0].Phase == rolloutkind.Idle {
		b.Errorf("%d rollouts, the first %v", len(page), page[0].Phase)
	}
}

// BenchmarkRolloutSnapshot saves a shard with 10,000 idle rollouts with 10 versions each, and reports the size per
// rollout.
func BenchmarkRolloutSnapshot(b *testing.B) {
	const rollouts = 10_000
	t := newBed(0)
	before := machinetest.Heap()
	for i := range rollouts {
		name := fmt.Sprintf("rollout-%05d", i)
		t.put(name, rolloutkind.Put{Spec: twoLocations()})
		for range 10 {
			t.Do(shard.Command{
				Kind: shard.CmdRolloutPublish, Node: 1, Name: []byte(name),
				Body: Append(nil, &rolloutkind.Publication{Label: "v"}), Data: make([]byte, 100),
			})
		}
	}
	heap := machinetest.Heap() - before
	for b.Loop() {
		sn, err := t.M.PrepareSnapshot()
		if err != nil {
			b.Fatal(err)
		}
		if err := sn.Save(io.Discard, nil); err != nil {
			b.Fatal(err)
		}
		sn.Discard()
	}
	b.ReportMetric(float64(heap)/rollouts, "heap-B/rollout")
	b.ReportMetric(float64(t.M.Usage(1).Bytes)/rollouts, "quota-B/rollout")
}

// BenchmarkRolloutInstances reports an instance's memory, and its restore time.
func BenchmarkRolloutInstances(b *testing.B) {
	const instances = 20_000
	t := rolloutBed(b, instances)
	before, quota := machinetest.Heap(), t.M.Usage(1).Bytes
	for i := range instances {
		t.joinRollout(i, fmt.Sprintf("i%05d.sas.example.net", i), "sas")
	}
	heap, taken := machinetest.Heap()-before, t.M.Usage(1).Bytes-quota
	file := machinetest.File(b, t.M)
	for b.Loop() {
		if err := empty().Restore(bytes.NewReader(file)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(heap)/instances, "heap-B/instance")
	b.ReportMetric(float64(taken)/instances, "quota-B/instance")
}
