package machine

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
)

// TestSlotSetsHaveWhatWasAdded compares sets with lists, through all forms, up and down.
func TestSlotSetsHaveWhatWasAdded(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var sets slotSets
	const sessions = 8
	want := make([][]shard.Slot, sessions+1)
	for h := range arena.Handle(sessions + 1) {
		sets.words.Cover(h)
	}
	slot := func() shard.Slot {
		if r.IntN(4) == 0 {
			return []shard.Slot{0, shard.Slots - 1}[r.IntN(2)]
		}
		return shard.Slot(r.IntN(30))
	}
	for step := range 20_000 {
		h, x := arena.Handle(1+r.IntN(sessions)), slot()
		at, has := slices.BinarySearch(want[h], x)
		if sets.has(h, x) != has {
			t.Fatalf("step %d: session %d has slot %d: %v", step, h, x, !has)
		}
		switch grows := step/1000%2 == 0; {
		case !has && (grows || r.IntN(4) == 0):
			sets.add(h, x)
			want[h] = slices.Insert(want[h], at, x)
		case has && (!grows || r.IntN(4) == 0):
			sets.remove(h, x)
			want[h] = slices.Delete(want[h], at, at+1)
		}
		if got := sets.appendTo(nil, h); !slices.Equal(got, want[h]) {
			t.Fatalf("step %d: session %d has %v, not %v", step, h, got, want[h])
		}
		size := 0
		if len(want[h]) > inlineSlots {
			size = shard.SlotListBytes
		}
		if len(want[h]) > listSlots {
			size = shard.SlotMapBytes
		}
		if sets.size(h) != size {
			t.Fatalf("step %d: %d slots count %d bytes", step, len(want[h]), sets.size(h))
		}
		var in []arena.Handle
		for h := range want {
			if slices.Contains(want[h], x) {
				in = append(in, arena.Handle(h))
			}
		}
		if got := sets.sessionsIn(x, nil); !slices.Equal(got, in) {
			t.Fatalf("step %d: slot %d is in %v, not in %v", step, x, got, in)
		}
	}
	for h := range arena.Handle(sessions + 1) {
		sets.set(h, nil)
	}
	if sets.lists.Size()+sets.maps.Size() > 0 {
		t.Errorf("%d lists and %d bitmaps stay", sets.lists.Size(), sets.maps.Size())
	}
}
