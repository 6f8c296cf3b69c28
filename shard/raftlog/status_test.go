package raftlog

import (
	"testing"

	"github.com/signalbox/signalbox/shard"
)

func TestStatusTellsHowEveryShardIsDoing(t *testing.T) {
	one := openOne(t, fewEntries)
	other := newRecorder()
	if _, err := one.host.Start(3, other); err != nil {
		t.Fatal(err)
	}
	other.awaitLeader(t, anyLeader)
	one.mustPropose(0, 35)
	one.machine.awaitSaved(t, 1)
	eventually(t, "a compacted log", func() bool {
		count, _ := one.inFlight()
		return one.firstIndex() > 1 && count == 0
	})
	status := one.host.Status()
	if len(status) != 2 || status[0].ShardID != 3 || status[1].ShardID != testShard {
		t.Fatalf("got %+v", status)
	}
	s := status[1]
	if s.Leader != 1 || s.Term == 0 || s.AppliedIndex < 35 || s.LastIndex != s.AppliedIndex ||
		s.Lag() != 0 || s.SnapshotIndex < 10 || s.SnapshotIndex > s.LastIndex {
		t.Errorf("got %+v", s)
	}
	if lag := status[0].Lag(); lag == 0 || lag > 3 {
		t.Errorf("a shard without batches lags by %d: want the few entries of the log's own", lag)
	}
}

// firstIndex returns the start of the log on the host's disk.
func (m *member) firstIndex() uint64 {
	reader, err := m.host.engine.GetLogReader(testShard)
	if err != nil {
		m.t.Fatal(err)
	}
	first, _ := reader.GetRange()
	return first
}

// inFlight returns the batches with an unknown outcome.
func (m *member) inFlight() (count, bytes int64) {
	p := &m.log.(*Log).proposals
	return p.count.Load(), p.bytes.Load()
}

func TestABatchIsInFlightUntilItsOutcome(t *testing.T) {
	one := openOne(t, nil)
	release, applying := one.machine.holdNextApply()
	outcomes := make(chan shard.Outcome, 2)
	for range 2 {
		if err := one.log.Propose([]byte("12345"), func(o shard.Outcome) { outcomes <- o }); err != nil {
			t.Fatal(err)
		}
	}
	<-applying
	if count, bytes := one.inFlight(); bytes != 10 || count != 2 {
		t.Errorf("got %d batches of %d bytes, want 2 of 10", count, bytes)
	}
	close(release)
	<-outcomes
	<-outcomes
	eventually(t, "nothing in flight", func() bool {
		count, bytes := one.inFlight()
		return count == 0 && bytes == 0
	})
}

func TestStatusAfterARestoreCountsTheSnapshotAsApplied(t *testing.T) {
	one := openOne(t, func(c *Config) { c.SnapshotBytes, c.KeepBytes = 10*BatchBytes, BatchBytes })
	want := one.mustPropose(0, 11)
	one.awaitSnapshot()
	one.close()
	one.open()
	one.machine.awaitBatches(t, want)
	// The machine has its batches slightly before the replica records the end of its restore.
	eventually(t, "the snapshot to count as applied", func() bool {
		s := one.host.Status()[0]
		return s.AppliedIndex > 0 && s.Lag() <= 3
	})
}

func TestReadingTheStatusLeavesNoSnapshotBehind(t *testing.T) {
	one := openOne(t, fewEntries)
	for i := range 10 {
		one.mustPropose(i*10, i*10+10)
		for range 10 {
			one.host.Status()
		}
	}
	one.proposeUntilSaved(3, 100)
	eventually(t, "old snapshots to go", func() bool { return len(snapshotDirs(t, one)) <= 2 })
}
