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

// errNothingNew is the reason for not saving a snapshot if the last snapshot has everything.
var errNothingNew = errors.New("raftlog: nothing was applied since the last snapshot")

// takeSnapshots saves a snapshot whenever one is due, until the log is closed. The engine's own entry count is switched
// off, because it does not count bytes.
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

// maxSaves is how many shards on a host save due snapshots at the same time. Savers pause, and the engine also needs
// workers for snapshots from other hosts.
const maxSaves = snapshotWorkers / 2

// saves is shared by all shards on a host for saving snapshots. It is safe for concurrent use.
type saves struct {
	applied atomic.Uint64 // entries, over all shards
	waiting atomic.Int32  // shards waiting for their turn
	places  chan struct{}
}

func newSaves() *saves { return &saves{places: make(chan struct{}, maxSaves)} }

// begin waits until a snapshot may be saved, and returns false if the log is closed first. The snapshots in progress
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

// takeSnapshot saves a due snapshot, and returns the pause before the next attempt.
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

// wait waits for a time, and returns false if the log is closed first.
func (l *Log) wait(d time.Duration) bool {
	select {
	case <-l.stop:
		return false
	case <-time.After(d):
		return true
	}
}

// compaction selects the log entries the engine should drop behind a snapshot: those before an index, or none.
func compaction(index uint64, compact bool) dragonboat.SnapshotOption {
	o := dragonboat.SnapshotOption{OverrideCompactionOverhead: true}
	if compact {
		o.CompactionIndex = index
	} else {
		o.CompactionOverhead = math.MaxUint64
	}
	return o
}

// dropAll drops all entries the snapshot covers.
var dropAll = dragonboat.SnapshotOption{OverrideCompactionOverhead: true}

// saveSnapshot makes the engine save a snapshot, and waits until it is done.
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

// errSnapshot is the reason for a missing snapshot if the machine has logged the details.
var errSnapshot = errors.New("raftlog: no snapshot was saved")

// Shrink saves a snapshot for every shard with an entry since its last snapshot, and drops all entries covered by
// snapshots, so a nearly full disk gets space. Lagging hosts then need snapshots.
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

// shrink saves a snapshot without pauses, once the snapshot in progress is done.
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

// ShrinkBytes is the maximum disk space that Shrink needs: for the largest new snapshot, at most as large as the last
// snapshot and all log since, and for the log written meanwhile.
func (h *Host) ShrinkBytes() uint64 {
	largest := uint64(0)
	for _, l := range h.logsByShard() {
		largest = max(largest, l.machine.growth.snapshotBytes()+l.machine.growth.sinceSnapshot())
	}
	return largest + 2*uint64(h.store.Load().SegmentBytes())
}
