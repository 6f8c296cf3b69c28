package raftlog

import (
	"fmt"
	"hash/crc32"
	"log/slog"
	"math"
	"strings"
	"testing"
	_ "unsafe" // for go:linkname

	"github.com/lni/dragonboat/v4/config"
	"github.com/lni/dragonboat/v4/raftio"
	"github.com/lni/dragonboat/v4/raftpb"
	"github.com/lni/vfs"
	"github.com/signalbox/signalbox/shard/raftlog/internal/outage"
)

// newLogDB opens the engine's log store without an engine around it. The engine keeps it to itself, and tests open it a
// hundred thousand times.
//
//go:linkname newLogDB github.com/lni/dragonboat/v4/internal/logdb.NewDefaultLogDB
func newLogDB(config.NodeHostConfig, config.LogDBCallback, []string, []string) (raftio.ILogDB, error)

const (
	storeRoot = "/host"
	storeDir  = storeRoot + "/data"
	// storeMemory is so little that tables are written and log files begun all the time.
	storeMemory  = 48 << 10
	storeReplica = 1
)

// testStore is a log store on a file system, opened as a host opens it.
type testStore struct {
	raftio.ILogDB
	files *files
}

// openStore opens the store on a file system. It does what Open does, and with its panics what the process would.
func openStore(disk vfs.FS, open func(string) (diskFile, error)) (s *testStore, err error) {
	routeEngineLog(slog.New(slog.DiscardHandler))
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("panic: %v", panicked)
		}
	}()
	f := newFiles(2*storeMemory, nil)
	f.FS, f.open = disk, open
	if err := makeDirectory(disk, storeDir); err != nil {
		return nil, err
	}
	if err := verifyFiles(disk, storeDir); err != nil {
		return nil, err
	}
	memory := config.GetTinyMemLogDBConfig()
	memory.Shards = 1
	memory.KVWriteBufferSize = storeMemory
	host := config.NodeHostConfig{Expert: config.ExpertConfig{
		FS: vfs.Wrap(f, noFaults{}), LogDB: memory, Engine: config.EngineConfig{ExecShards: 1},
	}}
	dirs := []string{storeDir}
	db, err := newLogDB(host, nil, dirs, dirs)
	if err != nil {
		f.close()
		return nil, err
	}
	return &testStore{db, f}, nil
}

func (s *testStore) close() error {
	defer s.files.close()
	return s.ILogDB.Close()
}

// roomy is a file system in memory that says that there is room.
type roomy struct{ *vfs.MemFS }

func newMemory(t testing.TB) roomy {
	m := roomy{vfs.NewMem()}
	if err := m.MkdirAll(storeRoot, 0o700); err != nil {
		t.Fatal(err)
	}
	return m
}

// GetDiskUsage implements vfs.FS.
func (roomy) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: 1 << 40, TotalBytes: 1 << 40}, nil
}

// memoryFile is a file in memory, whose data are synced as the rest of it is.
type memoryFile struct{ vfs.File }

func (f memoryFile) SyncData() error { return f.Sync() }

// openMemory opens files of a file system in memory for writing.
func openMemory(disk vfs.FS) func(name string) (diskFile, error) {
	return func(name string) (diskFile, error) {
		if _, err := disk.Stat(name); err != nil {
			file, err := disk.Create(name)
			return memoryFile{file}, err
		}
		file, err := disk.ReuseForWrite(name, name)
		return memoryFile{file}, err
	}
}

// openRecorded opens files of a recorder.
func openRecorded(r *outage.Recorder) func(name string) (diskFile, error) {
	return func(name string) (diskFile, error) { return r.OpenData(name) }
}

// content is what a store has of one replica, as the engine sees it when it starts.
type content struct {
	bootstrap bool
	snapshot  raftpb.Snapshot
	state     raftpb.State
	first     uint64 // of the entries
	entries   []raftpb.Entry
}

// String is different for different contents.
func (c content) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "bootstrap %v, snapshot %d of term %d, term %d, vote %d, commit %d, from %d:", c.bootstrap,
		c.snapshot.Index, c.snapshot.Term, c.state.Term, c.state.Vote, c.state.Commit, c.first)
	for _, e := range c.entries {
		fmt.Fprintf(&b, " %d/%d/%08x", e.Index, e.Term, crc32.ChecksumIEEE(e.Cmd))
	}
	return b.String()
}

// read returns what the store has of the first shards.
func (s *testStore) read(shards int) (text string, err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			err = fmt.Errorf("panic: %v", panicked)
		}
	}()
	var all []string
	for shardID := uint64(1); shardID <= uint64(shards); shardID++ {
		c, err := s.readShard(shardID)
		if err != nil {
			return "", fmt.Errorf("shard %d: %w", shardID, err)
		}
		all = append(all, c.String())
	}
	return strings.Join(all, "\n"), nil
}

func (s *testStore) readShard(shardID uint64) (c content, err error) {
	nodes, err := s.ListNodeInfo()
	if err != nil {
		return c, err
	}
	for _, n := range nodes {
		c.bootstrap = c.bootstrap || n.ShardID == shardID
	}
	if c.snapshot, err = s.GetSnapshot(shardID, storeReplica); err != nil {
		return c, err
	}
	state, err := s.ReadRaftState(shardID, storeReplica, c.snapshot.Index)
	if strings.Contains(fmt.Sprint(err), raftio.ErrNoSavedLog.Error()) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	c.state = state.State
	if state.EntryCount == 0 {
		if c.state.Commit > c.snapshot.Index {
			err = fmt.Errorf("committed to %d, with a snapshot of %d and nothing behind it", c.state.Commit,
				c.snapshot.Index)
		}
		return c, err
	}
	c.first = state.FirstIndex
	end := state.FirstIndex + state.EntryCount
	c.entries, _, err = s.IterateEntries(nil, 0, shardID, storeReplica, c.first, end, math.MaxUint64)
	if err == nil && uint64(len(c.entries)) != state.EntryCount {
		err = fmt.Errorf("%d entries from %d on, %d of them can be read", state.EntryCount, c.first, len(c.entries))
	}
	if last := end - 1; err == nil && c.state.Commit > last {
		err = fmt.Errorf("committed to %d, and the log ends at %d", c.state.Commit, last)
	}
	return c, err
}

func TestAStoreReadsWhatItWasGiven(t *testing.T) {
	disk := newMemory(t)
	store, err := openStore(disk, openMemory(disk))
	if err != nil {
		t.Fatal(err)
	}
	update := raftpb.Update{
		ShardID: 1, ReplicaID: storeReplica, State: raftpb.State{Term: 2, Vote: 1, Commit: 1},
		EntriesToSave: []raftpb.Entry{{Index: 1, Term: 2, Cmd: []byte("one")}, {Index: 2, Term: 2, Cmd: []byte("two")}},
	}
	if err := store.SaveRaftState([]raftpb.Update{update}, 1); err != nil {
		t.Fatal(err)
	}
	if err := store.close(); err != nil {
		t.Fatal(err)
	}
	if store, err = openStore(disk, openMemory(disk)); err != nil {
		t.Fatal(err)
	}
	defer store.close()
	want := content{state: update.State, first: 1, entries: update.EntriesToSave}
	if got, err := store.read(1); err != nil || got != want.String() {
		t.Errorf("it reads %q, %v, want %q", got, err, want)
	}
}
