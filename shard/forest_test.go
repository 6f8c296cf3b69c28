package shard

import (
	"math/rand/v2"
	"slices"
	"testing"
)

type byKey []int

func (k byKey) before(a, b handle) bool { return k[a] < k[b] }

func TestForestKeepsItsTreesInOrderThroughRandomInsertsAndRemovals(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const size = 600
	keys := make(byKey, size+1)
	for i, k := range rng.Perm(size) {
		keys[i+1] = k
	}
	var f forest
	var roots [2]handle
	var in [2][]handle
	for range 20_000 {
		tree := rng.IntN(2)
		h := handle(1 + rng.IntN(size))
		switch {
		case slices.Contains(in[tree], h):
			f.remove(&roots[tree], h)
			in[tree] = slices.DeleteFunc(in[tree], func(x handle) bool { return x == h })
		case !slices.Contains(in[1-tree], h):
			f.insert(&roots[tree], h, keys)
			in[tree] = append(in[tree], h)
			slices.SortFunc(in[tree], func(a, b handle) int { return keys[a] - keys[b] })
		}
		var forward []handle
		for h := f.first(roots[tree]); h != 0; h = f.next(h) {
			forward = append(forward, h)
		}
		if !slices.Equal(forward, in[tree]) {
			t.Fatalf("forward: have %v, want %v", forward, in[tree])
		}
		for i, h := range forward {
			want := handle(0)
			if i > 0 {
				want = forward[i-1]
			}
			if f.prev(h) != want {
				t.Fatalf("prev(%d) = %d, want %d", h, f.prev(h), want)
			}
		}
	}
}

func TestForestStaysShallowWhenFilledInOrder(t *testing.T) {
	var f forest
	var root, last handle
	const size = 1 << 16
	for h := handle(1); h <= size; h++ {
		f.add(&root, last, false, h)
		last = h
	}
	deepest := 0
	var walk func(h handle, depth int)
	walk = func(h handle, depth int) {
		if h == 0 {
			return
		}
		deepest = max(deepest, depth)
		walk(f.at(h).left, depth+1)
		walk(f.at(h).right, depth+1)
	}
	walk(root, 1)
	if deepest > 60 { // 2 ln n is 22 on average; 60 is never seen by chance
		t.Fatalf("depth %d for %d in order", deepest, size)
	}
}

func TestTableFindsWhatIsInItAndNothingElse(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var tab table
	in := map[handle]uint32{}
	has := func(hash uint32, h handle) bool {
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
		h := handle(1 + rng.IntN(200))
		if hash, ok := in[h]; ok {
			if !has(hash, h) {
				t.Fatalf("handle %d is lost", h)
			}
			tab.remove(hash, h)
			delete(in, h)
			if has(hash, h) {
				t.Fatalf("handle %d is still found", h)
			}
			continue
		}
		hash := uint32(rng.IntN(40)) * 0x01000001 // many collisions
		tab.insert(hash, h)
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
