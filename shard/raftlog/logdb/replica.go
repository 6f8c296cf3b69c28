package logdb

import (
	"fmt"
	"math"
	"sync/atomic"

	"github.com/lni/dragonboat/v4/raftio"
	pb "github.com/lni/dragonboat/v4/raftpb"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/raftlog/wal"
)

// lock is a mutex for goroutines that may wait for the disk, as an append at the end of a segment does. In a
// testing/synctest bubble, time advances while a goroutine waits for the lock, unlike with a sync.Mutex.
type lock chan struct{}

func newLock() lock { return make(lock, 1) }

// Lock waits until no other goroutine has the lock.
func (l lock) Lock() { l <- struct{}{} }

// Unlock gives the lock to a waiting goroutine.
func (l lock) Unlock() { <-l }

// replica is the store content for one replica. The entries are in the log, and the latest entries for all replicas
// also in memory.
type replica struct {
	db  *DB
	key wal.Key

	// The lock is held while a change is appended to the log, so the log and the memory have the changes in the same
	// order.
	mu        lock
	bootstrap []byte // encoded, or nil
	state     pb.State
	logged    pb.State // the last state in the log, possibly with an earlier commit position
	snapshot  pb.Snapshot
	entries   runs

	// last is the last entry, or without entries the snapshot's last entry. It is read without the lock.
	last atomic.Uint64

	// where the log has the latest version of each
	bootstrapAt, stateAt, snapshotAt use
	encoding                         []byte // memory for records
}

// use is the needed part in a segment.
type use struct {
	segment uint64
	bytes   int64
}

const (
	// stateBytes is the approximate log space for a state.
	stateBytes = 32
	// recordBytes is the approximate length of a record with several entries. Reading one entry reads the whole record.
	recordBytes = 256 << 10
)

// save stores an engine update for a replica, and reports whether the content must be durable before the call returns:
// a term, a vote, entries or a snapshot. A commit position alone is not even written. It is logged with the next
// change, because Raft tolerates losing a commit position.
func (r *replica) save(u *pb.Update) (at wal.Place, durable bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	rest := u.EntriesToSave
	if n := len(rest); n > 0 && u.Snapshot.Index > rest[n-1].Index { // the engine never makes such an update
		return at, false, fmt.Errorf("logdb: shard %d has a snapshot of %d, and entries up to %d are saved with it",
			u.ShardID, u.Snapshot.Index, rest[n-1].Index)
	}
	if !pb.IsEmptyState(u.State) {
		r.state = u.State
	}
	c := change{state: r.state}
	if u.Snapshot.Index > r.snapshot.Index {
		c.snapshot, c.installed = pb.MustMarshal(&u.Snapshot), true
	}
	durable = r.state.Term != r.logged.Term || r.state.Vote != r.logged.Vote || c.snapshot != nil
	for durable || len(rest) > 0 {
		n := 0 // how many entries go into the next record
		for size := 0; n < len(rest) && (n == 0 || size < recordBytes && rest[n].Index == rest[n-1].Index+1); n++ {
			size += len(rest[n].Cmd)
		}
		c.entries, rest = rest[:n], rest[n:]
		if at, err = r.append(c); err != nil {
			return at, false, err
		}
		if c, durable = (change{}), false; len(rest) == 0 {
			return at, true, nil
		}
	}
	return at, false, nil
}

// saveSnapshot saves a snapshot of this replica's own state, together with the latest Raft state: the log never has one
// without the other.
func (r *replica) saveSnapshot(snapshot *pb.Snapshot) (at wal.Place, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if snapshot.Index <= r.snapshot.Index {
		return at, nil
	}
	return r.append(change{state: r.state, snapshot: pb.MustMarshal(snapshot)})
}

// saveBootstrap saves the replica's bootstrap information.
func (r *replica) saveBootstrap(bootstrap *pb.Bootstrap) (wal.Place, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.append(change{bootstrap: pb.MustMarshal(bootstrap)})
}

// replace replaces the replica's whole content by an imported snapshot.
func (r *replica) replace(snapshot *pb.Snapshot) (wal.Place, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.append(change{
		cleared:   true,
		bootstrap: pb.MustMarshal(&pb.Bootstrap{Join: true, Type: snapshot.Type}),
		state:     pb.State{Term: snapshot.Term, Commit: snapshot.Index},
		snapshot:  pb.MustMarshal(snapshot), installed: true,
	})
}

// remove removes the replica's whole content.
func (r *replica) remove() (wal.Place, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.append(change{cleared: true})
}

// savePosition writes a commit position the log does not have yet.
func (r *replica) savePosition() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if pb.IsStateEqual(r.state, r.logged) {
		return nil
	}
	_, err := r.append(change{state: r.state})
	return err
}

// append appends a change to the log, and then applies the change. The caller holds the lock.
func (r *replica) append(c change) (wal.Place, error) {
	r.encoding = c.appendTo(r.encoding[:0])
	at, err := r.db.log.Append(r.key, kindChange, r.encoding)
	if err != nil {
		return at, err
	}
	done := read{change: c, count: uint64(len(c.entries))}
	var recent kept
	if done.count > 0 {
		done.first = c.entries[0].Index
		if !c.rewritten {
			recent = r.db.recent.add(r.encoding)
		}
	}
	if len(r.encoding) > recordBytes {
		r.encoding = nil
	}
	err = r.do(done, at, recent)
	r.db.log.Need(at.Segment, -int64(at.Bytes)) // the needed parts in the record are counted now
	return at, err
}

// do applies a change that is in the log. The caller holds the lock.
func (r *replica) do(c read, at wal.Place, recent kept) error {
	if c.cleared {
		r.clear()
	}
	if c.bootstrap != nil {
		r.bootstrap = append([]byte{}, c.bootstrap...)
		r.move(&r.bootstrapAt, at, len(c.bootstrap)+1)
	}
	if !pb.IsEmptyState(c.state) {
		r.state, r.logged = c.state, c.state
		r.move(&r.stateAt, at, stateBytes)
	}
	if c.snapshot != nil {
		r.snapshot = pb.Snapshot{}
		if err := r.snapshot.Unmarshal(c.snapshot); err != nil {
			return fmt.Errorf("%w: %w", errForm, err)
		}
		r.move(&r.snapshotAt, at, len(c.snapshot))
	}
	if c.installed {
		r.cut(0, math.MaxUint64)
	}
	if c.count > 0 {
		added := run{first: c.first, last: c.first + c.count - 1, place: at, recent: recent}
		replaced := uint64(math.MaxUint64)
		if c.rewritten {
			replaced = added.last
		}
		r.cut(added.first, replaced, added)
		r.count(added, 1)
	}
	last := r.snapshot.Index
	if n := len(r.entries); n > 0 {
		last = max(last, ending(r.entries[n-1]))
	}
	r.last.Store(last)
	return nil
}

// move notes a needed part's new place.
func (r *replica) move(u *use, at wal.Place, bytes int) {
	if u.bytes > 0 {
		r.db.log.Need(u.segment, -u.bytes)
	}
	*u = use{at.Segment, int64(bytes)}
	if bytes > 0 {
		r.db.log.Need(u.segment, u.bytes)
	}
}

// count adds to the needed bytes in the log, for a change in the number of runs that refer to a record. A record counts
// once per run.
func (r *replica) count(changed run, runs int) {
	r.db.log.Need(changed.place.Segment, int64(runs)*int64(changed.place.Bytes))
}

// cut removes the entries from first to last, and may insert a run instead. The caller holds the lock.
func (r *replica) cut(first, last uint64, added ...run) {
	var after []run
	for old := range r.entries.since(first) {
		if old.first > last {
			break
		}
		parts := -1
		if old.first < first {
			added = append([]run{{old.first, first - 1, old.place, old.recent}}, added...)
			parts++
		}
		if old.last > last {
			after = append(after, run{last + 1, old.last, old.place, old.recent})
			parts++
		}
		if parts != 0 {
			r.count(old, parts)
		}
	}
	r.entries = r.entries.replace(first, last, append(added, after...)...)
}

// clear forgets everything. The caller holds the lock.
func (r *replica) clear() {
	r.cut(0, math.MaxUint64)
	for _, u := range []*use{&r.bootstrapAt, &r.stateAt, &r.snapshotAt} {
		r.move(u, wal.Place{}, 0)
	}
	r.bootstrap, r.state, r.logged, r.snapshot = nil, pb.State{}, pb.State{}, pb.Snapshot{}
}

// forget removes the entries before the snapshot, and reports whether the replica is empty.
func (r *replica) forget() (empty bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.snapshot.Index > 0 {
		r.cut(0, r.snapshot.Index-1)
	}
	return r.bootstrap == nil && pb.IsEmptyState(r.state) && pb.IsEmptySnapshot(r.snapshot) && len(r.entries) == 0
}

// position returns the replica's term and its last entry.
func (r *replica) position() hosts.Position {
	r.mu.Lock()
	defer r.mu.Unlock()
	return hosts.Position{Shard: r.key.Shard, Replica: r.key.Replica, Term: r.state.Term, Last: r.last.Load()}
}

// raftState returns the state for an engine that has a snapshot at an index, and the range of entries from there on.
// The resulting commit position is never before the snapshot nor after the last entry: the engine would stop the
// process. The commit position in the log may be before the snapshot, because it is written only together with a change
// that must be durable. It may be after the last entry if entries were lost with a record that was not durable.
func (r *replica) raftState(snapshotIndex uint64) (raftio.RaftState, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if pb.IsEmptyState(r.state) {
		return raftio.RaftState{}, raftio.ErrNoSavedLog
	}
	first, count := r.entries.extent(snapshotIndex)
	least := max(snapshotIndex, r.snapshot.Index)
	last := least
	if count > 0 {
		last = max(least, first+count-1)
	}
	state := r.state
	state.Commit = min(max(state.Commit, least), last)
	return raftio.RaftState{State: state, FirstIndex: first, EntryCount: count}, nil
}

const (
	// manyEntries is the number of entries from which their commands are stored together, in blocks of commandsTogether
	// bytes: the engine keeps what it applied after a start for up to 40 s, and garbage collection looks at each block.
	manyEntries      = 100
	commandsTogether = 64 << 10
)

// keepIn copies a command into a memory block shared with earlier commands, and returns the block with capacity for the
// next command.
func keepIn(piece, command []byte) (kept, _ []byte) {
	from := len(piece)
	if cap(piece)-from < len(command) {
		piece, from = make([]byte, 0, max(commandsTogether, len(command))), 0
	}
	piece = append(piece, command...)
	return piece[from:len(piece):len(piece)], piece
}

// iterate appends the entries from low to high, excluding high, until the entries exceed a number of bytes.
func (r *replica) iterate(entries []pb.Entry, size, low, high, most uint64) ([]pb.Entry, uint64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	many := high-low > manyEntries
	var commands []byte
	for low < high {
		found, ok := r.entries.at(low)
		if !ok {
			break
		}
		all, err := r.load(found)
		if err != nil {
			return nil, 0, err
		}
		for _, e := range all[low-all[0].Index : min(high-1, found.last)-all[0].Index+1] {
			if many {
				e.Cmd, commands = keepIn(commands, e.Cmd)
			}
			entries = append(entries, e)
			if size += uint64(e.SizeUpperLimit()); size > most {
				return entries, size, nil
			}
			low++
		}
	}
	return entries, size, nil
}

// load returns the entries in a run's record. The record may have more entries than the run. The caller holds the lock,
// so the record is not removed meanwhile.
func (r *replica) load(found run) ([]pb.Entry, error) {
	data := r.db.recent.record(found.recent)
	if data == nil {
		var err error
		if data, err = r.db.log.Read(found.place); err != nil {
			return nil, err
		}
	}
	c, err := readChange(data)
	if err != nil {
		return nil, err
	}
	entries, err := c.decode()
	if err == nil && (c.first > found.first || c.first+c.count-1 < found.last) {
		err = errForm
	}
	return entries, err
}

// removeTo removes the entries up to an index, piece by piece: the lock is released in between. The removal is not
// logged, because a replay does not keep the entries before the snapshot.
func (r *replica) removeTo(index uint64) {
	for removed := uint64(0); removed < index; {
		removed = r.removePiece(index)
	}
}

// removePiece removes entries from the first piece up to an index, and returns the last removed index.
func (r *replica) removePiece(index uint64) uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.entries) > 0 {
		index = min(index, ending(r.entries[0]))
	}
	r.cut(0, index)
	return index
}
