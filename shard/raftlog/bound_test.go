package raftlog

import (
	"encoding/binary"
	"io"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/raftlog/wal"
)

// directoryBound is a host's maximum data directory size, with the reserve, if one shard with a small state changes and
// other shards are quiet: twice the configured log, because quiet shards' entries are rewritten only then; the oldest,
// the current and the next segment; two snapshots; and the reserve in Host.ShrinkBytes.
func directoryBound(snapshot, keep, segment, state int64) int64 {
	log := snapshot + keep + keep/pointsKept + segment/8 // written during a snapshot save
	return 2*log + 3*segment + 2*state + (state + snapshot + segment/8 + 2*segment)
}

// TestTheBoundOfTheDefaultsIsThePromisedOne: 64 continuously changed objects with 60 kB each, and nothing else.
func TestTheBoundOfTheDefaultsIsThePromisedOne(t *testing.T) {
	const promised = 512 << 20
	bound := directoryBound(DefaultSnapshotBytes, DefaultKeepBytes, wal.DefaultSegmentBytes, 64*60_000)
	if t.Logf("at most %d MiB", bound>>20); bound > promised {
		t.Errorf("the defaults may take %d MiB of the disk, want at most %d", bound>>20, promised>>20)
	}
}

// TestTheDirectoryIsBoundedInBytes: few batches have many bytes, mostly no longer needed. All sizes are a sixteenth of
// the defaults.
func TestTheDirectoryIsBoundedInBytes(t *testing.T) {
	const (
		scale    = 16
		batch    = 60_000 / scale
		state    = 64 * batch
		segment  = wal.DefaultSegmentBytes / scale
		group    = 16
		snapshot = DefaultSnapshotBytes / scale
		keep     = DefaultKeepBytes / scale
	)
	m := newCluster(t, 1, func(c *Config) { c.SnapshotBytes, c.KeepBytes = snapshot, keep })[0]
	small := systemDisk()
	small.SegmentBytes = segment
	host, err := open(m.config.withDefaults(), small)
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	propose := startTallying(t, host, testShard, state)
	quiet := startTallying(t, host, testShard+1, state)
	quiet(1, batch)
	var written, most int64
	for written < 12*snapshot {
		propose(group, batch)
		written += group * batch
		most = max(most, directoryBytes(m.config.DataDir)+int64(host.ShrinkBytes()))
	}
	const others = 1 << 20 // files from the engine
	if bound := directoryBound(snapshot, keep, segment, state) + others; most > bound {
		t.Errorf("%d bytes of the disk for %d of the log, want at most %d", most, written, bound)
	}
	t.Logf("%d bytes of the log, at most %d of the disk", written, most)
}

// startTallying starts a shard, and returns a function that proposes batches and waits for their results.
func startTallying(t *testing.T, host *Host, id uint64, state int) func(batches, bytes int) {
	t.Helper()
	machine := &tallying{bytes: state, applied: make(chan struct{}, 64)}
	log, err := host.Start(id, machine)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "a leader", func() bool { return log.Leadership().Leader != 0 })
	return func(batches, bytes int) {
		t.Helper()
		for range batches {
			if err := log.Propose(make([]byte, bytes), func(shard.Outcome) {}); err != nil {
				t.Fatal(err)
			}
		}
		for range batches {
			<-machine.applied
		}
	}
}

// tallying is a state machine that counts its entries, with a constant state size.
type tallying struct {
	entries uint64
	bytes   int // snapshot size, at least 8
	applied chan struct{}
}

func (t *tallying) Apply(entries []shard.Entry) error {
	t.entries += uint64(len(entries))
	for range entries {
		t.applied <- struct{}{}
	}
	return nil
}

func (t *tallying) PrepareSnapshot() (shard.Snapshot, error) { return tally{t.entries, t.bytes}, nil }

func (t *tallying) Restore(r io.Reader) error {
	b := make([]byte, t.bytes)
	_, err := io.ReadFull(r, b)
	t.entries = binary.LittleEndian.Uint64(b)
	return err
}

func (*tallying) LeadershipChanged(shard.Leadership) {}

// tally is a tallying machine's snapshot.
type tally struct {
	entries uint64
	bytes   int
}

func (t tally) Save(w io.Writer, _ <-chan struct{}) error {
	b := make([]byte, t.bytes)
	binary.LittleEndian.PutUint64(b, t.entries)
	_, err := w.Write(b)
	return err
}

func (tally) Discard() {}

// directoryBytes is a directory's size on disk, as far as possible while engine files come and go.
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
