package meta

import (
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/plan"
)

// full is a machine with the given number of nodes, in random path order.
func full(b *testing.B, nodes int) (*Machine, []string) {
	b.Helper()
	m := bootstrapped(1)
	paths := make([]string, nodes)
	for i := range paths {
		paths[i] = fmt.Sprintf("/prod/team-%02d/service-%05d", i%50, i)
	}
	rand.New(rand.NewPCG(1, 1)).Shuffle(nodes, func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
	var out Effects
	for _, p := range paths {
		m.Apply(&Batch{Commands: []Command{create(p, Config{})}}, &out)
		out.Reset()
	}
	return m, paths
}

func BenchmarkCreateAndDropAmong100000(b *testing.B) {
	m, _ := full(b, MaxNodes-1)
	batch := Batch{Commands: make([]Command, 1)}
	var out Effects
	random := rand.New(rand.NewPCG(2, 2))
	b.ReportAllocs()
	for b.Loop() {
		path := fmt.Sprintf("/prod/team-%02d/x", random.IntN(50))
		for _, c := range []Command{create(path, Config{}), drop(path), cleared(m.lastNode+1, 1)} {
			batch.Commands[0] = c
			m.Apply(&batch, &out)
			out.Reset()
		}
	}
}

func BenchmarkAlterAmong100000(b *testing.B) {
	m, paths := full(b, MaxNodes)
	batch := Batch{Commands: make([]Command, 1)}
	var out Effects
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		batch.Commands[0] = alter(paths[i%len(paths)], cfg(0, 2000+uint64(i/len(paths)%2)*1000))
		m.Apply(&batch, &out)
		out.Reset()
	}
}

func BenchmarkDescribeByPathAmong100000(b *testing.B) {
	m, paths := full(b, MaxNodes)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, found := m.Node(paths[i%len(paths)]); !found {
			b.Fatal("not found")
		}
	}
}

func BenchmarkDescribeByIDAmong100000(b *testing.B) {
	m, _ := full(b, MaxNodes)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if _, found := m.NodeByID(m.byID.entries[i*7919%MaxNodes].ID); !found {
			b.Fatal("not found")
		}
	}
}

func BenchmarkListPageOf1000Among100000(b *testing.B) {
	m, paths := full(b, MaxNodes)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		if page, _ := m.Nodes("/prod/", paths[i%len(paths)], 1000); len(page) == 0 && i == 0 {
			b.Fatal("an empty page")
		}
	}
}

func BenchmarkPrepareSnapshotAt100000(b *testing.B) {
	m, _ := full(b, MaxNodes)
	b.ReportAllocs()
	for b.Loop() {
		s, _ := m.PrepareSnapshot()
		s.Discard()
	}
}

func BenchmarkFirstWriteAfterPrepareAt100000(b *testing.B) {
	m, paths := full(b, MaxNodes)
	batch := Batch{Commands: make([]Command, 1)}
	var out Effects
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		s, _ := m.PrepareSnapshot()
		batch.Commands[0] = alter(paths[0], cfg(0, 2000+uint64(i%2)*1000))
		m.Apply(&batch, &out)
		out.Reset()
		s.Discard()
	}
}

func BenchmarkSaveAt100000(b *testing.B) {
	m, _ := full(b, MaxNodes)
	for b.Loop() {
		s, _ := m.PrepareSnapshot()
		if err := s.Save(io.Discard, nil); err != nil {
			b.Fatal(err)
		}
		s.Discard()
	}
}

func BenchmarkDigestAt100000(b *testing.B) {
	m, _ := full(b, MaxNodes)
	for b.Loop() {
		m.Digest()
	}
}

// large is a cluster with the maximum number of data shards and a full audit log.
func large(b *testing.B) *cluster {
	b.Helper()
	names := []string{"a", "b", "c", "d", "e"}
	m := registered(b, names...)
	m.routing = bootstrapped(MaxDataShards).routing
	m.done(m.founding())
	for i, name := range names {
		m.done(bootOf(shard.HostID(i+1), name, 1))
	}
	for i := range 10_000 {
		m.ask(&HostCordon{Host: "a", On: i%2 == 0})
	}
	return m
}

func BenchmarkRequestsIn257Shards(b *testing.B) {
	m := large(b)
	change := uint64(0)
	for name, request := range map[string]func() Request{
		"cordon": func() Request { return &HostCordon{Host: "b", On: change%2 == 0} },
		"known": func() Request {
			return &ReplicasKnown{Term: 7, Shard: 200, Change: change, Members: votersOf(1, 2, 3, 4, 5)}
		},
		"expel-refused": func() Request { return &HostExpel{Host: "e"} },
		"step-begin": func() Request {
			return &StepBegin{Term: 7, Revision: m.topology.plan.Revision(), Proposal: plan.Proposal[governor.Action]{
				Kind: governor.KindTransfer, Subject: "shard/1", Payload: governor.Action{Shard: 1, Host: 2, From: 1}}}
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				change++
				m.ask(request())
			}
		})
	}
}

func BenchmarkViewOfTheTopologyOf257Shards(b *testing.B) {
	m := large(b)
	b.ReportAllocs()
	for b.Loop() {
		m.Topology()
	}
}
