package logdb

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/lni/dragonboat/v4/raftio"
	pb "github.com/lni/dragonboat/v4/raftpb"

	"github.com/signalbox/signalbox/shard/raftlog/wal"
)

// entriesOf returns entries with an index and a term each.
func entriesOf(first, last, term uint64) (entries []pb.Entry) {
	for index := first; index <= last; index++ {
		cmd := fmt.Appendf(nil, "entry %d of %d", index, term)
		entries = append(entries, pb.Entry{Index: index, Term: term, Cmd: cmd})
	}
	return entries
}

func update(state pb.State, entries []pb.Entry) pb.Update {
	return pb.Update{ShardID: 3, ReplicaID: 4, State: state, EntriesToSave: entries}
}

func saved(t testing.TB, db *DB, updates ...pb.Update) {
	t.Helper()
	if err := db.SaveRaftState(updates, 1); err != nil {
		t.Fatal(err)
	}
}

// indices are the indices read from low to high, excluding high.
func indices(t testing.TB, db *DB, low, high, most uint64) (all []uint64) {
	t.Helper()
	entries, size, err := db.IterateEntries(nil, 0, 3, 4, low, high, most)
	if err != nil {
		t.Fatal(err)
	}
	want := uint64(0)
	for i := range entries {
		all = append(all, entries[i].Index)
		want += uint64(entries[i].SizeUpperLimit())
	}
	if size != want {
		t.Errorf("the entries from %d have %d bytes, %d are reported", low, want, size)
	}
	return all
}

// TestEntriesAreReadAsTheEngineReliesOn: same as the engine's own store tests.
func TestEntriesAreReadAsTheEngineReliesOn(t *testing.T) {
	one := uint64((&pb.Entry{Cmd: []byte("entry 1 of 1")}).SizeUpperLimit())
	state := pb.State{Term: 1, Commit: 1}
	snapshot := func(index uint64) pb.Update {
		return pb.Update{ShardID: 3, ReplicaID: 4, Snapshot: pb.Snapshot{ShardID: 3, Index: index, Term: 1}}
	}
	installed := func(index uint64, entries []pb.Entry) pb.Update {
		u := snapshot(index)
		u.EntriesToSave, u.State = entries, state
		return u
	}
	for _, c := range []struct {
		name            string
		saves           []pb.Update
		low, high, most uint64
		want            []uint64
	}{
		{"nothing was saved", nil, 1, 5, math.MaxUint64, nil},
		{"a part", []pb.Update{update(state, entriesOf(1, 9, 1))}, 3, 6, math.MaxUint64, []uint64{3, 4, 5}},
		{"beyond the end", []pb.Update{update(state, entriesOf(1, 4, 1))}, 3, 100, math.MaxUint64, []uint64{3, 4}},
		{"after the end", []pb.Update{update(state, entriesOf(1, 4, 1))}, 5, 100, math.MaxUint64, nil},
		{"no bytes: one entry", []pb.Update{update(state, entriesOf(1, 9, 1))}, 2, 9, 0, []uint64{2}},
		{"less than an entry: one", []pb.Update{update(state, entriesOf(1, 9, 1))}, 2, 9, one - 1, []uint64{2}},
		{"an entry: two", []pb.Update{update(state, entriesOf(1, 9, 1))}, 2, 9, one, []uint64{2, 3}},
		{"several saves", []pb.Update{update(state, entriesOf(1, 4, 1)), update(state, entriesOf(5, 9, 1))}, 3, 8,
			math.MaxUint64, []uint64{3, 4, 5, 6, 7}},
		{"those of another leader", []pb.Update{update(state, entriesOf(1, 9, 1)),
			update(state, entriesOf(5, 6, 2))}, 3, 100, math.MaxUint64, []uint64{3, 4, 5, 6}},
		{"an earlier one after a later one", []pb.Update{update(state, append(entriesOf(10, 10, 1),
			entriesOf(3, 3, 2)...))}, 3, 100, math.MaxUint64, []uint64{3}},
		{"up to a gap", []pb.Update{update(state, entriesOf(1, 2, 1)), update(state, entriesOf(4, 5, 1))}, 1, 6,
			math.MaxUint64, []uint64{1, 2}},
		{"in a gap", []pb.Update{update(state, entriesOf(1, 2, 1)), update(state, entriesOf(4, 5, 1))}, 3, 6,
			math.MaxUint64, nil},
		{"after a gap", []pb.Update{update(state, entriesOf(1, 2, 1)), update(state, entriesOf(4, 5, 1))}, 4, 6,
			math.MaxUint64, []uint64{4, 5}},
		{"a snapshot from another host ends the log before it", []pb.Update{update(state, entriesOf(1, 9, 1)),
			installed(20, nil)}, 1, 100, math.MaxUint64, nil},
		{"the log goes on after it", []pb.Update{update(state, entriesOf(1, 9, 1)),
			installed(20, entriesOf(21, 22, 1))}, 21, 100, math.MaxUint64, []uint64{21, 22}},
		{"an older snapshot changes nothing", []pb.Update{installed(5, entriesOf(6, 9, 1)), installed(4, nil)}, 6, 100,
			math.MaxUint64, []uint64{6, 7, 8, 9}},
	} {
		for _, kept := range []int64{1 << 20, 0} {
			t.Run(fmt.Sprintf("%s, %d bytes kept", c.name, kept), func(t *testing.T) {
				db := openMemory(t)
				db.recent.limit = kept
				saved(t, db, c.saves...)
				if got := indices(t, db, c.low, c.high, c.most); !slices.Equal(got, c.want) {
					t.Errorf("it has %v, want %v", got, c.want)
				}
			})
		}
	}
}

// TestTheStateThatIsReadNeverStopsTheEngine: the engine stops the process for a commit position before the snapshot or
// after the last entry.
func TestTheStateThatIsReadNeverStopsTheEngine(t *testing.T) {
	local := func(index uint64) func(*DB) error {
		return func(db *DB) error {
			return db.SaveSnapshots([]pb.Update{{
				ShardID: 3, ReplicaID: 4, Snapshot: pb.Snapshot{ShardID: 3, Index: index, Term: 1},
			}})
		}
	}
	save := func(commit uint64, entries []pb.Entry) func(*DB) error {
		return func(db *DB) error {
			return db.SaveRaftState([]pb.Update{update(pb.State{Term: 2, Vote: 3, Commit: commit}, entries)}, 1)
		}
	}
	for _, c := range []struct {
		name                 string
		steps                []func(*DB) error
		first, count, commit uint64
	}{
		{"entries", []func(*DB) error{save(5, entriesOf(1, 9, 1))}, 1, 9, 5},
		{"only a state", []func(*DB) error{save(0, nil)}, 0, 0, 0},
		{"a snapshot between entries", []func(*DB) error{save(5, entriesOf(1, 9, 1)), local(4)}, 4, 6, 5},
		{"the position comes after the snapshot", []func(*DB) error{save(5, entriesOf(1, 9, 1)), local(7)}, 7, 3, 7},
		{"a snapshot of the last entry", []func(*DB) error{save(9, entriesOf(1, 9, 1)), local(9)}, 9, 1, 9},
		{"a position after the last entry", []func(*DB) error{save(12, entriesOf(1, 9, 1))}, 1, 9, 9},
		{"entries that were replaced by fewer", []func(*DB) error{save(3, entriesOf(1, 9, 1)),
			save(5, entriesOf(5, 6, 2))}, 1, 6, 5},
		{"a removed beginning", []func(*DB) error{save(8, entriesOf(1, 9, 1)), local(7), func(db *DB) error {
			return db.RemoveEntriesTo(3, 4, 6)
		}}, 7, 3, 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			fs := newMemory()
			db, err := openOn(memoryDisk(fs))
			if err != nil {
				t.Fatal(err)
			}
			for _, step := range c.steps {
				if err := step(db); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 {
				snapshot, err := db.GetSnapshot(3, 4)
				if err != nil {
					t.Fatal(err)
				}
				got, err := db.ReadRaftState(3, 4, snapshot.Index)
				want := raftio.RaftState{
					State:      pb.State{Term: 2, Vote: 3, Commit: c.commit},
					FirstIndex: c.first, EntryCount: c.count,
				}
				if err != nil || got != want {
					t.Errorf("it reads %+v, %v, want %+v", got, err, want)
				}
				if err := db.Close(); err != nil {
					t.Fatal(err)
				}
				if db, err = openOn(memoryDisk(fs)); err != nil {
					t.Fatal(err)
				}
			}
			db.Close()
		})
	}
}

func TestWhatWasNeverSavedIsNotThere(t *testing.T) {
	db := openMemory(t)
	if _, err := db.GetBootstrapInfo(3, 4); !errors.Is(err, raftio.ErrNoBootstrapInfo) {
		t.Errorf("GetBootstrapInfo returns %v", err)
	}
	if _, err := db.ReadRaftState(3, 4, 0); !errors.Is(err, raftio.ErrNoSavedLog) {
		t.Errorf("ReadRaftState returns %v", err)
	}
	if s, err := db.GetSnapshot(3, 4); err != nil || !pb.IsEmptySnapshot(s) {
		t.Errorf("GetSnapshot returns %v, %v", s, err)
	}
	saved(t, db, pb.Update{ShardID: 3, ReplicaID: 4, Snapshot: pb.Snapshot{Index: 9, Term: 1}})
	if _, err := db.ReadRaftState(3, 4, 9); !errors.Is(err, raftio.ErrNoSavedLog) {
		t.Errorf("ReadRaftState without a state returns %v", err)
	}
}

func TestBootstrapsAreListed(t *testing.T) {
	db := openMemory(t)
	want := pb.Bootstrap{Addresses: map[uint64]string{1: "one", 2: "two"}, Type: pb.ConcurrentStateMachine}
	for _, shard := range []uint64{9, 2, 5} {
		if err := db.SaveBootstrapInfo(shard, 1, want); err != nil {
			t.Fatal(err)
		}
	}
	saved(t, db, update(pb.State{Term: 1}, nil)) // without a bootstrap
	infos, err := db.ListNodeInfo()
	if err != nil || !slices.Equal(infos, []raftio.NodeInfo{{ShardID: 2, ReplicaID: 1}, {ShardID: 5, ReplicaID: 1},
		{ShardID: 9, ReplicaID: 1}}) {
		t.Errorf("it lists %v, %v", infos, err)
	}
	if got, err := db.GetBootstrapInfo(5, 1); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("it has %+v, %v", got, err)
	}
}

// keeper is the engine's snapshot loader. It keeps all.
type keeper struct{}

// Compact implements pb.ICompactor.
func (keeper) Compact(uint64) error { return nil }

func TestASnapshotIsReadAsItWasSaved(t *testing.T) {
	db := openMemory(t)
	want := pb.Snapshot{
		ShardID: 3, Index: 20, Term: 2, Filepath: "file", FileSize: 100, Type: pb.ConcurrentStateMachine,
		Membership: pb.Membership{Addresses: map[uint64]string{4: "four"}, ConfigChangeId: 7},
	}
	older := want
	older.Index = 10
	for _, s := range []pb.Snapshot{want, older} {
		if err := db.SaveSnapshots([]pb.Update{{ShardID: 3, ReplicaID: 4, Snapshot: s}}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // the engine may load each snapshot that it reads
		got, err := db.GetSnapshot(3, 4)
		if err != nil || got.Index != 20 || got.Filepath != "file" || got.Membership.Addresses[4] != "four" {
			t.Errorf("it has %+v, %v", got, err)
		}
		got.Load(keeper{})
	}
}

func TestARemovedReplicaLeavesNothing(t *testing.T) {
	fs := newMemory()
	db, err := openOn(memoryDisk(fs))
	if err != nil {
		t.Fatal(err)
	}
	saved(t, db, update(pb.State{Term: 1, Commit: 2}, entriesOf(1, 9, 1)))
	if err := errors.Join(db.SaveBootstrapInfo(3, 4, pb.Bootstrap{}), db.RemoveNodeData(3, 4)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if infos, err := db.ListNodeInfo(); err != nil || len(infos) != 0 {
			t.Errorf("it lists %v, %v", infos, err)
		}
		if _, err := db.ReadRaftState(3, 4, 0); !errors.Is(err, raftio.ErrNoSavedLog) {
			t.Errorf("ReadRaftState returns %v", err)
		}
		if got := indices(t, db, 0, math.MaxUint64, math.MaxUint64); got != nil {
			t.Errorf("it has %v", got)
		}
		if needed := db.log.Size().Needed; needed != 0 {
			t.Errorf("%d bytes are needed", needed)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if db, err = openOn(memoryDisk(fs)); err != nil {
			t.Fatal(err)
		}
	}
	db.Close()
}

// TestTheFileOfASnapshotIsWhereTheDirectoryIs: the directory was moved, or copied, after the snapshot was saved. Paths
// outside it are unchanged.
func TestTheFileOfASnapshotIsWhereTheDirectoryIs(t *testing.T) {
	const inside = "/snapshot-part-0/snapshot-3-4/snapshot-78/snapshot-78.gbsnap"
	for written, want := range map[string]string{
		"/before/" + filepath.Base(testDir) + inside: testDir + inside,
		testDir + inside:    testDir + inside,
		"/another" + inside: "/another" + inside,
		"":                  "",
	} {
		db := openMemory(t)
		saved(t, db, pb.Update{ShardID: 3, ReplicaID: 4, State: pb.State{Term: 9, Commit: 120},
			Snapshot: pb.Snapshot{ShardID: 3, Index: 120, Term: 9, Filepath: written}})
		if s, err := db.GetSnapshot(3, 4); err != nil || s.Filepath != want {
			t.Errorf("%s is read as %s, want %s: %v", written, s.Filepath, want, err)
		}
	}
}

func TestAnImportedSnapshotIsAllThatIsLeft(t *testing.T) {
	db := openMemory(t)
	saved(t, db, pb.Update{ShardID: 3, ReplicaID: 4, State: pb.State{Term: 9, Vote: 2, Commit: 130},
		Snapshot: pb.Snapshot{ShardID: 3, Index: 120, Term: 9}, EntriesToSave: entriesOf(121, 140, 9)})
	imported := pb.Snapshot{ShardID: 3, Index: 110, Term: 2, Type: pb.ConcurrentStateMachine}
	if err := db.ImportSnapshot(imported, 4); err != nil {
		t.Fatal(err)
	}
	snapshot, err := db.GetSnapshot(3, 4)
	if err != nil || snapshot.Index != 110 {
		t.Errorf("its snapshot is %+v, %v", snapshot, err)
	}
	bootstrap, err := db.GetBootstrapInfo(3, 4)
	if err != nil || !bootstrap.Join || bootstrap.Type != pb.ConcurrentStateMachine {
		t.Errorf("its bootstrap is %+v, %v", bootstrap, err)
	}
	want := raftio.RaftState{State: pb.State{Term: 2, Commit: 110}, FirstIndex: 110}
	if got, err := db.ReadRaftState(3, 4, 110); err != nil || got != want {
		t.Errorf("it reads %+v, %v, want %+v", got, err, want)
	}
	if err := db.ImportSnapshot(pb.Snapshot{ShardID: 3, Index: 200}, 4); err == nil {
		t.Error("a snapshot of no type was imported")
	}
}

func TestASnapshotAfterTheEntriesThatAreSavedWithItIsRefused(t *testing.T) {
	db := openMemory(t)
	u := update(pb.State{Term: 1}, entriesOf(2, 4, 1))
	u.Snapshot = pb.Snapshot{Index: 5, Term: 1}
	if err := db.SaveRaftState([]pb.Update{u}, 1); err == nil || !strings.Contains(err.Error(), "shard 3") {
		t.Errorf("it returns %v", err)
	}
}

// TestWorkersSaveAtTheSameTime: the engine's workers and its snapshot workers use the store concurrently, while it
// rewrites and removes segments.
func TestWorkersSaveAtTheSameTime(t *testing.T) {
	db := openMemory(t)
	var workers sync.WaitGroup
	const shards, rounds = 4, 120
	for shard := uint64(1); shard <= shards; shard++ {
		workers.Go(func() {
			for i := range uint64(rounds) {
				entries := entriesOf(3*i+1, 3*i+3, 1)
				entries[0].Cmd = make([]byte, 5000)
				saved(t, db, pb.Update{ShardID: shard, ReplicaID: 4, State: pb.State{Term: 1, Commit: 3*i + 3},
					EntriesToSave: entries})
				if i%20 != 19 {
					continue
				}
				workers.Go(func() {
					index := 3 * i
					err := db.SaveSnapshots([]pb.Update{{ShardID: shard, ReplicaID: 4,
						Snapshot: pb.Snapshot{ShardID: shard, Index: index, Term: 1}}})
					if err := errors.Join(err, db.RemoveEntriesTo(shard, 4, index-10)); err != nil {
						t.Error(err)
					}
					if _, err := db.CompactEntriesTo(shard, 4, index-10); err != nil {
						t.Error(err)
					}
				})
			}
		})
	}
	workers.Wait()
	for shard := uint64(1); shard <= shards; shard++ {
		state, err := db.ReadRaftState(shard, 4, 3*(rounds-1))
		if err != nil || state.State.Commit != 3*rounds || state.EntryCount != 4 {
			t.Errorf("shard %d reads %+v, %v", shard, state, err)
		}
	}
}

// TestReplicasAreReadWhileTheLogRewritesThem: a just opened store's log may need space at once.
func TestReplicasAreReadWhileTheLogRewritesThem(t *testing.T) {
	db := openMemory(t)
	saved(t, db, pb.Update{ShardID: 3, ReplicaID: 4, Snapshot: pb.Snapshot{Index: 9, Term: 1, Filepath: "file"}})
	done := make(chan error, 1)
	go func() {
		var err error
		for range 100 {
			err = errors.Join(err, owner{db}.Rewrite(db.replica(wal.Key{Shard: 3, Replica: 4}).snapshotAt.segment))
		}
		done <- err
	}()
	for range 100 {
		if list := db.Replicas(); len(list) != 1 || list[0].Snapshot != 9 || list[0].SnapshotFile != "file" {
			t.Fatalf("found %+v", list)
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
