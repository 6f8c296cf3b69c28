package raftlog

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/lni/dragonboat/v4/statemachine"
	"github.com/signalbox/signalbox/shard"
)

// shortReader is a state machine that reads some bytes of a snapshot and no more.
type shortReader struct {
	shard.StateMachine
	bytes int
}

func (s shortReader) Restore(r io.Reader) error {
	_, err := io.ReadFull(r, make([]byte, s.bytes))
	return err
}

// newTestMachine returns a machine on a recorder, in whose log the newest snapshot has an index.
func newTestMachine(t *testing.T, newest uint64) (*machine, *recorder) {
	r := newRecorder()
	g := newGrowth(extent{1, 1}, extent{1, 1})
	return newMachine(testShard, r, testLogger(t), g, func() (uint64, bool) { return newest, newest > 0 }), r
}

func entries(indices ...uint64) (all []statemachine.Entry) {
	for _, i := range indices {
		all = append(all, statemachine.Entry{Index: i, Cmd: []byte{'a' + byte(i)}})
	}
	return all
}

func TestEntriesThatAreNotInOrderStopTheReplica(t *testing.T) {
	for _, indices := range [][]uint64{{4}, {5}, {7, 7}, {6, 8, 7}} {
		m, r := newTestMachine(t, 0)
		if _, err := m.Update(entries(2, 5)); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Update(entries(indices...)); !errors.Is(err, errAssertion) {
			t.Errorf("entries %v after 5: %v", indices, err)
		}
		if got := r.applied(); !slices.Equal(got, []string{"c", "f"}) {
			t.Errorf("entries %v after 5: %q were applied", indices, got)
		}
	}
}

func TestOnlyTheSnapshotThatWasPreparedLastIsSaved(t *testing.T) {
	m, r := newTestMachine(t, 0)
	first, err := m.PrepareSnapshot()
	if err != nil {
		t.Fatal(err)
	}
	second, err := m.PrepareSnapshot()
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := m.SaveSnapshot(first, &file, nil, nil); !errors.Is(err, errAssertion) || file.Len() > 0 {
		t.Errorf("the first of two: %v, %d bytes", err, file.Len())
	}
	if err := m.SaveSnapshot(second, &file, nil, nil); err != nil {
		t.Errorf("the second: %v", err)
	}
	if err := m.SaveSnapshot(second, &file, nil, nil); !errors.Is(err, errAssertion) {
		t.Errorf("one that was saved and discarded: %v", err)
	}
	if n := r.snapshots.Load(); n != 0 {
		t.Errorf("%d snapshots were not discarded", n)
	}
}

// uncomparable is a state machine whose snapshots are of a type that has no equality.
type uncomparable struct{ shard.StateMachine }

func (u uncomparable) PrepareSnapshot() (shard.Snapshot, error) {
	snapshot, err := u.StateMachine.PrepareSnapshot()
	return struct {
		shard.Snapshot
		count func()
	}{Snapshot: snapshot}, err
}

func TestSnapshotsNeedNoEquality(t *testing.T) {
	m, _ := newTestMachine(t, 0)
	m.target = uncomparable{m.target}
	snapshot, err := m.PrepareSnapshot()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.SaveSnapshot(snapshot, new(bytes.Buffer), nil, nil); err != nil {
		t.Error(err)
	}
}

func TestASnapshotThatIsOlderThanTheStateStopsTheReplica(t *testing.T) {
	for newest, want := range map[uint64]error{4: errAssertion, 5: nil, 9: nil} {
		m, _ := newTestMachine(t, newest)
		if _, err := m.Update(entries(2, 5)); err != nil {
			t.Fatal(err)
		}
		err := m.RecoverFromSnapshot(bytes.NewReader(nil), nil, nil)
		if !errors.Is(err, want) || m.restored.Load() != (want == nil) {
			t.Errorf("the snapshot of entry %d after entry 5: %v", newest, err)
		}
	}
}

func TestASnapshotThatIsNotReadToItsEndStopsTheReplica(t *testing.T) {
	const snapshot = "snapshot"
	for read, want := range map[int]error{len(snapshot): nil, len(snapshot) - 1: errAssertion} {
		m, _ := newTestMachine(t, 0)
		m.target = shortReader{bytes: read}
		if err := m.RecoverFromSnapshot(strings.NewReader(snapshot), nil, nil); !errors.Is(err, want) {
			t.Errorf("%d of %d bytes are read: %v", read, len(snapshot), err)
		}
	}
}
