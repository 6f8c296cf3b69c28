package raftlog

import (
	"fmt"
	"testing"
	"time"
)

func (g *growth) isDueNow() bool {
	select {
	case <-g.due:
		return g.check()
	default:
		return false
	}
}

// saveOne records a snapshot with the given size.
func (g *growth) saveOne(size uint64) {
	g.prepare()
	g.write(size)
	g.save()
}

// addUntilDue adds equal entries until a snapshot is due, and returns how many.
func (g *growth) addUntilDue(bytes, commands int) (n uint64) {
	for !g.isDueNow() {
		n++
		g.add(g.last.index+1, g.last.index+1, bytes, commands)
	}
	return n
}

func TestSnapshotIsDueByBatchesCommandsAndBytes(t *testing.T) {
	for _, c := range []struct {
		every           uint64
		bytes, commands int    // of each entry
		want            uint64 // entries
	}{
		{10 * BatchBytes, 0, 0, 10},
		{10 * (BatchBytes + 1000), 1000, 0, 10},
		{10 * (BatchBytes + 1000 + 7*CommandBytes), 1000, 7, 10},
	} {
		g := newGrowth(c.every, 2*BatchBytes)
		for range 3 {
			if got := g.addUntilDue(c.bytes, c.commands); got != c.want {
				t.Errorf("%+v: due after %d entries", c, got)
			}
			g.saveOne(1 << 40) // a configured length does not depend on the snapshot
		}
	}
}

// TestLargeStateIsNotSavedForManySmallBatches: the log must cost as much as the last snapshot before the next snapshot
// is due. A small state waits for DefaultSnapshotBytes of log.
func TestLargeStateIsNotSavedForManySmallBatches(t *testing.T) {
	const bytes, commands = 300, 5
	const weight = BatchBytes + bytes
	const batch = weight + commands*CommandBytes
	for _, size := range []uint64{0, 1 << 20, DefaultSnapshotBytes, 600 << 20, 4 << 30} {
		g := newGrowth(0, DefaultKeepBytes)
		g.add(1, 1, bytes, commands)
		g.saveOne(size)
		want := max((size+batch-1)/batch, (DefaultSnapshotBytes+weight-1)/weight)
		if got := g.addUntilDue(bytes, commands); got != want {
			t.Errorf("beside a snapshot of %d MiB: due after %d batches, want %d", size>>20, got, want)
		}
	}
}

func TestRestoredSnapshotDecidesWhenTheNextIsDue(t *testing.T) {
	g := newGrowth(0, BatchBytes)
	first := g.addUntilDue(10_000, 0)
	g.restore(3 * DefaultSnapshotBytes)
	if g.check() {
		t.Error("it is due after what came before a restored snapshot")
	}
	if got := g.addUntilDue(10_000, 0); got < 3*first-3 || got > 3*first {
		t.Errorf("it is due after %d entries, want three times %d", got, first)
	}
}

// TestLogDelaysRestartByLessThanItsSnapshot: at the worst time, just before the next snapshot is complete, with ten
// million 26-byte semaphores, for any batches. The times are from a quiet machine with two processors: BenchmarkReplay
// for entries and bytes, the rest from a start's profile.
func TestLogDelaysRestartByLessThanItsSnapshot(t *testing.T) {
	const (
		size    = 575_000_000
		restore = 9200 * time.Millisecond
		most    = 15 * time.Second

		perEntry  = 2 * time.Microsecond
		perCreate = 1300 * time.Nanosecond // slowest plain command
		perByte   = 4                      // nanoseconds: to read and check the log, and to copy data
		create    = 55                     // bytes
	)
	for _, commands := range []int{1, 5, 20, 150, 2048} {
		for _, data := range []int{0, 100, 10_000, 100_000} {
			t.Run(fmt.Sprintf("%d commands, %d bytes", commands, data), func(t *testing.T) {
				g := newGrowth(0, DefaultKeepBytes)
				g.add(1, 1, 1, 1)
				g.saveOne(size)
				bytes := commands*create + data
				entries := g.addUntilDue(bytes, commands)
				g.prepare()
				for !g.outruns(size) { // while it is behind this, it does not pause
					entries++
					g.add(g.last.index+1, g.last.index+1, bytes, commands)
				}
				replay := time.Duration(entries) * (perEntry + time.Duration(commands)*perCreate +
					time.Duration(bytes*perByte))
				if restore+replay > most {
					t.Errorf("a restart takes %v, want at most %v", restore+replay, most)
				}
				if log := g.sinceSnapshot(); log > size+size/8+uint64(bytes+entryBytes)*2 {
					t.Errorf("the log has %d bytes, want at most an eighth more than the snapshot", log)
				}
			})
		}
	}
}

func TestKeptLogIsBoundedByBatchesAndBytes(t *testing.T) {
	for _, c := range []struct {
		keep     uint64
		min, max uint64 // entries that stay
	}{
		{16 * (1000 + BatchBytes), 16, 18},
		{2 * (1000 + BatchBytes), 2, 3},
	} {
		g := newGrowth(1<<30, c.keep)
		if _, ok := g.compactTo(); ok {
			t.Errorf("%v: something goes before anything is there", c.keep)
		}
		for index := uint64(51); index < 200; index++ {
			g.add(index, index, 1000, 100)
			to, ok := g.compactTo()
			if enough := (index-50)*(1000+BatchBytes) >= c.keep; ok != enough {
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

// TestASnapshotIsWholeBeforeTheLogHasGrownByMuch: by half of the next snapshot's threshold, or an eighth of the
// threshold in bytes. Until then the snapshot's position may equal the log's.
func TestASnapshotIsWholeBeforeTheLogHasGrownByMuch(t *testing.T) {
	const size = 1 << 30
	const expected = size + size/4
	for _, c := range []struct {
		bytes, commands int
		want            uint64 // log growth in entries while the next snapshot is written
	}{
		{4000, 100, size / 2 / (BatchBytes + 4000 + 100*CommandBytes)},
		{100_000, 1, size / 8 / (100_000 + entryBytes)},
	} {
		g := newGrowth(0, 1)
		g.add(1, 1, 1, 1)
		g.saveOne(size)
		g.addUntilDue(c.bytes, c.commands)
		g.prepare()
		for n := uint64(100); n < c.want*98/100; n += 100 {
			g.add(g.last.index+1, g.last.index+100, 100*c.bytes, 100*c.commands)
			written := expected * n / c.want
			if !g.outruns(written-expected/100) || g.outruns(written+expected/100) {
				t.Errorf("%+v: after %d entries a snapshot of which %d bytes are written is not just far enough", c, n,
					written)
			}
		}
	}
}

// TestTheFirstSnapshotIsTakenToBeAsLargeAsTheLog: no other size is known.
func TestTheFirstSnapshotIsTakenToBeAsLargeAsTheLog(t *testing.T) {
	g := newGrowth(10*BatchBytes, 1)
	g.add(1, 1, 1000, 1)
	g.prepare()
	if g.outruns(1000) || !g.outruns(1000+entryBytes) {
		t.Error("it is not")
	}
}
