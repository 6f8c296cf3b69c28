package arena

import "testing"

// thing is the slab item of these tests.
type thing struct {
	order uint64
	_     [3]uint64
}

// TestASlabGivesBackWhatABurstTook: the chunks of a million deleted items are released.
func TestASlabGivesBackWhatABurstTook(t *testing.T) {
	var s Slab[thing]
	var tree Forest
	s.Trees = []Beside{&tree}
	var handles []Handle
	for range 1000 * chunkSize {
		h := s.Alloc()
		s.At(h).order = uint64(h)
		tree.Add(new(Handle), 0, false, h)
		handles = append(handles, h)
	}
	kept := handles[:0]
	for i, h := range handles {
		if i%(100*chunkSize) == 0 {
			kept = append(kept, h) // ten remain, each in a separate chunk
			continue
		}
		s.Release(h)
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
		if s.At(h).order != uint64(h) {
			t.Fatalf("the thing at place %d is lost", h)
		}
	}
	// Released items are reused, and empty.
	for range 500 * chunkSize {
		h := s.Alloc()
		if *s.At(h) != (thing{}) {
			t.Fatalf("place %d is not empty", h)
		}
		s.At(h).order = uint64(h)
		tree.Add(new(Handle), 0, false, h)
		tree.At(h).left = h
		handles = append(handles, h)
	}
	if got, want := s.Size(), 500*chunkSize+len(kept); got != want {
		t.Errorf("%d places are in use, %d were handed out", got, want)
	}
	if s.zeros != nil && *s.zeros != ([chunkSize]thing{}) {
		t.Error("the shared chunk of zeros was written to")
	}
}

// held counts the chunks with memory.
func held[T any](s *Slab[T]) (n int) {
	for _, taken := range s.taken {
		if taken {
			n++
		}
	}
	return n
}

// TestASlabThatBreathesAllocatesNothing: neither for a single item, nor for a burst within the kept memory.
func TestASlabThatBreathesAllocatesNothing(t *testing.T) {
	var s Slab[thing]
	for _, size := range []int{1, (spareChunks - 1) * chunkSize} {
		handles := make([]Handle, 0, size)
		breathe := func() {
			for range size {
				handles = append(handles, s.Alloc())
			}
			for _, h := range handles {
				s.Release(h)
			}
			handles = handles[:0]
		}
		breathe()
		if n := testing.AllocsPerRun(10, breathe); n > 0 {
			t.Errorf("%v allocations where %d come and go", n, size)
		}
	}
}

// TestSlabsFindTheirTreesAfterARestore: they release chunks together.
