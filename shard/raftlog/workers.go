package raftlog

import (
	"errors"
	"path/filepath"
	"slices"
	"time"

	"github.com/signalbox/signalbox/shard/raftlog/internal/direct"
)

// A worker is an engine goroutine that steps some of a host's shards. While a worker waits for a sync, all its shards
// wait. On a slow disk, with one worker for all shards, a change in a cluster with several shards waits for up to 3.5
// syncs; with slowWorkers, which share syncs, for 2.4. On a fast disk several workers only cost processor time: two or
// four workers do 0.83 or 0.7 times the cycles of one. So the first start in a data directory measures the disk. Later
// starts keep the number, because the engine refuses a directory made with another one.
//
// A cluster's only host gains nothing from several workers on any disk, and its p99 doubles. So the first host of a
// cluster that grows keeps one worker.
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
