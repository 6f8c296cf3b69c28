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
	"github.com/signalbox/signalbox/internal/pace"
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
	growth  *growth
	saves   *saves
	room    func() error // returns why the disk has no room for more of a snapshot

	// newest returns the index of the newest snapshot in the log, false where that is not known.
	newest func() (index uint64, known bool)

	entries []shard.Entry // reused by Update
	applied atomic.Uint64 // index of the last entry that the target has applied

	mu       sync.Mutex
	prepared *preparedSnapshot // prepared and not discarded yet

	saveFailures atomic.Uint64
	hurried      atomic.Int32 // so many wait for a snapshot, which is saved without pauses meanwhile
	restored     atomic.Bool  // the target is not older than the newest snapshot

	closed chan struct{} // closed when the engine makes no more calls
}

// preparedSnapshot is what the engine holds between preparing a snapshot and saving it. Snapshots are distinguished by
// their pointers: those of a state machine may be of a type whose values cannot be compared.
type preparedSnapshot struct {
	shard.Snapshot
	superseded atomic.Bool // one of another host has arrived: the replica waits for this one only to end
}

// errAssertion is the error of an assertion about what the engine hands over. It stops the process: the replica would
// go on with a state that is not that of its log.
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

// Update applies entries. An error stops the process: a replica that cannot apply what the others applied must not
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
		m.growth.add(entries[0].Index, last, bytes)
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
	m.growth.prepare()
	p := &preparedSnapshot{Snapshot: snapshot}
	m.mu.Lock()
	m.prepared = p
	m.mu.Unlock()
	return p, nil
}

// SaveSnapshot writes a prepared snapshot. One that cannot be written, as on a full disk, is given up until the next is
// due: the log stays, so nothing is lost, but it grows meanwhile. The snapshot must be the one that was prepared last:
// the engine writes the index of that one into the log.
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
	counted.pace = pace.New(m.saves.applied.Load, m.hurry(counted))
	counted.pace.Work()
	err := snapshot.Save(counted, stop)
	switch {
	case err == nil:
		m.growth.write(counted.bytes)
		return nil
	case errors.Is(err, shard.ErrSnapshotStopped):
		return statemachine.ErrSnapshotStopped
	}
	m.saveFailures.Add(1)
	m.logger.Error("a snapshot could not be saved; the log grows until one can", "shard", m.shardID, "error", err)
	return statemachine.ErrSnapshotAborted
}

// maxSave is how long pauses draw out the saving of a snapshot: while it is under way, what changes is kept in its old
// form too, and one that another host sends may have to wait for it.
const maxSave = 5 * time.Minute

// hurry returns what reports whether a snapshot that is being saved is saved without pauses.
func (m *machine) hurry(s *snapshotWriter) func() bool {
	end := time.Now().Add(maxSave)
	return func() bool {
		return m.hurried.Load() > 0 || m.saves.waiting.Load() > 0 || m.growth.outruns(s.bytes) || time.Now().After(end)
	}
}

// supersede has the snapshot given up that is being saved: the engine restores no other one before it ends.
func (m *machine) supersede() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.prepared != nil {
		m.prepared.superseded.Store(true)
	}
}

// RecoverFromSnapshot replaces the state. An error stops the process, unless the shard is being closed. The snapshot
// must not be older than what is applied, and the state machine must read all of it.
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

// stoppableReader ends a Restore early when its shard is closed. It does not read past the end: the engine's reader
// would return zeros there.
type stoppableReader struct {
	r    io.Reader
	stop <-chan struct{}
	end  bool

	bytes uint64 // that were read
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

// roomStep is after how many bytes of a snapshot the room for more is looked at.
const roomStep = 1 << 20

// snapshotWriter counts what is written of a snapshot, and ends it before it takes the room of the log. It pauses, so
// that those who wait for the log and for the machine notice little of it.
type snapshotWriter struct {
	w          io.Writer
	room       func() error
	pace       *pace.Pace
	stop       <-chan struct{}
	superseded *atomic.Bool
	bytes      uint64
	next       uint64 // where the room is looked at next
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
