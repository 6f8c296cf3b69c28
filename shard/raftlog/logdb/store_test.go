package logdb

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/lni/dragonboat/v4/raftio"
	"github.com/lni/vfs"
	"github.com/signalbox/signalbox/shard/raftlog/internal/direct"
	"github.com/signalbox/signalbox/shard/raftlog/raftlogtest/outage"
	"github.com/signalbox/signalbox/shard/raftlog/wal"
)

const (
	testDir = "/host/data"
	// testSegment is small, so that segments begin and end all the time.
	testSegment = 48 << 10
)

// roomy is an in-memory file system that reports free space.
type roomy struct{ *vfs.MemFS }

// GetDiskUsage implements vfs.FS.
func (roomy) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: 1 << 40, TotalBytes: 1 << 40}, nil
}

func newMemory() roomy { return roomy{vfs.NewMem()} }

// memoryFile is an in-memory file, whose data are synced like the rest.
type memoryFile struct{ vfs.File }

func (f memoryFile) SyncData() error { return f.Sync() }

func memoryDisk(fs vfs.FS) wal.Disk {
	return wal.Disk{FS: fs, OpenData: func(name string) (direct.File, error) {
		if _, err := fs.Stat(name); err != nil {
			file, err := fs.Create(name)
			return memoryFile{file}, err
		}
		file, err := fs.ReuseForWrite(name, name)
		return memoryFile{file}, err
	}}
}

func recordedDisk(r *outage.Recorder) wal.Disk {
	return wal.Disk{FS: r, OpenData: func(name string) (direct.File, error) { return r.OpenData(name) }}
}

// openOn opens a store with short files and little memory.
func openOn(disk wal.Disk) (*DB, error) {
	f := Factory{Disk: disk, SegmentBytes: testSegment, RecentBytes: 20 << 10}
	return f.Open(testDir)
}

func openMemory(t testing.TB) *DB {
	t.Helper()
	db, err := openOn(memoryDisk(newMemory()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// contents returns a store's data about the first shards, as text and commit positions.
func contents(db *DB) (text string, commits []uint64, err error) {
	var all []string
	for shardID := uint64(1); shardID <= modelShards; shardID++ {
		c, err := contentOf(db, shardID)
		if err != nil {
			return "", nil, fmt.Errorf("shard %d: %w", shardID, err)
		}
		all = append(all, c.String())
		commits = append(commits, c.state.Commit)
	}
	return strings.Join(all, "\n"), commits, nil
}

// contentOf reads a replica like the engine at its start, and checks everything that would stop the engine's process.
func contentOf(db *DB, shardID uint64) (c content, err error) {
	_, err = db.GetBootstrapInfo(shardID, modelReplica)
	if c.bootstrap = err == nil; err != nil && !errors.Is(err, raftio.ErrNoBootstrapInfo) {
		return c, err
	}
	if c.snapshot, err = db.GetSnapshot(shardID, modelReplica); err != nil {
		return c, err
	}
	state, err := db.ReadRaftState(shardID, modelReplica, c.snapshot.Index)
	if errors.Is(err, raftio.ErrNoSavedLog) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	c.state, c.first = state.State, state.FirstIndex
	end := state.FirstIndex + state.EntryCount
	if state.EntryCount == 0 {
		end = c.snapshot.Index + 1
	} else if c.first > c.snapshot.Index+1 {
		return c, fmt.Errorf("a gap: the snapshot is of %d, and the first entry is %d", c.snapshot.Index, c.first)
	}
	if c.state.Commit < c.snapshot.Index || c.state.Commit >= end {
		return c, fmt.Errorf("committed to %d, with a snapshot of %d and entries up to %d", c.state.Commit,
			c.snapshot.Index, end-1)
	}
	if state.EntryCount == 0 {
		return c, nil
	}
	c.entries, _, err = db.IterateEntries(nil, 0, shardID, modelReplica, c.first, end, math.MaxUint64)
	if err == nil && uint64(len(c.entries)) != state.EntryCount {
		err = fmt.Errorf("%d entries from %d on, %d of them can be read", state.EntryCount, c.first, len(c.entries))
	}
	return c, err
}
