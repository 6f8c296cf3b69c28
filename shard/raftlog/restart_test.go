package raftlog

import (
	"fmt"
	"testing"
)

// fewEntries makes snapshots frequent and logs short.
func fewEntries(c *Config) { c.SnapshotBytes, c.KeepBytes = 10*BatchBytes, 2*BatchBytes }

func (r *recorder) awaitSaved(t testing.TB, n int32) {
	t.Helper()
	r.await(t, "snapshots", func() bool { return r.saved.Load() >= n })
}

// awaitSnapshot waits until a snapshot is recorded for the next start: some time after it is saved.
func (m *member) awaitSnapshot() {
	m.t.Helper()
	eventually(m.t, "a snapshot", func() bool { return m.host.Status()[0].SnapshotIndex > 0 })
}

// proposeUntilSaved proposes batches until n snapshots are saved: none begins while another is being saved, or was just
// aborted.
func (m *member) proposeUntilSaved(n int32, from int) (batches []string) {
	m.t.Helper()
	eventually(m.t, "snapshots", func() bool {
		batches = append(batches, m.mustPropose(from+len(batches), from+len(batches)+1)...)
		return m.machine.saved.Load() >= n
	})
	return batches
}

func TestAHostRestartsFromItsLog(t *testing.T) {
	one := openOne(t, nil)
	want := one.mustPropose(0, 25)
	for range 3 {
		one.close()
		one.open()
		one.machine.awaitBatches(t, want)
		if one.machine.restores != 0 {
			t.Error("restored from a snapshot that nobody took")
		}
		one.machine.awaitLeader(t, anyLeader)
		want = append(want, one.mustPropose(len(want), len(want)+5)...)
	}
}

func TestAHostRestartsFromASnapshotAndTheLogAfterIt(t *testing.T) {
	one := openOne(t, fewEntries)
	want := one.mustPropose(0, 35)
	one.awaitSnapshot()
	for range 3 {
		one.close()
		one.open()
		one.machine.awaitBatches(t, want)
		if one.machine.restores != 1 {
			t.Errorf("restored %d times, want once", one.machine.restores)
		}
		one.machine.awaitLeader(t, anyLeader)
		want = append(want, one.mustPropose(len(want), len(want)+7)...)
	}
}

func TestAReplicaCanBeStartedAgainInTheSameProcess(t *testing.T) {
	one := openOne(t, fewEntries)
	var want []string
	for range 3 {
		want = append(want, one.mustPropose(len(want), len(want)+15)...)
		if err := one.log.Close(); err != nil {
			t.Fatal(err)
		}
		one.machine.closed.Store(true)
		one.machine.check(t)
		one.start(newRecorder())
		one.machine.awaitBatches(t, want)
		one.machine.awaitLeader(t, anyLeader)
	}
}

func TestAllHostsRestart(t *testing.T) {
	all, leader := openThree(t, fewEntries)
	want := leader.mustPropose(0, 35)
	for range 2 {
		for _, m := range all {
			m.close()
		}
		openAll(all)
		leader = leaderOf(t, all)
		want = append(want, leader.mustPropose(len(want), len(want)+3)...)
		for _, m := range all {
			m.machine.awaitBatches(t, want)
		}
	}
}

func TestAFollowerThatWasAwayGetsTheLog(t *testing.T) {
	all, leader := openThree(t, nil)
	away := others(all, leader)[0]
	want := leader.mustPropose(0, 3)
	away.close()
	want = append(want, leader.mustPropose(3, 40)...)
	away.open()
	away.machine.awaitBatches(t, want)
	if away.machine.restores != 0 {
		t.Error("a snapshot was sent though the log is whole")
	}
}

func TestAFollowerThatWasAwayForLongIsSentASnapshot(t *testing.T) {
	all, leader := openThree(t, fewEntries)
	away := others(all, leader)[0]
	want := leader.mustPropose(0, 3)
	away.close()
	want = append(want, leader.mustPropose(3, 60)...)
	want = append(want, leader.proposeUntilSaved(3, len(want))...)
	away.open()
	away.machine.awaitBatches(t, want)
	if away.machine.restores == 0 {
		t.Error("no snapshot was sent though the log is compacted")
	}
	want = append(want, leader.mustPropose(len(want), len(want)+5)...)
	away.machine.awaitBatches(t, want)
}

func TestASnapshotOfManyChunksArrivesWhole(t *testing.T) {
	all, leader := openThree(t, fewEntries)
	away := others(all, leader)[0]
	last := away.host.Status()[0].LastIndex
	away.close()
	var want []string
	large := make([]byte, 1<<20)
	for i := range 15 {
		for k := range large {
			large[k] = byte('a' + (i+k)%26)
		}
		batch := fmt.Sprint(i, string(large))
		if o := leader.propose(batch); o.String() != "applied" {
			t.Fatal(o)
		}
		want = append(want, batch)
	}
	eventually(t, "the log is shorter", func() bool { return leader.firstIndex() > last+1 })
	away.open()
	away.machine.await(t, "all batches", func() bool { return len(away.machine.batches) == len(want) })
	for i, batch := range away.machine.applied() {
		if batch != want[i] {
			t.Fatalf("batch %d is not the one that was proposed", i)
		}
	}
	if away.machine.restores == 0 {
		t.Error("no snapshot was sent")
	}
}
