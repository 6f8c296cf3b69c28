package raftlog

import (
	"errors"
	"testing"
	"time"

	"github.com/signalbox/signalbox/shard"
)

func TestCloseWaitsForTheCallUnderWay(t *testing.T) {
	one := openOne(t, nil)
	release, applying := one.machine.holdNextApply()
	outcome := make(chan shard.Outcome, 1)
	if err := one.log.Propose([]byte("held"), func(o shard.Outcome) { outcome <- o }); err != nil {
		t.Fatal(err)
	}
	<-applying
	closed := make(chan struct{})
	go func() {
		one.log.Close()
		one.machine.closed.Store(true)
		close(closed)
	}()
	if o := <-outcome; o == shard.OutcomeDropped {
		t.Error("a batch that is being applied was called dropped")
	}
	select {
	case <-closed:
		t.Error("Close returned while Apply was under way")
	default:
	}
	close(release)
	<-closed
	one.machine.check(t)
}

// openSaving opens a host in the middle of a snapshot save; it also returns the proposed batches.
func openSaving(t *testing.T, prepare func(*recorder)) (one *member, machine *recorder, proposed []string) {
	t.Helper()
	one, machine = newCluster(t, 1, fewEntries)[0], newRecorder()
	machine.saving = make(chan struct{})
	prepare(machine)
	one.openWith(machine)
	machine.awaitLeader(t, anyLeader)
	proposed = one.mustPropose(0, 15)
	<-machine.saving
	return one, machine, proposed
}

func holdsSave(r *recorder) { r.holdSave = make(chan struct{}) }

func TestCloseStopsASnapshotUnderWay(t *testing.T) {
	one, machine, want := openSaving(t, holdsSave)
	want = append(want, one.mustPropose(15, 25)...) // saving holds up nothing
	one.close()
	if n := machine.snapshots.Load(); n != 0 {
		t.Errorf("%d snapshots were not discarded", n)
	}
	one.open()
	one.machine.awaitBatches(t, want)
}

// TestCloseStopsASnapshotThatPauses: however much is left.
func TestCloseStopsASnapshotThatPauses(t *testing.T) {
	one, _, want := openSaving(t, func(r *recorder) { r.endless = true })
	began := time.Now()
	one.close()
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("it took %v", took)
	}
	one.open()
	one.machine.awaitBatches(t, want)
}

// TestShrinkWaitsForTheSnapshotThatIsBeingSaved: and makes it save without pauses.
func TestShrinkWaitsForTheSnapshotThatIsBeingSaved(t *testing.T) {
	one, machine, _ := openSaving(t, holdsSave)
	one.mustPropose(15, 17) // too few for a snapshot
	hurried := &one.host.log(testShard).machine.hurried
	shrunk := make(chan error, 1)
	go func() { shrunk <- one.host.Shrink() }()
	eventually(t, "hurry", func() bool { return hurried.Load() > 0 || len(shrunk) > 0 })
	close(machine.holdSave)
	if err := <-shrunk; err != nil {
		t.Error(err)
	}
	if s := one.host.Status()[0]; s.SnapshotIndex < s.AppliedIndex {
		t.Errorf("the snapshot is of entry %d, and entry %d is applied", s.SnapshotIndex, s.AppliedIndex)
	}
	if n := hurried.Load(); n != 0 {
		t.Errorf("%d wait for it still", n)
	}
}

func TestASnapshotThatCannotBeSavedIsGivenUp(t *testing.T) {
	one := newCluster(t, 1, fewEntries)[0]
	machine := newRecorder()
	machine.failSave.Store(true)
	one.openWith(machine)
	machine.awaitLeader(t, anyLeader)
	want := one.mustPropose(0, 15)
	eventually(t, "the failure", func() bool { return machine.unsaved.Load() > 0 })
	machine.failSave.Store(false)
	want = append(want, one.proposeUntilSaved(1, len(want))...)
	one.close()
	one.open()
	one.machine.awaitBatches(t, want)
	if one.machine.restores != 1 {
		t.Errorf("restored %d times, want once", one.machine.restores)
	}
}

func TestEverythingInFlightIsAnsweredByClose(t *testing.T) {
	all, leader := openThree(t, nil)
	for _, m := range others(all, leader) {
		m.close()
	}
	const n = 20
	outcomes, answers := make(chan shard.Outcome, n), make(chan error, n)
	for range n {
		if err := leader.log.Propose([]byte("never"), func(o shard.Outcome) { outcomes <- o }); err != nil {
			t.Fatal(err)
		}
		if err := leader.log.Barrier(func(err error) { answers <- err }); err != nil {
			t.Fatal(err)
		}
	}
	leader.log.Close()
	if len(outcomes) != n || len(answers) != n {
		t.Fatalf("%d of %d proposals and %d of %d barriers were answered", len(outcomes), n, len(answers), n)
	}
	for range n {
		if o := <-outcomes; o == shard.OutcomeApplied {
			t.Error("applied without a majority")
		}
		if err := <-answers; err == nil {
			t.Error("a barrier succeeded without a majority")
		}
	}
}

func TestCallsOnAClosedLog(t *testing.T) {
	one := openOne(t, nil)
	one.log.Close()
	one.log.Close()
	one.machine.closed.Store(true)
	if err := one.log.Propose(nil, func(shard.Outcome) { t.Error("called back") }); !errors.Is(err,
		shard.ErrLogClosed) {
		t.Errorf("Propose: %v", err)
	}
	if err := one.log.Barrier(func(error) { t.Error("called back") }); !errors.Is(err, shard.ErrLogClosed) {
		t.Errorf("Barrier: %v", err)
	}
	if err := one.log.Transfer(1); !errors.Is(err, shard.ErrLogClosed) {
		t.Errorf("Transfer: %v", err)
	}
	one.log.Leadership()
	if n := len(one.host.Status()); n != 0 {
		t.Errorf("the status knows of %d shards", n)
	}
}

func TestAHostThatIsClosedHasClosedItsLogs(t *testing.T) {
	one := openOne(t, nil)
	one.host.Close()
	one.host.Close()
	one.machine.closed.Store(true)
	if err := one.log.Propose(nil, func(shard.Outcome) {}); !errors.Is(err, shard.ErrLogClosed) {
		t.Errorf("Propose: %v", err)
	}
	if _, err := one.host.Start(8, newRecorder()); !errors.Is(err, ErrHostClosed) {
		t.Errorf("Start: %v", err)
	}
}

func TestStartRefusesWhatCannotBe(t *testing.T) {
	one := openOne(t, nil)
	if _, err := one.host.Start(testShard, newRecorder()); !errors.Is(err, ErrShardStarted) {
		t.Errorf("a shard that runs: %v", err)
	}
	if _, err := one.host.Start(8, newRecorder(), 1, 2); !errors.Is(err, shard.ErrNotMember) {
		t.Errorf("a member that the cluster lacks: %v", err)
	}
	two := newCluster(t, 2, nil)[0]
	two.open()
	if _, err := two.host.Start(8, newRecorder(), 2); !errors.Is(err, shard.ErrNotMember) {
		t.Errorf("a shard that this host is no member of: %v", err)
	}
}
