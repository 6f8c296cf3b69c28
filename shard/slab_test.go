package shard

import (
	"bytes"
	"testing"
)

// TestASlabGivesBackWhatABurstTook: of a million things that have gone, their chunks do not stay.
func TestASlabGivesBackWhatABurstTook(t *testing.T) {
	var s slab[link]
	var tree forest
	s.trees = []*forest{&tree}
	var handles []handle
	for range 1000 * chunkSize {
		h := s.alloc()
		s.at(h).order = OrderID(h)
		tree.add(new(handle), 0, false, h)
		handles = append(handles, h)
	}
	kept := handles[:0]
	for i, h := range handles {
		if i%(100*chunkSize) == 0 {
			kept = append(kept, h) // ten that stay, each in a chunk of its own
			continue
		}
		s.release(h)
	}
	if most := 2*len(kept) + spareChunks; held(&s) > most {
		t.Errorf("%d chunks stay for %d things; %d are enough", held(&s), len(kept), most)
	}
	nodes := 0
	for _, taken := range tree.taken {
		if taken {
			nodes++
		}
	}
	if most := 2*len(kept) + spareChunks; nodes > most {
		t.Errorf("the tree keeps %d chunks; %d are enough", nodes, most)
	}
	for _, h := range kept {
		if s.at(h).order != OrderID(h) {
			t.Fatalf("the thing at place %d is lost", h)
		}
	}
	// What was given back is handed out again, and is empty.
	for range 500 * chunkSize {
		h := s.alloc()
		if *s.at(h) != (link{}) {
			t.Fatalf("place %d is not empty", h)
		}
		s.at(h).order = OrderID(h)
		tree.add(new(handle), 0, false, h)
		tree.at(h).left = h
		handles = append(handles, h)
	}
	if got, want := s.size(), 500*chunkSize+len(kept); got != want {
		t.Errorf("%d places are in use, %d were handed out", got, want)
	}
	if s.zeros != nil && *s.zeros != ([chunkSize]link{}) {
		t.Error("the shared chunk of zeros was written to")
	}
}

// held counts the chunks that a slab has memory for.
func held[T any](s *slab[T]) (n int) {
	for _, taken := range s.taken {
		if taken {
			n++
		}
	}
	return n
}

// TestASlabThatBreathesAllocatesNothing: neither one thing that comes and goes, nor a burst within what is kept.
func TestASlabThatBreathesAllocatesNothing(t *testing.T) {
	var s slab[link]
	for _, size := range []int{1, (spareChunks - 1) * chunkSize} {
		handles := make([]handle, 0, size)
		breathe := func() {
			for range size {
				handles = append(handles, s.alloc())
			}
			for _, h := range handles {
				s.release(h)
			}
			handles = handles[:0]
		}
		breathe()
		if n := testing.AllocsPerRun(10, breathe); n > 0 {
			t.Errorf("%v allocations where %d come and go", n, size)
		}
	}
}

// TestSlabsFindTheirTreesAfterARestore: they give chunks back together.
func TestSlabsFindTheirTreesAfterARestore(t *testing.T) {
	m := New(Options{})
	newBusy(m, 4).steps(10)
	if err := m.Restore(bytes.NewReader(save(t, prepare(t, m)))); err != nil {
		t.Fatal(err)
	}
	if m.sessions.trees[0] != &m.sessions.byID || m.objects.trees[0] != &m.objects.byName ||
		m.links.trees[0] != &m.links.byObject || m.links.trees[1] != &m.links.bySession {
		t.Error("a slab would shrink the trees of another machine")
	}
}
