package raftlog

import (
	"errors"
	"math"
	"sync/atomic"
	"time"

	"github.com/lni/dragonboat/v4"
	"github.com/signalbox/signalbox/shard"
)

const (
	// snapshotTimeout ends the wait for a snapshot, which a large state or a slow disk makes long.
	snapshotTimeout = time.Hour
	// snapshotPause is waited for after a snapshot that could not be saved.
	snapshotPause = 10 * time.Second
	// busyPause is waited for where the engine was busy, or had only just started.
	busyPause = 100 * time.Millisecond
)

// errNothingNew is why no snapshot was saved where there is nothing to save.
var errNothingNew = errors.New("raftlog: nothing was applied since the last snapshot")

// takeSnapshots saves a snapshot whenever one is due, until the log is closed. The engine's own count of entries is
// switched off: it knows no bytes.
func (l *Log) takeSnapshots() {
	for {
		select {
		case <-l.stop:
			return
		case <-l.machine.growth.due:
		}
		for l.machine.growth.check() {
			if !l.host.saves.begin(l.stop) {
				return
			}
			pause := l.takeSnapshot()
			l.host.saves.end()
			if !l.wait(pause) {
				return
			}
		}
	}
}

// maxSaves is how many shards of a host save snapshots that are due at the same time. They pause, and those that other
// hosts send need workers of the engine too.
const maxSaves = snapshotWorkers / 2

// saves are what the shards of a host know of each other when they save snapshots. Any goroutine may use it.
type saves struct {
	applied atomic.Uint64 // entries, by all shards
	waiting atomic.Int32  // shards that may not begin
	places  chan struct{}
}

func newSaves() *saves { return &saves{places: make(chan struct{}, maxSaves)} }

// begin waits until a snapshot may be saved, and returns false where the log is closed first. Those that are being
// saved hurry meanwhile.
func (s *saves) begin(stop <-chan struct{}) bool {
	s.waiting.Add(1)
	defer s.waiting.Add(-1)
	select {
	case s.places <- struct{}{}:
		return true
	case <-stop:
		return false
	}
}

func (s *saves) end() { <-s.places }

// takeSnapshot saves a snapshot that is due, and returns after which time another one may be tried.
func (l *Log) takeSnapshot() time.Duration {
	err := l.saveSnapshot(compaction(l.machine.growth.compactTo()))
	switch {
	case err == nil:
		return 0
	case errors.Is(err, errSnapshot):
		return snapshotPause
	default:
		return busyPause
	}
}

// wait waits for a time, and returns false where the log is closed first.
func (l *Log) wait(d time.Duration) bool {
	select {
	case <-l.stop:
		return false
	case <-time.After(d):
		return true
	}
}

// compaction is what the engine is to drop of the log behind a snapshot: what stands before an index, or nothing.
func compaction(index uint64, compact bool) dragonboat.SnapshotOption {
	o := dragonboat.SnapshotOption{OverrideCompactionOverhead: true}
	if compact {
		o.CompactionIndex = index
	} else {
		o.CompactionOverhead = math.MaxUint64
	}
	return o
}

// dropAll drops all that the snapshot has.
var dropAll = dragonboat.SnapshotOption{OverrideCompactionOverhead: true}

// saveSnapshot has the engine save a snapshot, and waits for that.
func (l *Log) saveSnapshot(o dragonboat.SnapshotOption) error {
	request, err := l.host.engine.RequestSnapshot(l.shardID, o, snapshotTimeout)
	if err != nil {
		return logError(err)
	}
	select {
	case <-l.stop:
		return nil
	case r := <-request.ResultC():
		switch {
		case r.Completed():
			l.machine.growth.save()
			return nil
		case r.Rejected() && !l.machine.growth.givenUp():
			return errNothingNew
		default:
			return errSnapshot
		}
	}
}

// errSnapshot is why no snapshot was saved where the machine has logged more.
var errSnapshot = errors.New("raftlog: no snapshot was saved")

// Shrink saves a snapshot of every shard of which anything was applied since the last one, and drops all of the log
// that the snapshots have, so that a disk that is nearly full gets room. Hosts that lag are sent snapshots then.
func (h *Host) Shrink() error {
	var failed error
	for _, l := range h.logsByShard() {
		if l.machine.growth.sinceSnapshot() == 0 {
			continue
		}
		if err := l.shrink(); err != nil && !errors.Is(err, errNothingNew) {
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

// shrink saves a snapshot without pauses, after the one that is being saved.
func (l *Log) shrink() error {
	l.machine.hurried.Add(1)
	defer l.machine.hurried.Add(-1)
	for {
		err := l.saveSnapshot(dropAll)
		if !errors.Is(err, shard.ErrLogBusy) || !l.wait(busyPause) {
			return err
		}
	}
}

// ShrinkBytes is how much room Shrink takes, at most: that of the largest snapshot, which has what the one before had
// and all of the log since, and of the log that is written meanwhile.
func (h *Host) ShrinkBytes() uint64 {
	largest := uint64(0)
	for _, l := range h.logsByShard() {
		largest = max(largest, l.machine.growth.snapshotBytes()+l.machine.growth.sinceSnapshot())
	}
	return largest + 2*uint64(h.store.Load().SegmentBytes())
}
