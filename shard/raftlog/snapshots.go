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
	// snapshotTimeout ends the wait for a snapshot. A large state or a slow disk makes the wait long.
	snapshotTimeout = time.Hour
	// snapshotPause is the pause after a snapshot that could not be saved.
	snapshotPause = 10 * time.Second
	// busyPause is the pause after the engine was busy, or had only just started.
	busyPause = 100 * time.Millisecond
)

// errNothingNew is the reason for no snapshot where the last snapshot has everything.
var errNothingNew = errors.New("raftlog: nothing was applied since the last snapshot")

// takeSnapshots saves a snapshot whenever a snapshot is due, until the log is closed. The engine's own count of entries
// is switched off, because the engine does not count bytes.
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

// maxSaves is how many shards of a host save due snapshots at the same time. Savers pause, and the engine also needs
// workers for snapshots from other hosts.
const maxSaves = snapshotWorkers / 2

// saves is shared by all shards of a host for saving snapshots. Any goroutine may use it.
type saves struct {
	applied atomic.Uint64 // entries, by all shards
	waiting atomic.Int32  // shards that must wait for a place
	places  chan struct{}
}

func newSaves() *saves { return &saves{places: make(chan struct{}, maxSaves)} }

// begin waits until a snapshot may be saved, and returns false where the log is closed first. The snapshots under way
// hurry meanwhile.
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

// takeSnapshot saves a due snapshot, and returns the pause before the next try.
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

// compaction says which part of the log the engine is to drop behind a snapshot: the entries before an index, or
// nothing.
func compaction(index uint64, compact bool) dragonboat.SnapshotOption {
	o := dragonboat.SnapshotOption{OverrideCompactionOverhead: true}
	if compact {
		o.CompactionIndex = index
	} else {
		o.CompactionOverhead = math.MaxUint64
	}
	return o
}

// dropAll drops all entries that the snapshot has.
var dropAll = dragonboat.SnapshotOption{OverrideCompactionOverhead: true}

// saveSnapshot makes the engine save a snapshot, and waits for the end.
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

// errSnapshot is the reason for no snapshot where the machine has logged the details.
var errSnapshot = errors.New("raftlog: no snapshot was saved")

// Shrink saves a snapshot of every shard with an entry since its last snapshot, and drops all entries that the
// snapshots have, so that a nearly full disk gets room. Lagging hosts then need snapshots.
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

// shrink saves a snapshot without pauses, after the end of the snapshot under way.
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

// ShrinkBytes is the most room that Shrink takes: the room of the largest new snapshot, at most as large as the last
// snapshot and all of the log since, and of the log that is written meanwhile.
func (h *Host) ShrinkBytes() uint64 {
	largest := uint64(0)
	for _, l := range h.logsByShard() {
		largest = max(largest, l.machine.growth.snapshotBytes()+l.machine.growth.sinceSnapshot())
	}
	return largest + 2*uint64(h.store.Load().SegmentBytes())
}
