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

// lock is a mutex for goroutines that may wait for the disk, as an append at the end of a segment does. While a
// goroutine waits for the lock, the time of a bubble of testing/synctest goes on, unlike with a sync.Mutex.
type lock chan struct{}

func newLock() lock { return make(lock, 1) }

// Lock waits until no other goroutine has the lock.
func (l lock) Lock() { l <- struct{}{} }

// Unlock gives the lock to a waiting goroutine.
func (l lock) Unlock() { <-l }

// replica is the content of the store for one replica. The entries are in the log, and the latest entries of all
// replicas also in memory.
type replica struct {
	db  *DB
	key wal.Key

	// The lock is held while a change is appended to the log, so the log has the changes in the order of the memory.
	mu        lock
	bootstrap []byte // encoded, or nil
	state     pb.State
	logged    pb.State // the last state in the log, possibly with an earlier commit position
	snapshot  pb.Snapshot
	entries   runs

	// last is the last entry, or without entries the last entry in the snapshot. It is read without the lock.
	last atomic.Uint64

	// where the log has the latest of each kind
	bootstrapAt, stateAt, snapshotAt use
	encoding                         []byte // memory for records
}

// use is the needed part of a segment.
type use struct {
	segment uint64
	bytes   int64
}

// stateBytes is about the room of a state in the log.
const stateBytes = 32

// move notes the new place of a needed part.
func (r *replica) move(u *use, at wal.Place, bytes int) {
	if u.bytes > 0 {
		r.db.need(u.segment, -u.bytes)
	}
	*u = use{at.Segment, int64(bytes)}
	if bytes > 0 {
		r.db.need(u.segment, u.bytes)
	}
}

// count is called by runs for the place of a changed run.
func (r *replica) count(changed run, runs int) {
	r.db.need(changed.place.Segment, int64(runs)*int64(changed.place.Bytes))
}

// append appends a change to the log, and then applies the change. The lock is held.
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
	r.db.need(at.Segment, -int64(at.Bytes)) // the needed parts of the record are counted now
	return at, err
}

// do applies a change that is in the log. The lock is held.
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
		r.entries.cutFrom(0, r.count)
	}
	if c.count > 0 {
		r.put(run{first: c.first, last: c.first + c.count - 1, place: at, recent: recent}, c.rewritten)
	}
	last := r.snapshot.Index
	if n := len(r.entries); n > 0 {
		last = max(last, r.entries[n-1].last)
	}
	r.last.Store(last)
	return nil
}

// position returns the term of the replica and its last entry.
func (r *replica) position() hosts.Position {
	r.mu.Lock()
	defer r.mu.Unlock()
	return hosts.Position{Shard: r.key.Shard, Replica: r.key.Replica, Term: r.state.Term, Last: r.last.Load()}
}

// put adds entries. The lock is held.
func (r *replica) put(added run, rewritten bool) {
	if rewritten {
		r.entries.cut(added.first, added.last, r.count)
	} else {
		r.entries.cutFrom(added.first, r.count)
	}
	r.entries.put(added)
	r.count(added, 1)
}

// clear forgets everything. The lock is held.
func (r *replica) clear() {
	r.entries.cutFrom(0, r.count)
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
		r.entries.cut(0, r.snapshot.Index-1, r.count)
	}
	return r.bootstrap == nil && pb.IsEmptyState(r.state) && pb.IsEmptySnapshot(r.snapshot) && len(r.entries) == 0
}

// raftState returns the state for an engine with a snapshot of an index, and the entries from there on. The commit
// position in the result is never before the snapshot nor after the last entry: the engine would stop the process. The
// commit position in the log may be before the snapshot, because it is written only together with a change that must be
// durable. It may be after the last entry where entries were lost with a record that was not durable.
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

// iterate appends the entries from low to high, without high, until the entries have more than a number of bytes.
func (r *replica) iterate(entries []pb.Entry, size, low, high, most uint64) ([]pb.Entry, uint64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
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
			entries = append(entries, e)
			if size += uint64(e.SizeUpperLimit()); size > most {
				return entries, size, nil
			}
			low++
		}
	}
	return entries, size, nil
}

// load returns the entries of a run's record. The record may have more entries than the run. The lock is held, so the
// record is not removed meanwhile.
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

// removeTo removes the entries up to an index. The removal is not written to the log, because a replay does not keep
// the entries before the snapshot.
func (r *replica) removeTo(index uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries.cut(0, index, r.count)
}

// rewrite appends the needed parts of a segment and of all earlier segments again.
func (r *replica) rewrite(segment uint64) error {
	from := uint64(0)
	for {
		at, next, err := r.rewriteSome(segment, from)
		if err != nil || at.Bytes == 0 {
			return err
		}
		if err := r.db.log.Sync(at); err != nil {
			return err
		}
		from = next
	}
}

// rewriteSome appends one record, unless every part is rewritten. The search for entries begins at an index, and the
// entries before the returned index are rewritten.
func (r *replica) rewriteSome(segment, from uint64) (at wal.Place, next uint64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, u := range []use{r.bootstrapAt, r.stateAt, r.snapshotAt} {
		if u.bytes > 0 && u.segment <= segment {
			at, err = r.append(r.head())
			return at, from, err
		}
	}
	i, ok := r.entries.oldest(from, segment)
	if !ok {
		return wal.Place{}, math.MaxUint64, nil
	}
	c := change{rewritten: true}
	for size := 0; i < len(r.entries) && r.entries[i].place.Segment <= segment && size < recordBytes; i++ {
		old := r.entries[i]
		if len(c.entries) > 0 && c.entries[len(c.entries)-1].Index+1 != old.first {
			break
		}
		all, err := r.load(old)
		if err != nil {
			return wal.Place{}, 0, err
		}
		c.entries = append(c.entries, all[old.first-all[0].Index:old.last-all[0].Index+1]...)
		size += int(old.place.Bytes)
	}
	next = c.entries[len(c.entries)-1].Index + 1
	at, err = r.append(c)
	return at, next, err
}

// head is a change with everything but the entries. The lock is held.
func (r *replica) head() change {
	c := change{bootstrap: r.bootstrap, state: r.state}
	if !pb.IsEmptySnapshot(r.snapshot) {
		c.snapshot = pb.MustMarshal(&r.snapshot)
	}
	return c
}
