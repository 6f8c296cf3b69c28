package logdb

import (
	"fmt"
	"math"
	"reflect"
	"testing"

	pb "github.com/lni/dragonboat/v4/raftpb"
	"github.com/signalbox/signalbox/shard/raftlog/wal"
)

// stored is a store's data about a replica.
type stored struct {
	state     pb.State
	snapshot  string
	bootstrap pb.Bootstrap
	first     uint64
	entries   []pb.Entry
	last      LastEntry
}

func storedIn(t *testing.T, db *DB) (s stored) {
	t.Helper()
	snapshot, err := db.GetSnapshot(3, 4)
	if err != nil {
		t.Fatal(err)
	}
	s.snapshot = fmt.Sprint(snapshot.Index, snapshot.Term, snapshot.Filepath)
	state, err := db.ReadRaftState(3, 4, snapshot.Index)
	if err != nil {
		t.Fatal(err)
	}
	s.state, s.first = state.State, max(state.FirstIndex, snapshot.Index+1)
	if s.bootstrap, err = db.GetBootstrapInfo(3, 4); err != nil {
		t.Fatal(err)
	}
	if s.entries, _, err = db.IterateEntries(nil, 0, 3, 4, s.first, math.MaxUint64, math.MaxUint64); err != nil {
		t.Fatal(err)
	}
	if s.last, err = db.LastEntry(3, 4); err != nil {
		t.Fatal(err)
	}
	return s
}

// TestACopyHasAllEntriesOfAReplicaAsCommitted: the source store is unchanged.
func TestACopyHasAllEntriesOfAReplicaAsCommitted(t *testing.T) {
	state := pb.State{Term: 5, Vote: 9, Commit: 4}
	snapshot := pb.Update{ShardID: 3, ReplicaID: 4, Snapshot: pb.Snapshot{
		ShardID: 3, Index: 6, Term: 2, Filepath: "/a/snapshot", Type: pb.RegularStateMachine}}
	long := entriesOf(1, 30, 5)
	for i := range long {
		long[i].Cmd = make([]byte, copyBytes/7)
	}
	for name, c := range map[string]struct {
		saves      []pb.Update
		snapshots  []pb.Update
		last, term uint64
		rest       int // entries after the snapshot
	}{
		"entries": {saves: []pb.Update{update(state, entriesOf(1, 9, 3))}, last: 9, term: 3, rest: 9},
		"entries of two leaders": {saves: []pb.Update{update(state, entriesOf(1, 9, 3)),
			update(state, entriesOf(7, 8, 4))}, last: 8, term: 4, rest: 8},
		"many long entries": {saves: []pb.Update{update(state, long)}, last: 30, term: 5, rest: 30},
		"a snapshot in the middle": {saves: []pb.Update{update(state, entriesOf(1, 9, 3))},
			snapshots: []pb.Update{snapshot}, last: 9, term: 3, rest: 3},
		"a snapshot at the end": {saves: []pb.Update{update(state, entriesOf(1, 6, 2))},
			snapshots: []pb.Update{snapshot}, last: 6, term: 2},
		"a snapshot of another host": {saves: []pb.Update{update(state, entriesOf(1, 3, 1)), snapshot},
			last: 6, term: 2},
	} {
		t.Run(name, func(t *testing.T) {
			from, to := openMemory(t), openMemory(t)
			err := from.SaveBootstrapInfo(3, 4, pb.Bootstrap{Join: true, Addresses: map[uint64]string{}})
			if err != nil {
				t.Fatal(err)
			}
			saved(t, from, c.saves...)
			if err := from.SaveSnapshots(c.snapshots); err != nil {
				t.Fatal(err)
			}
			want := storedIn(t, from)
			last, err := from.CopyCommitted(3, 4, to)
			if err != nil || last != (LastEntry{wal.Key{Shard: 3, Replica: 4}, c.term, c.last}) {
				t.Errorf("copied to %+v, %v", last, err)
			}
			if now := storedIn(t, from); !reflect.DeepEqual(now, want) {
				t.Errorf("there is %+v, and there was %+v", now, want)
			}
			want.state.Commit = c.last
			if got := storedIn(t, to); !reflect.DeepEqual(got, want) || len(got.entries) != c.rest {
				t.Errorf("the copy has %d entries, %+v, want %+v", len(got.entries), got.last, want.last)
			}
		})
	}
}

func TestNothingIsTheLastEntryOfNoReplica(t *testing.T) {
	db := openMemory(t)
	if last, err := db.LastEntry(3, 4); err != nil || last.Index != 0 || last.Term != 0 {
		t.Errorf("%+v, %v", last, err)
	}
	if _, err := db.CopyCommitted(3, 4, openMemory(t)); err == nil {
		t.Error("nothing is copied")
	}
}
