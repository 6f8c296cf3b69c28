package raftlog

import (
	"errors"
	"path/filepath"
	"slices"
	"time"

	"github.com/signalbox/signalbox/shard/raftlog/internal/direct"
)

// A worker is an engine goroutine that steps some of a host's shards. All these shards wait while the worker waits
// for a sync. Workers that sync at the same time share the sync.
//
// On a slow disk, several workers are faster: with three hosts and eight shards, a change waits for 2.4 syncs with
// eight workers, and for 3.5 syncs with one. On a fast disk, every additional worker costs throughput. So a host
// measures the disk when it creates its data directory. The number stays with the directory, because the engine refuses
// a directory that was created with another number.
//
// The only host of a new cluster always gets one worker: it gains nothing from more, and its p99 doubles. A host that
// joins the cluster later measures its disk.
const (
	fastWorkers = 1
	slowWorkers = 8
	// slowSync is the shortest sync time from which a disk is slow. Other programs that are busy during the first start
	// make some syncs longer, but not all.
	slowSync   = 500 * time.Microsecond
	diskProbes = 16
)

// workersFor returns the number of workers for a new data directory. An error that prevents the measurement is found
// again, and reported, when the log is created.
func (c Config) workersFor(disk *disk) int {
	if c.Workers != 0 {
		return c.Workers
	}
	if _, initial := c.InitialMembers[c.Host]; initial && len(c.InitialMembers) == 1 {
		return fastWorkers
	}
	if least, err := measureSync(disk, scratchDirectory(c.DataDir)); err != nil || least < slowSync {
		return fastWorkers
	}
	return slowWorkers
}

// measureSync returns the shortest time for a durable write of a sector to a file like the log's.
func measureSync(disk *disk, scratch string) (_ time.Duration, err error) {
	if err := clearDirectory(disk, scratch); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, disk.RemoveAll(scratch)) }()
	file, err := disk.OpenData(filepath.Join(scratch, "sync"))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	sector, times := direct.Memory(direct.Sector), make([]time.Duration, 1+diskProbes)
	for i := range times { // the first write allocates the sector
		began := time.Now()
		if _, err := file.WriteAt(sector, 0); err != nil {
			return 0, err
		}
		if err := file.SyncData(); err != nil {
			return 0, err
		}
		times[i] = time.Since(began)
	}
	return slices.Min(times[1:]), nil
}
