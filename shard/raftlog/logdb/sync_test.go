package logdb

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	pb "github.com/lni/dragonboat/v4/raftpb"
	"github.com/signalbox/signalbox/shard/raftlog/internal/direct"
	"github.com/signalbox/signalbox/shard/raftlog/wal"
)

// countedFile counts a file's syncs.
type countedFile struct {
	direct.File
	syncs *atomic.Int64
}

func (c countedFile) SyncData() error {
	c.syncs.Add(1)
	return c.File.SyncData()
}

func counted(disk wal.Disk, syncs *atomic.Int64) wal.Disk {
	open := disk.OpenData
	disk.OpenData = func(name string) (direct.File, error) {
		file, err := open(name)
		return countedFile{file, syncs}, err
	}
	return disk
}

// TestOnlyACommitPositionMayWait: everything else saved is durable when the call has returned.
func TestOnlyACommitPositionMayWait(t *testing.T) {
	snapshot := pb.Snapshot{ShardID: 3, Index: 5, Term: 1}
	for _, c := range []struct {
		name  string
		save  func(db *DB) error
		syncs int64
	}{
		{"nothing new", func(db *DB) error {
			return db.SaveRaftState([]pb.Update{update(pb.State{}, nil)}, 1)
		}, 0},
		{"a commit position", func(db *DB) error {
			return db.SaveRaftState([]pb.Update{update(pb.State{Term: 1, Vote: 2, Commit: 8}, nil)}, 1)
		}, 0},
		{"a term", func(db *DB) error {
			return db.SaveRaftState([]pb.Update{update(pb.State{Term: 2, Vote: 2, Commit: 4}, nil)}, 1)
		}, 1},
		{"a vote", func(db *DB) error {
			return db.SaveRaftState([]pb.Update{update(pb.State{Term: 1, Vote: 3, Commit: 4}, nil)}, 1)
		}, 1},
		{"entries", func(db *DB) error {
			return db.SaveRaftState([]pb.Update{update(pb.State{}, entriesOf(10, 12, 1))}, 1)
		}, 1},
		{"several replicas", func(db *DB) error {
			other := update(pb.State{Term: 1}, entriesOf(1, 3, 1))
			other.ReplicaID = 5
			return db.SaveRaftState([]pb.Update{update(pb.State{}, entriesOf(10, 12, 1)), other}, 1)
		}, 1},
		{"a snapshot of another host", func(db *DB) error {
			u := update(pb.State{}, nil)
			u.Snapshot = pb.Snapshot{ShardID: 3, Index: 20, Term: 1}
			return db.SaveRaftState([]pb.Update{u}, 1)
		}, 1},
		{"a snapshot", func(db *DB) error {
			return db.SaveSnapshots([]pb.Update{{ShardID: 3, ReplicaID: 4, Snapshot: snapshot}})
		}, 1},
		{"a bootstrap", func(db *DB) error { return db.SaveBootstrapInfo(7, 1, pb.Bootstrap{}) }, 1},
		{"a removal", func(db *DB) error { return db.RemoveNodeData(3, 4) }, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var syncs atomic.Int64
			db, err := openOn(counted(memoryDisk(newMemory()), &syncs))
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			saved(t, db, update(pb.State{Term: 1, Vote: 2, Commit: 4}, entriesOf(1, 9, 1)))
			syncs.Store(0)
			if err := c.save(db); err != nil {
				t.Fatal(err)
			}
			if got := syncs.Load(); got != c.syncs {
				t.Errorf("%d syncs, want %d", got, c.syncs)
			}
		})
	}
}

// TestASnapshotBringsTheLatestPosition: the log has the position together with the following snapshot, though it was
// not written separately.
func TestASnapshotBringsTheLatestPosition(t *testing.T) {
	fs := newMemory()
	db, err := openOn(memoryDisk(fs))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	saved(t, db, update(pb.State{Term: 1, Vote: 2, Commit: 4}, entriesOf(1, 9, 1)))
	saved(t, db, update(pb.State{Term: 1, Vote: 2, Commit: 8}, nil))
	snapshot := pb.Snapshot{ShardID: 3, Index: 6, Term: 1}
	if err := db.SaveSnapshots([]pb.Update{{ShardID: 3, ReplicaID: 4, Snapshot: snapshot}}); err != nil {
		t.Fatal(err)
	}
	killed, err := openOn(memoryDisk(copyOf(t, fs)))
	if err != nil {
		t.Fatal(err)
	}
	defer killed.Close()
	if got, err := killed.ReadRaftState(3, 4, 6); err != nil || got.State.Commit != 8 {
		t.Errorf("it reads %+v, %v", got, err)
	}
}

// copyOf copies the files of a store.
func copyOf(t *testing.T, fs roomy) roomy {
	t.Helper()
	c, dir := newMemory(), filepath.Join(testDir, logDir)
	names, err := fs.List(dir)
	if err := errors.Join(err, c.MkdirAll(dir, 0o700)); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		put(t, c, filepath.Join(dir, name), contentOfFile(t, fs, filepath.Join(dir, name)))
	}
	return c
}

func contentOfFile(t *testing.T, fs roomy, name string) []byte {
	t.Helper()
	file, err := fs.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, info.Size())
	if _, err := file.ReadAt(data, 0); err != nil {
		t.Fatal(err)
	}
	return data
}

func put(t *testing.T, fs roomy, name string, data []byte) {
	t.Helper()
	file, err := fs.Create(name)
	if err == nil {
		_, err = file.Write(data)
	}
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestTheStoreIsBoundedThoughAReplicaIsQuiet: neither a replica that saved something once, nor entries kept by a
// lagging replica, keep other replicas' log on the disk.
func TestTheStoreIsBoundedThoughAReplicaIsQuiet(t *testing.T) {
	fs := newMemory()
	db, err := openOn(memoryDisk(fs))
	if err != nil {
		t.Fatal(err)
	}
	quiet := entriesOf(1, 50, 1)
	for i := range quiet {
		quiet[i].Cmd = slices.Repeat([]byte{byte(i)}, 500)
	}
	if err := db.SaveBootstrapInfo(3, 4, pb.Bootstrap{Join: true}); err != nil {
		t.Fatal(err)
	}
	saved(t, db, update(pb.State{Term: 1, Vote: 4, Commit: 33}, quiet[:20]))
	saved(t, db, update(pb.State{}, quiet[20:]))
	for i := range uint64(2000) {
		u := pb.Update{ShardID: 9, ReplicaID: 1, State: pb.State{Term: 1, Commit: i + 1},
			EntriesToSave: []pb.Entry{{Index: i + 1, Term: 1, Cmd: make([]byte, 3000)}}}
		saved(t, db, u)
		if i%10 != 9 {
			continue
		}
		u.Snapshot = pb.Snapshot{ShardID: 9, Index: i, Term: 1}
		err := errors.Join(db.SaveSnapshots([]pb.Update{u}), db.RemoveEntriesTo(9, 1, i-5))
		done, _ := db.CompactEntriesTo(9, 1, i-5)
		<-done
		if size := db.log.Size(); err != nil || size.Disk > 2*size.Needed+2*testSegment || size.Needed > 80<<10 {
			t.Fatalf("after %d entries: %+v, %v", i, size, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if db, err = openOn(memoryDisk(fs)); err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	entries, _, err := db.IterateEntries(nil, 0, 3, 4, 1, 51, math.MaxUint64)
	if err != nil || len(entries) != 50 || fmt.Sprint(entries) != fmt.Sprint(quiet) {
		t.Errorf("of the quiet replica's entries %d are there: %v", len(entries), err)
	}
	bootstrap, err := db.GetBootstrapInfo(3, 4)
	if err != nil || !bootstrap.Join {
		t.Errorf("its bootstrap is %+v, %v", bootstrap, err)
	}
	if state, err := db.ReadRaftState(3, 4, 0); err != nil || state.State != (pb.State{Term: 1, Vote: 4, Commit: 33}) {
		t.Errorf("its state is %+v, %v", state, err)
	}
}

// TestTheEntriesInMemoryAreBounded: the last saved entries are in memory, across all replicas no more than the limit.
func TestTheEntriesInMemoryAreBounded(t *testing.T) {
	db := openMemory(t)
	for i := range uint64(200) {
		u := update(pb.State{Term: 1}, entriesOf(i+1, i+1, 1))
		u.ReplicaID = 1 + i%3
		u.EntriesToSave[0].Cmd = make([]byte, 1000)
		saved(t, db, u)
		if held := int64(len(db.recent.ring)); held != db.recent.limit {
			t.Fatalf("%d bytes are held, %d allowed", held, db.recent.limit)
		}
		if last, ok := db.existing(3, u.ReplicaID).entries.at(i + 1); !ok || db.recent.record(last.recent) == nil {
			t.Fatal("the last entries are not in memory")
		}
	}
	if oldest := db.existing(3, 1).entries[0][0]; db.recent.record(oldest.recent) != nil {
		t.Error("the first entries are still in memory")
	}
}

// TestTheRingReturnsWhatItTook: a record is returned unchanged, or not at all.
func TestTheRingReturnsWhatItTook(t *testing.T) {
	r := recent{limit: 1000}
	type added struct {
		kept
		record []byte
	}
	var all []added
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 2000 {
		record := bytes.Repeat([]byte{byte(i), byte(i >> 8)}, 1+random.IntN(130))
		k := r.add(record)
		if (k.bytes == 0) != (len(record) > 250) {
			t.Fatalf("of %d bytes %d are kept", len(record), k.bytes)
		}
		all = append(all, added{k, record})
		size := 0
		for j := len(all) - 1; j >= 0; j-- {
			got := r.record(all[j].kept)
			if got != nil && !bytes.Equal(got, all[j].record) {
				t.Fatalf("record %d of %d is another one", j, i)
			}
			// The end of the ring may be left empty, by up to a record's length.
			if size += len(all[j].record); got == nil && all[j].bytes > 0 && size <= 1000-250 {
				t.Fatalf("record %d of %d is not kept, with %d bytes since", j, i, size)
			}
		}
	}
}

// TestADamagedStoreIsRefused: the engine gets the log's error with the file name.
func TestADamagedStoreIsRefused(t *testing.T) {
	fs := newMemory()
	db, err := openOn(memoryDisk(fs))
	if err != nil {
		t.Fatal(err)
	}
	saved(t, db, update(pb.State{Term: 1}, entriesOf(1, 90, 1)))
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(testDir, logDir, "000000000001.wal")
	data := contentOfFile(t, fs, name)
	for at := direct.Sector; at < direct.Sector+1000; at += 7 {
		damaged := copyOf(t, fs)
		bad := slices.Clone(data)
		bad[at] ^= 1 << (at % 8)
		put(t, damaged, name, bad)
		var damage *wal.DamageError
		if _, err := openOn(memoryDisk(damaged)); !errors.As(err, &damage) || damage.File != name {
			t.Fatalf("byte %d: it opens with %v", at, err)
		}
	}
}

// watchedFile records whether a message was in flight when a file is written.
type watchedFile struct {
	direct.File
	written func()
}

func (f watchedFile) WriteAt(b []byte, at int64) (int, error) {
	f.written()
	return f.File.WriteAt(b, at)
}

// TestOthersAreSentEntriesBeforeTheDiskIsAskedFor: with one processor, the engine's sending goroutine would wait while
// this one saves. Once in 61 times the runtime lets this one continue first.
func TestOthersAreSentEntriesBeforeTheDiskIsAskedFor(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var sent, seen atomic.Int64
	queue, done := make(chan pb.Message, 1), make(chan struct{})
	go func() {
		defer close(done)
		for range queue {
			sent.Add(1)
		}
	}()
	defer func() { close(queue); <-done }()
	disk := memoryDisk(newMemory())
	open := disk.OpenData
	disk.OpenData = func(name string) (direct.File, error) {
		file, err := open(name)
		return watchedFile{file, func() { seen.Store(sent.Load()) }}, err
	}
	db, err := openOn(disk)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const rounds = 50
	early := 0
	for i := range uint64(rounds) {
		u := update(pb.State{}, entriesOf(i+1, i+2, 1))
		u.Messages = []pb.Message{{Type: pb.Replicate, To: 5}}
		before := sent.Load()
		queue <- u.Messages[0]
		if err := db.SaveRaftState([]pb.Update{u}, 1); err != nil {
			t.Fatal(err)
		}
		if seen.Load() > before {
			early++
		}
		for sent.Load() == before {
			runtime.Gosched()
		}
	}
	if early < rounds*9/10 {
		t.Errorf("%d of %d messages left before the disk was written", early, rounds)
	}
}
