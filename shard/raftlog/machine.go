package raftlog

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lni/dragonboat/v4/statemachine"
	"github.com/signalbox/signalbox/internal/throttle"
	"github.com/signalbox/signalbox/shard"
)

// machine adapts a shard.StateMachine to the engine.
//
// The engine never overlaps Update, PrepareSnapshot, RecoverFromSnapshot and Close; SaveSnapshot runs beside Update.
type machine struct {
	shardID uint64
	target  shard.StateMachine
	logger  *slog.Logger
	growth  *growth
	saves   *saves
	room    func() error // returns why the disk has no space to continue a snapshot

	// newest returns the newest snapshot's index in the log, false if unknown.
	newest func() (index uint64, known bool)

	entries []shard.Entry // reused by Update
	applied atomic.Uint64 // index of the last entry applied by the target

	mu       sync.Mutex
	prepared *preparedSnapshot // prepared and not discarded yet

	hurried  atomic.Int32 // waiters for a snapshot, which is saved without pauses meanwhile
	restored atomic.Bool  // the target is not older than the newest snapshot

	closed chan struct{} // closed when the engine makes no more calls
}

// preparedSnapshot is a snapshot between its preparation and its saving. Snapshots are compared by pointer, because a
// state machine's snapshot type may not be comparable.
type preparedSnapshot struct {
	shard.Snapshot
	superseded atomic.Bool // a snapshot from another host has arrived, and waits until saving ends
}

// errAssertion is the error for a failed assertion about the engine's calls. It stops the process: otherwise the
// replica would continue with a state that does not belong to its log.
var errAssertion = errors.New("assertion failed")

func newMachine(
	shardID uint64, target shard.StateMachine, logger *slog.Logger, growth *growth, saves *saves,
	newest func() (uint64, bool),
) *machine {
	return &machine{
		shardID: shardID, target: target, logger: logger, growth: growth, saves: saves, newest: newest,
		room: func() error { return nil }, closed: make(chan struct{}),
	}
}

// Update applies entries. An error stops the process: a replica that cannot apply what other replicas applied must not
// serve its state.
func (m *machine) Update(committed []statemachine.Entry) ([]statemachine.Entry, error) {
	entries, last, bytes := m.entries[:0], m.applied.Load(), 0
	for i := range committed {
		if committed[i].Index <= last {
			return nil, m.stop("refused committed entries",
				fmt.Errorf("%w: entry %d comes after entry %d", errAssertion, committed[i].Index, last))
		}
		last = committed[i].Index
		bytes += len(committed[i].Cmd)
		entries = append(entries, shard.Entry{Index: last, Data: committed[i].Cmd})
	}
	if err := m.target.Apply(entries); err != nil {
		return nil, m.stop("refused committed entries",
			fmt.Errorf("apply entries %d to %d: %w", entries[0].Index, last, err))
	}
	m.applied.Store(last)
	if len(entries) > 0 {
		commands := 0
		for i := range entries {
			commands += entries[i].Commands
		}
		m.growth.add(entries[0].Index, last, bytes, commands)
		m.saves.applied.Add(uint64(len(entries)))
	}
	clear(entries)
	m.entries = entries
	return committed, nil
}

// stop logs and returns an error that makes the engine stop the process.
func (m *machine) stop(what string, err error) error {
	m.logger.Error("this replica cannot go on: its state machine "+what+"; the process stops",
		"shard", m.shardID, "error", err)
	return fmt.Errorf("raftlog: shard %d: %w", m.shardID, err)
}

// Lookup is not used: reads go directly to the shard's state machine.
func (m *machine) Lookup(any) (any, error) {
	return nil, errors.New("raftlog: the log answers no queries")
}

// PrepareSnapshot fixes the state. It first discards a snapshot the engine prepared and gave up without saving.
func (m *machine) PrepareSnapshot() (any, error) {
	m.discard()
	snapshot, err := m.target.PrepareSnapshot()
	if err != nil {
		return nil, fmt.Errorf("raftlog: shard %d: prepare a snapshot: %w", m.shardID, err)
	}
	m.growth.prepare()
	p := &preparedSnapshot{Snapshot: snapshot}
	m.mu.Lock()
	m.prepared = p
	m.mu.Unlock()
	return p, nil
}

// SaveSnapshot writes a prepared snapshot. After a failure, for example on a full disk, there is no retry until the
// next snapshot is due: the log stays, so nothing is lost, but the log grows meanwhile. The snapshot must be the last
// prepared snapshot, because the engine writes the last preparation's index into the log.
func (m *machine) SaveSnapshot(
	prepared any, w io.Writer, _ statemachine.ISnapshotFileCollection, stop <-chan struct{},
) error {
	m.mu.Lock()
	snapshot := m.prepared
	m.mu.Unlock()
	if of, ok := prepared.(*preparedSnapshot); snapshot == nil || !ok || of != snapshot {
		return m.stop("saves a snapshot", fmt.Errorf("%w: it is not the one that was prepared last", errAssertion))
	}
	defer m.discard()
	counted := &snapshotWriter{w: w, room: m.room, stop: stop, superseded: &snapshot.superseded}
	counted.pace = throttle.New(m.saves.applied.Load, m.hurry(counted))
	counted.pace.Work()
	err := snapshot.Save(counted, stop)
	switch {
	case err == nil:
		m.growth.write(counted.bytes)
		return nil
	case errors.Is(err, shard.ErrSnapshotStopped):
		return statemachine.ErrSnapshotStopped
	}
	m.logger.Error("a snapshot could not be saved; the log grows until one can", "shard", m.shardID, "error", err)
	return statemachine.ErrSnapshotAborted
}

// maxSave bounds how long pauses extend saving a snapshot. While saving, the machine also keeps the old form of changed
// entries, and a snapshot from another host may have to wait until saving ends.
const maxSave = 5 * time.Minute

// hurry returns a function that reports whether to save the snapshot in progress without pauses.
func (m *machine) hurry(s *snapshotWriter) func() bool {
	end := time.Now().Add(maxSave)
	return func() bool {
		return m.hurried.Load() > 0 || m.saves.waiting.Load() > 0 || m.growth.outruns(s.bytes) || time.Now().After(end)
	}
}

// supersede gives up the snapshot in progress: the engine restores no other snapshot before saving ends.
func (m *machine) supersede() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.prepared != nil {
		m.prepared.superseded.Store(true)
	}
}

// RecoverFromSnapshot replaces the state. An error stops the process, unless the shard is being closed. The snapshot
// must not be older than the applied state, and the state machine must read the whole snapshot.
func (m *machine) RecoverFromSnapshot(r io.Reader, _ []statemachine.SnapshotFile, stop <-chan struct{}) error {
	m.restored.Store(false)
	reader := &stoppableReader{r: r, stop: stop}
	err := m.recover(reader)
	if err == nil {
		m.growth.restore(reader.bytes)
		m.restored.Store(true)
		return nil
	}
	select {
	case <-stop:
		return statemachine.ErrSnapshotStopped
	default:
	}
	return m.stop("refused a snapshot", fmt.Errorf("restore a snapshot: %w", err))
}

func (m *machine) recover(r io.Reader) error {
	if index, known := m.newest(); known && index < m.applied.Load() {
		return fmt.Errorf("%w: it is of entry %d, and entry %d is applied", errAssertion, index, m.applied.Load())
	}
	if err := m.target.Restore(r); err != nil {
		return err
	}
	switch n, err := io.ReadFull(r, make([]byte, 1)); {
	case n > 0:
		return fmt.Errorf("%w: the state machine has not read all of it", errAssertion)
	case !errors.Is(err, io.EOF):
		return err
	}
	return nil
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

// stoppableReader ends a Restore early when the shard is closed. It does not read past the end, because the engine's
// reader would return zeros there.
type stoppableReader struct {
	r    io.Reader
	stop <-chan struct{}
	end  bool

	bytes uint64 // bytes read so far
}

func (s *stoppableReader) Read(p []byte) (int, error) {
	select {
	case <-s.stop:
		return 0, shard.ErrSnapshotStopped
	default:
	}
	if s.end {
		return 0, io.EOF
	}
	n, err := s.r.Read(p)
	s.bytes += uint64(n)
	s.end = errors.Is(err, io.EOF)
	return n, err
}

// roomStep is how many snapshot bytes are written between two disk space checks.
const roomStep = 1 << 20

// snapshotWriter counts a snapshot's written bytes, and ends the snapshot before it uses up the log's disk space. The
// writer pauses, so users of the log and the machine notice little.
type snapshotWriter struct {
	w          io.Writer
	room       func() error
	pace       *throttle.Pace
	stop       <-chan struct{}
	superseded *atomic.Bool
	bytes      uint64
	next       uint64 // byte offset of the next disk space check
}

func (s *snapshotWriter) Write(p []byte) (int, error) {
	if !s.pace.Pause(s.stop) || s.superseded.Load() {
		return 0, shard.ErrSnapshotStopped
	}
	defer s.pace.Work()
	if s.bytes >= s.next {
		if err := s.room(); err != nil {
			return 0, err
		}
		s.next = s.bytes + roomStep
	}
	n, err := s.w.Write(p)
	s.bytes += uint64(n)
	return n, err
}
