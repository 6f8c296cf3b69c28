package metrics

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/shard"
)

// snapshotTable has the counts of every shard.
type snapshotTable struct {
	mu     sync.Mutex
	counts map[uint64]*snapshotCounts
}

// of returns a shard's counts.
func (t *snapshotTable) of(shardID uint64) *snapshotCounts {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts = make(map[uint64]*snapshotCounts)
	}
	if t.counts[shardID] == nil {
		t.counts[shardID] = &snapshotCounts{}
	}
	return t.counts[shardID]
}

// shards returns the shards with counts, in ascending order.
func (t *snapshotTable) shards() []uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Sorted(maps.Keys(t.counts))
}

// snapshotCounts counts the snapshots of one shard's log on the host, by outcome.
type snapshotCounts struct {
	saved  atomic.Uint64
	failed atomic.Uint64 // snapshots that could not be saved
	loaded atomic.Uint64
	bytes  atomic.Int64 // in the latest saved or loaded snapshot
}

// write writes the snapshot series of one shard.
func (c *snapshotCounts) write(w io.Writer, shardID uint64) {
	l := fmt.Sprintf(`{shard="%d"}`, shardID)
	fmt.Fprintf(w, "signalbox_snapshots_saved_total%s %d\n", l, c.saved.Load())
	fmt.Fprintf(w, "signalbox_snapshot_save_failures_total%s %d\n", l, c.failed.Load())
	fmt.Fprintf(w, "signalbox_snapshots_loaded_total%s %d\n", l, c.loaded.Load())
	fmt.Fprintf(w, "signalbox_snapshot_size_bytes%s %d\n", l, c.bytes.Load())
}

// CountSnapshots wraps a state machine, and counts the snapshots the log requests and restores. clock measures the
// durations.
func (m *Metrics) CountSnapshots(shardID uint64, to shard.StateMachine, clock func() time.Time) shard.StateMachine {
	return countedMachine{to, m, m.snapshots.of(shardID), clock}
}

// countedMachine counts the snapshots prepared by, and restored to, a state machine.
type countedMachine struct {
	shard.StateMachine
	metrics *Metrics
	counts  *snapshotCounts
	clock   func() time.Time
}

// PrepareSnapshot implements shard.StateMachine.
func (m countedMachine) PrepareSnapshot() (shard.Snapshot, error) {
	s, err := m.StateMachine.PrepareSnapshot()
	if err != nil {
		m.counts.failed.Add(1)
		return nil, err
	}
	return countedSnapshot{s, m}, nil
}

// Restore implements shard.StateMachine.
func (m countedMachine) Restore(r io.Reader) error {
	from, began := sizedReader{Reader: r}, m.clock()
	if err := m.StateMachine.Restore(&from); err != nil {
		return err
	}
	m.metrics.Loads.Observe(int64(m.clock().Sub(began)))
	m.counts.bytes.Store(from.size)
	m.counts.loaded.Add(1)
	return nil
}

// countedSnapshot measures how long it takes to save a snapshot.
type countedSnapshot struct {
	shard.Snapshot
	machine countedMachine
}

// Save implements shard.Snapshot.
func (s countedSnapshot) Save(w io.Writer, stop <-chan struct{}) error {
	m := s.machine
	to, began := sizedWriter{Writer: w}, m.clock()
	err := s.Snapshot.Save(&to, stop)
	switch {
	case err == nil:
		m.metrics.Saves.Observe(int64(m.clock().Sub(began)))
		m.counts.bytes.Store(to.size)
		m.counts.saved.Add(1)
	case !errors.Is(err, shard.ErrSnapshotStopped):
		m.counts.failed.Add(1)
	}
	return err
}

// sizedWriter counts the written bytes.
type sizedWriter struct {
	io.Writer
	size int64
}

func (w *sizedWriter) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	w.size += int64(n)
	return n, err
}

// sizedReader counts the bytes read.
type sizedReader struct {
	io.Reader
	size int64
}

func (r *sizedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.size += int64(n)
	return n, err
}
