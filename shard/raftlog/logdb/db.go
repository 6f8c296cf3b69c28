package logdb

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lni/dragonboat/v4/raftio"
	pb "github.com/lni/dragonboat/v4/raftpb"
	"github.com/signalbox/signalbox/shard/raftlog/wal"
)

// Factory opens the store. A type that embeds the factory and has Create is a config.LogDBFactory.
type Factory struct {
	Disk wal.Disk
	// SegmentBytes is the size up to which log files grow; 0 means wal.DefaultSegmentBytes.
	SegmentBytes int64
	// RecentBytes is how much log is kept in memory; 0 means DefaultRecentBytes.
	RecentBytes int64
	// Existing makes a directory without a log an error, because the directory had a log before. Least is
	// wal.Options.Least.
	Existing bool
	Least    wal.End
	// Synced is called, if set, with the duration of each write and sync. It must not block.
	Synced func(time.Duration)
	// Full is wal.Options.Full.
	Full func(err error, last bool)
}

const (
	// DefaultRecentBytes is how much log a host keeps in memory.
	DefaultRecentBytes = 16 << 20
	// storeName is the engine's name for the store. The engine refuses a directory with a different store name.
	storeName = "signalbox-wal"
	// binaryFormat is the stored form's version. The engine refuses a directory with a different version.
	binaryFormat = 1000
	// logDir is the log directory in the engine's directory.
	logDir = "log"
)

// Name is the store name.
func (*Factory) Name() string { return storeName }

// Open opens the store below a directory.
func (f *Factory) Open(dir string) (*DB, error) {
	log, err := wal.Open(wal.Options{
		Dir: filepath.Join(dir, logDir), Disk: f.Disk, SegmentBytes: f.SegmentBytes, Existing: f.Existing,
		Least: f.Least, Synced: f.Synced, Full: f.Full,
	})
	if err != nil {
		return nil, err
	}
	limit := f.RecentBytes
	limit = cmp.Or(limit, DefaultRecentBytes)
	db := &DB{dir: dir, log: log, recent: recent{limit: limit}, replicas: make(map[wal.Key]*replica)}
	if err := log.Start(owner{db}); err != nil {
		return nil, err
	}
	db.forget()
	return db, nil
}

// forget discards unneeded parts after a replay: removed replicas, and entries before the snapshot, which the engine
// does not read after a start.
func (db *DB) forget() {
	for _, r := range db.all() {
		if r.forget() {
			db.mu.Lock()
			delete(db.replicas, r.key)
			db.mu.Unlock()
		}
	}
}

// DB is a host's log store. It implements raftio.ILogDB. The engine's workers use the store concurrently.
type DB struct {
	dir    string   // empty for an inspected log
	log    *wal.Log // nil for an inspected log
	recent recent

	mu       sync.RWMutex
	replicas map[wal.Key]*replica // guarded by mu
}

var _ raftio.ILogDB = (*DB)(nil)

// owner is the store as its log's owner.
type owner struct{ db *DB }

// Replay implements wal.Owner.
func (o owner) Replay(at wal.Place, key wal.Key, kind wal.Kind, data []byte) error {
	c, err := readChange(data)
	if err != nil || kind != kindChange {
		return fmt.Errorf("%w: segment %d, byte %d", errForm, at.Segment, at.Offset)
	}
	return o.db.replica(key).do(c, at, kept{})
}

// Rewrite implements wal.Owner.
func (o owner) Rewrite(segment uint64) error {
	for _, r := range o.db.all() {
		if err := r.rewrite(segment); err != nil {
			return err
		}
	}
	return nil
}

// replica returns a replica's content in the store, and creates an empty replica if the store has none.
func (db *DB) replica(key wal.Key) *replica {
	db.mu.RLock()
	r := db.replicas[key]
	db.mu.RUnlock()
	if r != nil {
		return r
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	if r = db.replicas[key]; r == nil {
		r = &replica{db: db, key: key, mu: newLock()}
		db.replicas[key] = r
	}
	return r
}

// existing returns a replica's content in the store, or nil.
func (db *DB) existing(shardID, replicaID uint64) *replica {
	db.mu.RLock()
	defer db.mu.RUnlock()
	return db.replicas[wal.Key{Shard: shardID, Replica: replicaID}]
}

// all returns the replicas, by shard and id.
func (db *DB) all() []*replica {
	db.mu.RLock()
	defer db.mu.RUnlock()
	return slices.SortedFunc(maps.Values(db.replicas), func(a, b *replica) int {
		return cmp.Or(cmp.Compare(a.key.Shard, b.key.Shard), cmp.Compare(a.key.Replica, b.key.Replica))
	})
}

// SegmentBytes is the size of the log file being written.
func (db *DB) SegmentBytes() int64 { return db.log.SegmentBytes() }

// End is the log's durable end.
func (db *DB) End() wal.End { return db.log.End() }

// Name implements raftio.ILogDB.
func (*DB) Name() string { return storeName }

// BinaryFormat implements raftio.ILogDB.
func (*DB) BinaryFormat() uint32 { return binaryFormat }

// Close implements raftio.ILogDB.
func (db *DB) Close() error {
	var err error
	for _, r := range db.all() {
		err = errors.Join(err, r.savePosition())
	}
	return errors.Join(err, db.log.Close())
}

// ListNodeInfo implements raftio.ILogDB.
func (db *DB) ListNodeInfo() ([]raftio.NodeInfo, error) {
	infos := []raftio.NodeInfo{}
	for _, r := range db.all() {
		r.mu.Lock()
		if r.bootstrap != nil {
			infos = append(infos, raftio.NodeInfo{ShardID: r.key.Shard, ReplicaID: r.key.Replica})
		}
		r.mu.Unlock()
	}
	return infos, nil
}

// SaveBootstrapInfo implements raftio.ILogDB.
func (db *DB) SaveBootstrapInfo(shardID, replicaID uint64, bootstrap pb.Bootstrap) error {
	return db.sync(db.replica(wal.Key{Shard: shardID, Replica: replicaID}).saveBootstrap(&bootstrap))
}

// sync makes the appended records durable.
func (db *DB) sync(at wal.Place, err error) error {
	if err != nil || at.Bytes == 0 {
		return err
	}
	return db.log.Sync(at)
}

// GetBootstrapInfo implements raftio.ILogDB.
func (db *DB) GetBootstrapInfo(shardID, replicaID uint64) (bootstrap pb.Bootstrap, err error) {
	r := db.existing(shardID, replicaID)
	if r == nil {
		return bootstrap, raftio.ErrNoBootstrapInfo
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bootstrap == nil {
		return bootstrap, raftio.ErrNoBootstrapInfo
	}
	return bootstrap, bootstrap.Unmarshal(r.bootstrap)
}

// SaveRaftState implements raftio.ILogDB. Workers saving at the same time share a sync.
func (db *DB) SaveRaftState(updates []pb.Update, _ uint64) error {
	var last wal.Place
	for i := range updates {
		u := &updates[i]
		at, durable, err := db.replica(wal.Key{Shard: u.ShardID, Replica: u.ReplicaID}).save(u)
		if err != nil {
			return err
		}
		if durable {
			last = at
		}
	}
	if last.Bytes == 0 {
		return nil
	}
	if slices.ContainsFunc(updates, func(u pb.Update) bool {
		return slices.ContainsFunc(u.Messages, func(m pb.Message) bool { return m.Type == pb.Replicate })
	}) {
		// Other hosts get an update's entries. In Raft other hosts may save entries before this host has. The engine
		// has handed the messages to the goroutines that send to other hosts. Those goroutines wait for this
		// goroutine's processor, so without Gosched the messages would leave only after another thread has woken, or
		// after the sync.
		runtime.Gosched()
	}
	return db.log.Sync(last)
}

// SaveSnapshots implements raftio.ILogDB.
func (db *DB) SaveSnapshots(updates []pb.Update) error {
	var last wal.Place
	for i := range updates {
		u := &updates[i]
		if pb.IsEmptySnapshot(u.Snapshot) {
			continue
		}
		at, err := db.replica(wal.Key{Shard: u.ShardID, Replica: u.ReplicaID}).saveSnapshot(&u.Snapshot)
		if err != nil {
			return err
		}
		if at.Bytes > 0 {
			last = at
		}
	}
	return db.sync(last, nil)
}

// GetSnapshot implements raftio.ILogDB. It returns an empty snapshot if the replica has none.
func (db *DB) GetSnapshot(shardID, replicaID uint64) (snapshot pb.Snapshot, err error) {
	r := db.existing(shardID, replicaID)
	if r == nil {
		return snapshot, nil
	}
	r.mu.Lock()
	text := r.head().snapshot
	r.mu.Unlock()
	if text == nil {
		return snapshot, nil
	}
	err = snapshot.Unmarshal(text) // the engine counts references in its copy
	if path, below := PathBelow(db.dir, snapshot.Filepath); below {
		snapshot.Filepath = path
	}
	return snapshot, err
}

// PathBelow returns the current path of a file named by the log in the directory, and whether the file is below the
// directory. The log has the path from the time of writing; the directory may have been moved or copied since.
func PathBelow(dir, written string) (path string, below bool) {
	_, inside, below := strings.Cut(written, filepath.Base(dir)+string(filepath.Separator))
	return filepath.Join(dir, inside), below
}

// ReadRaftState implements raftio.ILogDB.
func (db *DB) ReadRaftState(shardID, replicaID, snapshotIndex uint64) (raftio.RaftState, error) {
	r := db.existing(shardID, replicaID)
	if r == nil {
		return raftio.RaftState{}, raftio.ErrNoSavedLog
	}
	return r.raftState(snapshotIndex)
}

// IterateEntries implements raftio.ILogDB.
func (db *DB) IterateEntries(entries []pb.Entry, size, shardID, replicaID, low, high, maxSize uint64) (
	[]pb.Entry, uint64, error) {
	r := db.existing(shardID, replicaID)
	if r == nil {
		return entries, size, nil
	}
	return r.iterate(entries, size, low, high, maxSize)
}

// RemoveEntriesTo implements raftio.ILogDB.
func (db *DB) RemoveEntriesTo(shardID, replicaID, index uint64) error {
	if r := db.existing(shardID, replicaID); r != nil {
		r.removeTo(index)
	}
	return nil
}

// CompactEntriesTo implements raftio.ILogDB. The log knows the removed entries already.
func (db *DB) CompactEntriesTo(_, _, _ uint64) (<-chan struct{}, error) { return db.log.Reclaim(), nil }

// RemoveNodeData implements raftio.ILogDB.
func (db *DB) RemoveNodeData(shardID, replicaID uint64) error {
	r := db.existing(shardID, replicaID)
	if r == nil {
		return nil
	}
	if err := db.sync(r.remove()); err != nil {
		return err
	}
	db.mu.Lock()
	defer db.mu.Unlock()
	delete(db.replicas, r.key)
	return nil
}

// ImportSnapshot implements raftio.ILogDB. All other content of the replica is removed.
func (db *DB) ImportSnapshot(snapshot pb.Snapshot, replicaID uint64) error {
	if snapshot.Type == pb.UnknownStateMachine {
		return fmt.Errorf("logdb: import a snapshot of shard %d: it is of no known type", snapshot.ShardID)
	}
	return db.sync(db.replica(wal.Key{Shard: snapshot.ShardID, Replica: replicaID}).replace(&snapshot))
}
