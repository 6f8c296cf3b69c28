package raftlog

import "testing"

func (g *growth) isDueNow() bool {
	select {
	case <-g.due:
		return g.check()
	default:
		return false
	}
}

func TestASnapshotIsDueByEntriesAndByBytes(t *testing.T) {
	const entry = 1000
	for _, c := range []struct {
		every extent
		want  uint64 // the entry after which a snapshot is due
	}{
		{extent{10, 1 << 30}, 10},
		{extent{1 << 30, 10 * (entry + entryBytes)}, 10},
		{extent{5, 10 * (entry + entryBytes)}, 5},
	} {
		g := newGrowth(c.every, extent{2, 1 << 30})
		for saved := range uint64(3) {
			index := 100 + saved*c.want
			for !g.isDueNow() {
				index++
				g.add(index, index, entry)
			}
			if got := index - 100 - saved*c.want; got != c.want {
				t.Errorf("%v: due after %d entries, want %d", c.every, got, c.want)
			}
			g.prepare()
			g.write(1)
			g.save()
		}
	}
}

func TestASnapshotIsNotDueBeforeTheLogIsAsLargeAsTheLastOne(t *testing.T) {
	g := newGrowth(extent{1 << 30, 1000}, extent{1, 1})
	g.add(1, 1, 2000)
	if !g.isDueNow() {
		t.Fatal("the first one is not due")
	}
	g.prepare()
	g.add(2, 2, 100) // while it is being saved
	g.write(5000)
	g.save()
	for index := uint64(3); index < 8; index++ {
		g.add(index, index, 1000-entryBytes)
		if g.isDueNow() != (index == 7) {
			t.Errorf("due at entry %d: %v", index, index != 7)
		}
	}
	g.restore(100)
	g.add(100, 100, 900)
	if g.isDueNow() {
		t.Error("it is due after what came before a restored snapshot")
	}
	g.add(101, 101, 900)
	if !g.isDueNow() {
		t.Error("it is not due after a restored snapshot")
	}
}

func TestWhatIsKeptIsBoundedByEntriesAndByBytes(t *testing.T) {
	for _, c := range []struct {
		keep     extent
		min, max uint64 // entries that stay
	}{
		{extent{16, 1 << 30}, 16, 18},
		{extent{1 << 30, 16 * (1000 + entryBytes)}, 16, 18},
		{extent{2, 1 << 30}, 2, 3},
	} {
		g := newGrowth(extent{1 << 30, 1 << 30}, c.keep)
		if _, ok := g.compactTo(); ok {
			t.Errorf("%v: something goes before anything is there", c.keep)
		}
		for index := uint64(51); index < 200; index++ {
			g.add(index, index, 1000)
			to, ok := g.compactTo()
			if enough := index-50 >= c.keep.entries || (index-50)*1032 >= c.keep.bytes; ok != enough {
				t.Errorf("%v at %d: something goes: %v", c.keep, index, ok)
			} else if kept := index - to; ok && (kept < c.min || kept > c.max) {
				t.Errorf("%v at %d: %d stay, want %d to %d", c.keep, index, kept, c.min, c.max)
			}
		}
		if len(g.behind) > 2*pointsKept+2 {
			t.Errorf("%v: %d points", c.keep, len(g.behind))
		}
	}
}

// TestASnapshotIsWholeBeforeTheLogHasGrownByMuch: by half of the entries that make the next one due, or an eighth of
// the bytes. Until then it may be as far as the log.
func TestASnapshotIsWholeBeforeTheLogHasGrownByMuch(t *testing.T) {
	const entry = 1000
	for _, c := range []struct {
		every extent
		size  uint64 // of the snapshot before
		want  uint64 // the entries by which the log grows while the next one is written
	}{
		{extent{10, 1 << 30}, 400, 5},
		{extent{1 << 30, 40 * (entry + entryBytes)}, 400, 5},
		{extent{1 << 30, 40 * (entry + entryBytes)}, 80 * (entry + entryBytes), 10},
	} {
		g := newGrowth(c.every, extent{1, 1})
		g.add(1, 100, 1)
		g.prepare()
		g.write(c.size)
		g.save()
		g.add(101, 200, 100*entry)
		g.prepare()
		expected := c.size + c.size/4
		for n := uint64(0); n <= c.want; n++ {
			written := expected * n / c.want
			if written > 0 && g.outruns(written-1) != true {
				t.Errorf("%v: %d entries do not outrun a snapshot of which %d bytes are written", c.every, n, written-1)
			}
			if g.outruns(written+1) != (n == c.want) {
				t.Errorf("%v: %d entries outrun a snapshot of which %d bytes are written: %t", c.every, n, written+1,
					n != c.want)
			}
			g.add(201+n, 201+n, entry)
		}
	}
}

// TestTheFirstSnapshotIsTakenToBeAsLargeAsTheLog: no other is known.
func TestTheFirstSnapshotIsTakenToBeAsLargeAsTheLog(t *testing.T) {
	g := newGrowth(extent{10, 1 << 30}, extent{1, 1})
	g.add(1, 1, 1000)
	g.prepare()
	if g.outruns(1000) || !g.outruns(1000+entryBytes) {
		t.Error("it is not")
	}
}
