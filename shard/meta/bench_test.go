package meta

import (
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
)

// full is a machine with so many nodes, in no order of their paths.
func full(b *testing.B, nodes int) (*Machine, []string) {
	b.Helper()
	m := born(1)
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
