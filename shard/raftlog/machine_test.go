package raftlog

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lni/dragonboat/v4/statemachine"
	"github.com/signalbox/signalbox/shard"
)

// shortReader is a state machine that reads only part of a snapshot.
type shortReader struct {
	shard.StateMachine
	bytes int
}

func (s shortReader) Restore(r io.Reader) error {
	_, err := io.ReadFull(r, make([]byte, s.bytes))
	return err
}

// newTestMachine returns a machine on a recorder, with the given newest snapshot index in its log.
func newTestMachine(t *testing.T, newest uint64) (*machine, *recorder) {
	r := newRecorder()
	g := newGrowth(1, 1)
	known := func() (uint64, bool) { return newest, newest > 0 }
	return newMachine(testShard, r, testLogger(t), g, newSaves(), known), r
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

// commanding is a state machine with a given number of commands per batch.
type commanding struct {
	shard.StateMachine
	commands int
}

func (c commanding) Apply(entries []shard.Entry) error {
	for i := range entries {
		entries[i].Commands = c.commands
	}
	return c.StateMachine.Apply(entries)
}

func TestCommandsBringTheNextSnapshotForward(t *testing.T) {
	for commands, want := range map[int]bool{0: false, 4: false, 5: true} {
		m, r := newTestMachine(t, 0)
		m.growth = newGrowth(2*(BatchBytes+5*CommandBytes), 1)
		m.target = commanding{r, commands}
		if _, err := m.Update(entries(2, 3)); err != nil {
			t.Fatal(err)
		}
		if m.growth.check() != want {
			t.Errorf("two batches of %d commands make a snapshot due: %t", commands, !want)
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

// uncomparable is a state machine whose snapshots have a type without equality.
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

// slowSaver is a state machine whose snapshots take a millisecond per write.
type slowSaver struct {
	shard.StateMachine
	writes    int
	meanwhile func() // called with each write
}

const slowPart = "part"

func (s slowSaver) PrepareSnapshot() (shard.Snapshot, error) { return s, nil }

func (s slowSaver) Save(w io.Writer, _ <-chan struct{}) error {
	for range s.writes {
		time.Sleep(time.Millisecond)
		s.meanwhile()
		if _, err := w.Write([]byte(slowPart)); err != nil {
			return err
		}
	}
	return nil
}

func (slowSaver) Discard() {}

// TestASnapshotLeavesTimeToWhatIsApplied: more time if any shard of the host applies entries, and none if the snapshot
// is awaited or the log outruns it. An unneeded snapshot ends at once.
func TestASnapshotLeavesTimeToWhatIsApplied(t *testing.T) {
	const ms = time.Millisecond
	stopped := statemachine.ErrSnapshotStopped
	closed := make(chan struct{})
	close(closed)
	apply := func(t *testing.T, m *machine) {
		if _, err := m.Update(entries(m.applied.Load() + 1)); err != nil {
			t.Error(err)
		}
	}
	others := func(_ *testing.T, m *machine) { m.saves.applied.Add(1) }
	await := func(m *machine) { m.hurried.Add(1) }
	awaitPlace := func(m *machine) { m.saves.waiting.Add(1) }
	for name, c := range map[string]struct {
		every  uint64 // entries between two snapshots
		writes int
		first  func(*machine)
		each   func(*testing.T, *machine)
		stop   chan struct{}
		want   time.Duration
		err    error
	}{
		"nothing is applied":  {writes: 10, want: 40 * ms},
		"entries are":         {writes: 10, each: apply, want: ms + 9*40*ms},
		"other shards do":     {writes: 10, each: others, want: 400 * ms},
		"they outrun a part":  {every: 40, writes: 10, each: apply, want: 2*ms + 8*40*ms},
		"they outrun it":      {every: 10, writes: 10, each: apply, want: 10 * ms},
		"it is waited for":    {writes: 10, first: await, each: apply, want: 10 * ms},
		"its place is":        {writes: 10, first: awaitPlace, each: apply, want: 10 * ms},
		"it is large":         {writes: 10_000, each: apply, want: maxSave + 2500*ms},
		"its shard is closed": {writes: 10, stop: closed, want: ms, err: stopped},
		"another one arrives": {writes: 10, each: func(_ *testing.T, m *machine) { m.supersede() }, want: 4 * ms,
			err: stopped},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m, r := newTestMachine(t, 0)
				m.growth = newGrowth(cmp.Or(c.every*(BatchBytes+1), 1<<40), 1)
				apply(t, m)
				m.growth.prepare()
				m.growth.write(uint64(c.writes * len(slowPart)))
				m.growth.save()
				m.target = slowSaver{r, c.writes, func() {
					if c.each != nil {
						c.each(t, m)
					}
				}}
				snapshot, err := m.PrepareSnapshot()
				if err != nil {
					t.Fatal(err)
				}
				if c.first != nil {
					c.first(m)
				}
				began := time.Now()
				if err := m.SaveSnapshot(snapshot, io.Discard, nil, c.stop); !errors.Is(err, c.err) {
					t.Errorf("got %v, want %v", err, c.err)
				}
				if took := time.Since(began); took != c.want {
					t.Errorf("it took %v, want %v", took, c.want)
				}
			})
		})
	}
}

// TestOneOfManyThatSaveWaitsAndHasTheOthersHurry: so a restore finds free engine workers.
func TestOneOfManyThatSaveWaitsAndHasTheOthersHurry(t *testing.T) {
	s := newSaves()
	for range maxSaves {
		if !s.begin(nil) || s.waiting.Load() != 0 {
			t.Fatal("one that may begin waits")
		}
	}
	stop, began := make(chan struct{}), make(chan bool)
	for range 2 {
		go func() { began <- s.begin(stop) }()
	}
	eventually(t, "two that wait", func() bool { return s.waiting.Load() == 2 })
	s.end()
	if !<-began {
		t.Error("none begins where another one has ended")
	}
	close(stop)
	if <-began {
		t.Error("one begins whose shard is closed")
	}
	if n := s.waiting.Load(); n != 0 {
		t.Errorf("%d wait", n)
	}
}
