package raftlog

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/lni/dragonboat/v4/statemachine"
	"github.com/signalbox/signalbox/shard"
)

// machine is the engine's view of a shard.StateMachine.
//
// The engine never overlaps Update, PrepareSnapshot, RecoverFromSnapshot and Close; SaveSnapshot runs
// beside Update.
type machine struct {
	shardID uint64
	target  shard.StateMachine
	logger  *slog.Logger

	entries []shard.Entry // reused by Update
	applied atomic.Uint64 // index of the last entry that the target has applied

	mu       sync.Mutex
	prepared shard.Snapshot // prepared and not discarded yet

	saveFailures atomic.Uint64
	restored     atomic.Bool // the target is not older than the newest snapshot

	closed chan struct{} // closed when the engine makes no more calls
}

func newMachine(shardID uint64, target shard.StateMachine, logger *slog.Logger) *machine {
	return &machine{shardID: shardID, target: target, logger: logger, closed: make(chan struct{})}
}

// Update applies entries. An error stops the process: a replica that cannot apply what the others applied must not
// serve its state.
func (m *machine) Update(committed []statemachine.Entry) ([]statemachine.Entry, error) {
	entries := m.entries[:0]
	for i := range committed {
		entries = append(entries, shard.Entry{Index: committed[i].Index, Data: committed[i].Cmd})
	}
	if err := m.target.Apply(entries); err != nil {
		first, last := entries[0].Index, entries[len(entries)-1].Index
		m.logger.Error("this replica cannot go on: its state machine refused committed entries; the process stops",
			"shard", m.shardID, "first", first, "last", last, "error", err)
		return nil, fmt.Errorf("raftlog: shard %d: apply entries %d to %d: %w", m.shardID, first, last, err)
	}
	m.applied.Store(committed[len(committed)-1].Index)
	clear(entries)
	m.entries = entries
	return committed, nil
}

// Lookup is not used: reads go to the shard's state machine directly.
func (m *machine) Lookup(any) (any, error) {
	return nil, errors.New("raftlog: the log answers no queries")
}

// PrepareSnapshot fixes the state. It first discards a snapshot that the engine prepared and gave up without saving.
func (m *machine) PrepareSnapshot() (any, error) {
	m.discard()
	snapshot, err := m.target.PrepareSnapshot()
	if err != nil {
		return nil, fmt.Errorf("raftlog: shard %d: prepare a snapshot: %w", m.shardID, err)
	}
	m.mu.Lock()
	m.prepared = snapshot
	m.mu.Unlock()
	return snapshot, nil
}

// SaveSnapshot writes a prepared snapshot. One that cannot be written, as on a full disk, is given up until the next is
// due: the log stays, so nothing is lost, but it grows meanwhile.
func (m *machine) SaveSnapshot(prepared any, w io.Writer, _ statemachine.ISnapshotFileCollection,
	stop <-chan struct{}) error {
	defer m.discard()
	err := prepared.(shard.Snapshot).Save(w, stop)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, shard.ErrSnapshotStopped):
		return statemachine.ErrSnapshotStopped
	}
	m.saveFailures.Add(1)
	m.logger.Error("a snapshot could not be saved; the log grows until one can", "shard", m.shardID, "error", err)
	return statemachine.ErrSnapshotAborted
}

// RecoverFromSnapshot replaces the state. An error stops the process, unless the shard is being closed.
func (m *machine) RecoverFromSnapshot(r io.Reader, _ []statemachine.SnapshotFile, stop <-chan struct{}) error {
	m.restored.Store(false)
	err := m.target.Restore(&stoppableReader{r: r, stop: stop})
	if err == nil {
		m.restored.Store(true)
		return nil
	}
	select {
	case <-stop:
		return statemachine.ErrSnapshotStopped
	default:
	}
	m.logger.Error("this replica cannot go on: its state machine refused a snapshot; the process stops",
		"shard", m.shardID, "error", err)
	return fmt.Errorf("raftlog: shard %d: restore a snapshot: %w", m.shardID, err)
}

// Close is the engine's last call.
func (m *machine) Close() error {
	m.discard()
	close(m.closed)
	return nil
}

func (m *machine) discard() {
	m.mu.Lock()
	snapshot := m.prepared
	m.prepared = nil
	m.mu.Unlock()
	if snapshot != nil {
		snapshot.Discard()
	}
}

// stoppableReader ends a Restore early when its shard is closed.
type stoppableReader struct {
	r    io.Reader
	stop <-chan struct{}
}

func (s *stoppableReader) Read(p []byte) (int, error) {
	select {
	case <-s.stop:
		return 0, shard.ErrSnapshotStopped
	default:
		return s.r.Read(p)
	}
}
