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
		s := one.host.Status()[1]
		return s.FirstIndex > 1 && s.Proposals == 0
	})
	status := one.host.Status()
	if len(status) != 2 || status[0].ShardID != 3 || status[1].ShardID != testShard {
		t.Fatalf("got %+v", status)
	}
	s := status[1]
	if s.Leader != 1 || s.Term == 0 || s.Replica != 1 || s.AppliedIndex < 35 || s.LastIndex != s.AppliedIndex ||
		s.Lag() != 0 || s.SnapshotIndex < 10 || s.SnapshotIndex > s.LastIndex || s.Proposals != 0 ||
		s.ProposalBytes != 0 {
		t.Errorf("got %+v", s)
	}
	if lag := status[0].Lag(); lag == 0 || lag > 3 {
		t.Errorf("a shard without batches lags by %d: want the few entries of the log's own", lag)
	}
}

func TestStatusShowsWhatIsInFlight(t *testing.T) {
	one := openOne(t, nil)
	release, applying := one.machine.holdNextApply()
	outcomes := make(chan shard.Outcome, 2)
	for range 2 {
		if err := one.log.Propose([]byte("12345"), func(o shard.Outcome) { outcomes <- o }); err != nil {
			t.Fatal(err)
		}
	}
	<-applying
	if s := one.host.Status()[0]; s.ProposalBytes != 10 || s.Proposals != 2 {
		t.Errorf("got %d batches of %d bytes, want 2 of 10", s.Proposals, s.ProposalBytes)
	}
	close(release)
	<-outcomes
	<-outcomes
	eventually(t, "nothing in flight", func() bool {
		s := one.host.Status()[0]
		return s.Proposals == 0 &&
			s.ProposalBytes == 0
	})
}

func TestStatusAfterARestoreCountsTheSnapshotAsApplied(t *testing.T) {
	one := openOne(t, func(c *Config) { c.SnapshotEntries, c.KeepEntries = 10, 1 })
	want := one.mustPropose(0, 11)
	one.awaitSnapshot()
	one.close()
	one.open()
	one.machine.awaitBatches(t, want)
	// The machine has its batches a moment before the replica notes that its restore has ended.
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
