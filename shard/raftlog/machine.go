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

	// newest returns the index of the newest snapshot in the log, false for an unknown index.
	newest func() (index uint64, known bool)

	entries []shard.Entry // reused by Update
	applied atomic.Uint64 // index of the last entry that the target has applied

	mu       sync.Mutex
	prepared *preparedSnapshot // prepared and not discarded yet

	hurried  atomic.Int32 // waiters for a snapshot, which is saved without pauses meanwhile
	restored atomic.Bool  // the target is not older than the newest snapshot

	closed chan struct{} // closed when the engine makes no more calls
}

// preparedSnapshot is a snapshot between its preparation and its saving. Pointers distinguish the snapshots, because
// the type of a state machine's snapshots may have incomparable values.
type preparedSnapshot struct {
	shard.Snapshot
	superseded atomic.Bool // a snapshot of another host has arrived, and waits for the end of saving
}

// errAssertion is the error of an assertion about the calls of the engine. It stops the process: the replica would go
// on with a state that does not belong to its log.
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

// Update applies entries. An error stops the process: a replica that cannot apply what the other replicas applied must
// not serve its state.
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

// SaveSnapshot writes a prepared snapshot. A failed snapshot, as on a full disk, is given up until the next snapshot is
// due: the log stays, so nothing is lost, but the log grows meanwhile. The snapshot must be the snapshot prepared last,
// because the engine writes the index of the last preparation into the log.
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

// maxSave bounds how long pauses draw out the saving of a snapshot. During the saving the machine keeps changed things
// in their old form too, and a snapshot from another host may have to wait for the end.
const maxSave = 5 * time.Minute

// hurry returns a function that reports whether the snapshot under way is to be saved without pauses.
func (m *machine) hurry(s *snapshotWriter) func() bool {
	end := time.Now().Add(maxSave)
	return func() bool {
		return m.hurried.Load() > 0 || m.saves.waiting.Load() > 0 || m.growth.outruns(s.bytes) || time.Now().After(end)
	}
}

// supersede gives the snapshot under way up: the engine restores no other snapshot before the end of the saving.
func (m *machine) supersede() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.prepared != nil {
		m.prepared.superseded.Store(true)
	}
}

// RecoverFromSnapshot replaces the state. An error stops the process, unless the shard is being closed. The snapshot
// must not be older than the applied state, and the state machine must read all of the snapshot.
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

// roomStep is how many bytes of a snapshot are written between two checks of the room.
const roomStep = 1 << 20

// snapshotWriter counts the written bytes of a snapshot, and ends the snapshot before the snapshot takes the room of
// the log. The writer pauses, so that users of the log and of the machine notice little.
type snapshotWriter struct {
	w          io.Writer
	room       func() error
	pace       *throttle.Pace
	stop       <-chan struct{}
	superseded *atomic.Bool
	bytes      uint64
	next       uint64 // byte of the next check of the room
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
