package raftlog

import (
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/signalbox/signalbox/shard"
)

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
			g.save(1)
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
	g.save(5000)
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

// tallying is a state machine of eight bytes: the number of its entries.
type tallying struct {
	entries uint64
	applied chan struct{}
}

func (t *tallying) Apply(entries []shard.Entry) error {
	t.entries += uint64(len(entries))
	for range entries {
		t.applied <- struct{}{}
	}
	return nil
}

func (t *tallying) PrepareSnapshot() (shard.Snapshot, error) { return tally(t.entries), nil }

func (t *tallying) Restore(r io.Reader) error {
	var b [8]byte
	_, err := io.ReadFull(r, b[:])
	t.entries = binary.LittleEndian.Uint64(b[:])
	return err
}

func (*tallying) LeadershipChanged(shard.Leadership) {}

// tally is a snapshot of such a machine.
type tally uint64

func (t tally) Save(w io.Writer, _ <-chan struct{}) error {
	_, err := w.Write(binary.LittleEndian.AppendUint64(nil, uint64(t)))
	return err
}

func (tally) Discard() {}

// directoryBytes is what a directory takes on the disk, as far as files of the engine come and go meanwhile.
func directoryBytes(dir string) (total int64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil
		}
		if info, err := e.Info(); err == nil {
			total += info.Size()
		}
		return nil
	})
	return total
}

// TestTheDirectoryIsBoundedInBytes: few batches are many bytes, and most of them are not needed any more.
func TestTheDirectoryIsBoundedInBytes(t *testing.T) {
	const batch, batches = 60_000, 600
	m := newCluster(t, 1, func(c *Config) { c.SnapshotBytes, c.KeepBytes = 2<<20, 512<<10 })[0]
	small := systemDisk()
	small.segmentBytes = 1 << 20
	host, err := open(m.config.withDefaults(), small)
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	machine := &tallying{applied: make(chan struct{}, batches)}
	log, err := host.Start(testShard, machine)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "a leader", func() bool { return log.Leadership().Leader != 0 })
	most := int64(0)
	for n := range batches {
		if err := log.Propose(make([]byte, batch), func(shard.Outcome) {}); err != nil {
			t.Fatal(fmt.Errorf("batch %d: %w", n, err))
		}
		<-machine.applied
		most = max(most, directoryBytes(m.config.DataDir))
	}
	// What is needed, as much again, two segments and two that are being made; and the rest of the engine's files.
	if bound := int64(2*(2<<20+512<<10+1<<20) + 4<<20 + 1<<20); most > bound {
		t.Errorf("%d bytes of the disk for %d of the log, want at most %d", most, batches*batch, bound)
	}
	t.Logf("%d bytes of the log, at most %d of the disk", batches*batch, most)
}
