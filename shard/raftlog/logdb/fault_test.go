package logdb

import (
	"errors"
	"math"
	"sync/atomic"
	"syscall"
	"testing"

	pb "github.com/lni/dragonboat/v4/raftpb"
	"github.com/signalbox/signalbox/shard/raftlog/internal/direct"
	"github.com/signalbox/signalbox/shard/raftlog/wal"
)

// faultyDisk fails with an error after a number of writes, or of syncs.
type faultyDisk struct {
	cause         error
	writes, syncs atomic.Int64 // that are left
}

func (f *faultyDisk) on(disk wal.Disk) wal.Disk {
	open := disk.OpenData
	disk.OpenData = func(name string) (direct.File, error) {
		file, err := open(name)
		return faultyFile{file, f}, err
	}
	return disk
}

type faultyFile struct {
	direct.File
	disk *faultyDisk
}

func (f faultyFile) WriteAt(b []byte, at int64) (int, error) {
	if f.disk.writes.Add(-1) < 0 {
		return 0, f.disk.cause
	}
	return f.File.WriteAt(b, at)
}

func (f faultyFile) SyncData() error {
	if f.disk.syncs.Add(-1) < 0 {
		return f.disk.cause
	}
	return f.File.SyncData()
}

// TestADiskThatFailsLosesNothingThatWasSaved: the failing call and all later calls return the error, and a store opened
// on the remains has everything saved before.
func TestADiskThatFailsLosesNothingThatWasSaved(t *testing.T) {
	const many = 1 << 40
	for name, c := range map[string]struct {
		cause         error
		writes, syncs int64
	}{
		"no room, soon":  {syscall.ENOSPC, 5, many},
		"no room, later": {syscall.ENOSPC, 150, many},
		"a write fails":  {syscall.EIO, 40, many},
		"a sync fails":   {syscall.EIO, many, 40},
		"the first sync": {syscall.EIO, many, 2},
	} {
		t.Run(name, func(t *testing.T) {
			fs := newMemory()
			fault := &faultyDisk{cause: c.cause}
			fault.writes.Store(c.writes)
			fault.syncs.Store(c.syncs)
			db, err := openOn(fault.on(memoryDisk(fs)))
			if err != nil {
				t.Fatal(err)
			}
			saved := uint64(0)
			save := func(index uint64) error {
				return db.SaveRaftState([]pb.Update{update(pb.State{Term: 1, Vote: 1}, entriesOf(index, index, 1))}, 1)
			}
			for err == nil {
				if err = save(saved + 1); err == nil {
					saved++
				}
			}
			if !errors.Is(err, c.cause) {
				t.Fatalf("after %d entries: %v", saved, err)
			}
			fault.writes.Store(many)
			fault.syncs.Store(many)
			if err := save(saved + 1); !errors.Is(err, c.cause) {
				t.Errorf("the next call returns %v", err)
			}
			if err := db.Close(); !errors.Is(err, c.cause) {
				t.Errorf("closing returns %v", err)
			}
			again, err := openOn(memoryDisk(fs))
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close()
			if have := uint64(len(indices(t, again, 1, saved+2, math.MaxUint64))); have < saved || have > saved+1 {
				t.Errorf("%d of %d entries are there", have, saved)
			}
		})
	}
}
