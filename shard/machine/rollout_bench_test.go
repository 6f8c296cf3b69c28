package machine

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"testing"

	rolloutkind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/rollout"
)

// crowd is a bed of a rollout with so many leaders in sas, which have reached version 1.
func crowd(b testing.TB, instances int) *bed {
	b.Helper()
	t := rolloutBed(b, instances)
	for i := range instances {
		t.joinRollout(i, fmt.Sprintf("i%05d.sas.example.net", i), "sas")
		t.lead(i)
	}
	t.publish(rolloutkind.Publication{Payload: []byte("zone")})
	for i := range instances {
		t.report(i, rollout.Report{Current: 1, Generation: 1})
	}
	return t
}

// BenchmarkRolloutReport: a report of an instance that moves nothing, among many.
func BenchmarkRolloutReport(b *testing.B) {
	for _, n := range []int{10, 5000} {
		b.Run(fmt.Sprintf("instances=%d", n), func(b *testing.B) {
			t := crowd(b, n)
			name := []byte("dns")
			bodies := [2][]byte{}
			for k := range bodies {
				bodies[k] = rollout.AppendReport(nil, rollout.Report{
					Current: 1, Generation: 1, Attempts: uint64(k),
				})
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				t.applyAs(i%n, &shard.Command{Kind: shard.CmdRolloutReport, Name: name, Body: bodies[i/n%2]})
			}
		})
	}
}

// BenchmarkRolloutAsk: an ask that moves nothing, carried out; and one that is answered without the log.
func BenchmarkRolloutAsk(b *testing.B) {
	t := crowd(b, 5000)
	name := []byte("dns")
	body := rollout.AppendReport(nil, rollout.Report{Current: 1, Generation: 1})
	b.Run("logged", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			t.applyAs(i%5000, &shard.Command{Kind: shard.CmdRolloutAsk, Name: name, Body: body})
		}
	})
	b.Run("unchanged", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			at := i % 5000
			c := shard.Command{
				Kind: shard.CmdRolloutAsk, Node: 1, Name: name, Body: body, Session: t.ids[at],
				Number: t.numbers[at] + 1,
				Acked:  t.numbers[at],
			}
			if _, is := t.m.Unchanged(&c, 0); !is {
				b.Fatal("it is not answered without the log")
			}
		}
	})
}

// BenchmarkRolloutPublish: a version for a location with 5,000 instances, which has reached the one before, and their
// reports of it.
func BenchmarkRolloutPublish(b *testing.B) {
	const instances = 5000
	t := crowd(b, instances)
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
				t.report(i, rollout.Report{Current: at.Seq, Generation: at.Generation})
			}
		}
	})
}

// BenchmarkRolloutWhy: why a rollout does not move, where the last of its instances is the one that it waits for, and
// is not found.
func BenchmarkRolloutWhy(b *testing.B) {
	const instances = rolloutkind.MaxInstances
	t := crowd(b, instances)
	t.publish(rolloutkind.Publication{})
	for i := range instances - 1 {
		t.report(i, rollout.Report{Current: 2, Generation: 2})
	}
	for b.Loop() {
		var d RolloutDescription
		t.m.DescribeRollout(1, "dns", shard.PartOptions{Part: "source", Why: true}, &d)
		if len(d.Reasons) == 0 || d.Reasons[0].Waiting != 1 {
			b.Fatalf("%v", d.Reasons)
		}
	}
}

// BenchmarkRolloutList: the longest page of a list, of rollouts whose second location waits for its delay.
func BenchmarkRolloutList(b *testing.B) {
	t := newestBed(1)
	t.do(shard.Command{Kind: shard.CmdLead, Term: 1})
	for i := range maxRolloutPage {
		name := []byte(fmt.Sprintf("rollout-%05d", i))
		t.put(string(name), rolloutkind.Put{Spec: twoLocations()})
		j := rollout.Append(nil, &rolloutkind.Instance{Name: "a", Location: "sas"})
		t.as(0, shard.Command{Kind: shard.CmdRolloutJoin, Name: name, Body: j})
		t.as(0, shard.Command{Kind: shard.CmdRolloutRole, Name: name, Count: 1})
		for n := range uint64(64) {
			t.do(shard.Command{
				Kind: shard.CmdRolloutPublish, Node: 1, Name: name,
				Body: rollout.Append(nil, &rolloutkind.Publication{}),
			})
			report := rollout.AppendReport(nil, rollout.Report{Current: n + 1, Generation: n + 1})
			t.as(0, shard.Command{Kind: shard.CmdRolloutReport, Name: name, Body: report})
		}
	}
	var page []rolloutkind.Summary
	for b.Loop() {
		page, _, _ = t.m.ListRollouts(1, "", "", 0, page[:0])
	}
	if len(page) != maxRolloutPage || page[0].Phase == rolloutkind.Idle {
		b.Errorf("%d rollouts, the first %v", len(page), page[0].Phase)
	}
}

// BenchmarkRolloutSnapshot saves a shard with 10,000 idle rollouts of 10 versions each, and says what one takes.
func BenchmarkRolloutSnapshot(b *testing.B) {
	const rollouts = 10_000
	t := newestBed(0)
	t.do(shard.Command{Kind: shard.CmdLead, Term: 1})
	before := heapBytes()
	for i := range rollouts {
		name := fmt.Sprintf("rollout-%05d", i)
		t.put(name, rolloutkind.Put{Spec: twoLocations()})
		for range 10 {
			t.do(shard.Command{
				Kind: shard.CmdRolloutPublish, Node: 1, Name: []byte(name),
				Body: rollout.Append(nil, &rolloutkind.Publication{Label: "v"}), Data: make([]byte, 100),
			})
		}
	}
	heap := heapBytes() - before
	for b.Loop() {
		sn, err := t.m.PrepareSnapshot()
		if err != nil {
			b.Fatal(err)
		}
		if err := sn.Save(io.Discard, nil); err != nil {
			b.Fatal(err)
		}
		sn.Discard()
	}
	b.ReportMetric(float64(heap)/rollouts, "heap-B/rollout")
	b.ReportMetric(float64(t.m.Usage(1).Bytes)/rollouts, "quota-B/rollout")
}

// BenchmarkRolloutInstances says what an instance takes, and how long its state takes to be restored.
func BenchmarkRolloutInstances(b *testing.B) {
	const instances = 20_000
	t := rolloutBed(b, instances)
	before, quota := heapBytes(), t.m.Usage(1).Bytes
	for i := range instances {
		t.joinRollout(i, fmt.Sprintf("i%05d.sas.example.net", i), "sas")
	}
	heap, taken := heapBytes()-before, t.m.Usage(1).Bytes-quota
	file := save(b, prepare(b, t.m))
	for b.Loop() {
		if err := New(TestKinds, Options{}).Restore(bytes.NewReader(file)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(heap)/instances, "heap-B/instance")
	b.ReportMetric(float64(taken)/instances, "quota-B/instance")
}

func heapBytes() uint64 {
	var ms runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&ms)
	return ms.HeapAlloc
}
