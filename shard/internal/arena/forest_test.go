package arena

import (
	"math/rand/v2"
	"slices"
	"testing"
)

type byKey []int

func (k byKey) Before(a, b Handle) bool { return k[a] < k[b] }

func TestForestKeepsItsTreesInOrderThroughRandomInsertsAndRemovals(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const size = 600
	keys := make(byKey, size+1)
	for i, k := range rng.Perm(size) {
		keys[i+1] = k
	}
	var f Forest
	var roots [2]Handle
	var in [2][]Handle
	for range 20_000 {
		tree := rng.IntN(2)
		h := Handle(1 + rng.IntN(size))
		switch {
		case slices.Contains(in[tree], h):
			f.Remove(&roots[tree], h)
			in[tree] = slices.DeleteFunc(in[tree], func(x Handle) bool { return x == h })
		case !slices.Contains(in[1-tree], h):
			f.Insert(&roots[tree], h, keys)
			in[tree] = append(in[tree], h)
			slices.SortFunc(in[tree], func(a, b Handle) int { return keys[a] - keys[b] })
		}
		var forward []Handle
		for h := f.First(roots[tree]); h != 0; h = f.Next(h) {
			forward = append(forward, h)
		}
		if !slices.Equal(forward, in[tree]) {
			t.Fatalf("forward: have %v, want %v", forward, in[tree])
		}
		for i, h := range forward {
			want := Handle(0)
			if i > 0 {
				want = forward[i-1]
			}
			if f.Prev(h) != want {
				t.Fatalf("prev(%d) = %d, want %d", h, f.Prev(h), want)
			}
		}
	}
}

func TestForestStaysShallowWhenFilledInOrder(t *testing.T) {
	var f Forest
	var root, last Handle
	const size = 1 << 16
	for h := Handle(1); h <= size; h++ {
		f.Add(&root, last, false, h)
		last = h
	}
	deepest := 0
	var walk func(h Handle, depth int)
	walk = func(h Handle, depth int) {
		if h == 0 {
			return
		}
		deepest = max(deepest, depth)
		walk(f.At(h).left, depth+1)
		walk(f.At(h).right, depth+1)
	}
	walk(root, 1)
	if deepest > 60 { // 2 ln n is 22 on average; 60 is never seen by chance
		t.Fatalf("depth %d for %d in order", deepest, size)
	}
}

func TestTableFindsWhatIsInItAndNothingElse(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var tab Table
	in := map[Handle]uint32{}
	has := func(hash uint32, h Handle) bool {
		if tab.count == 0 {
			return false
		}
		for i := int(hash) & (len(tab.entries) - 1); tab.entries[i] != 0; i = tab.follow(i) {
			if tab.entries[i] == uint64(hash)<<32|uint64(h) {
				return true
			}
		}
		return false
	}
	for range 200_000 {
		h := Handle(1 + rng.IntN(200))
		if hash, ok := in[h]; ok {
			if !has(hash, h) {
				t.Fatalf("handle %d is lost", h)
			}
			tab.Remove(hash, h)
			delete(in, h)
			if has(hash, h) {
				t.Fatalf("handle %d is still found", h)
			}
			continue
		}
		hash := uint32(rng.IntN(40)) * 0x01000001 // many collisions
		tab.Insert(hash, h)
		in[h] = hash
	}
	for h, hash := range in {
		if !has(hash, h) {
			t.Fatalf("handle %d is lost", h)
		}
	}
	if tab.count != len(in) {
		t.Fatalf("counts %d, has %d", tab.count, len(in))
	}
}
