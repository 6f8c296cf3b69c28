package memlog_test

import (
	"errors"
	"testing"
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/test/memlog"
)

func TestBatchIsAppliedEverywhereAndItsProposerIsNotified(t *testing.T) {
	c := newCluster(t, memlog.Config{}, 3)
	c.led(1)
	a, b := c.propose(1, "a"), c.propose(1, "b")
	c.wantOutcome(a, shard.OutcomeApplied)
	c.wantOutcome(b, shard.OutcomeApplied)
	for h := range c.logs {
		c.wantApplied(h, "a", "b")
	}
	if c.net.Elapsed() != 0 {
		t.Errorf("without delays it took %v of virtual time", c.net.Elapsed())
	}
}

func TestNothingHappensBeforeTheNetworkIsStepped(t *testing.T) {
	c := newCluster(t, memlog.Config{}, 1)
	c.led(1)
	p := c.propose(1, "a")
	if p.count != 0 || c.machines[1].holds("a") {
		t.Fatal("the batch was applied within Propose")
	}
	c.net.Advance(0)
	if p.count != 1 || !c.machines[1].holds("a") {
		t.Fatal("the batch was not applied by the step")
	}
}

func TestProposeKeepsNoReferenceToTheBatch(t *testing.T) {
	c := newCluster(t, memlog.Config{}, 1)
	c.led(1)
	batch := []byte("before")
	if err := c.logs[1].Propose(batch, func(shard.Outcome) {}); err != nil {
		t.Fatal(err)
	}
	copy(batch, "after!")
	c.wantApplied(1, "before")
}

func TestEntryDataIsNotValidAfterApply(t *testing.T) {
	c := newCluster(t, memlog.Config{}, 1)
	k := &keeper{recorder: newRecorder(t)}
	l, err := c.net.Open(1, 99, k)
	if err != nil {
		t.Fatal(err)
	}
	c.until("it leads", func() bool { return l.Leadership().Leader == 1 })
	if err := l.Propose([]byte("a"), func(shard.Outcome) {}); err != nil {
		t.Fatal(err)
	}
	c.until("it is applied", func() bool { return k.holds("a") })
	if string(k.kept) == "a" {
		t.Error("what a state machine kept of an entry is as it was")
	}
}

// keeper violates the state machine contract by keeping entry data.
type keeper struct {
	*recorder
	kept []byte
}

func (k *keeper) Apply(entries []shard.Entry) error {
	k.kept = entries[0].Data
	return k.recorder.Apply(entries)
}

func TestFollowerDropsProposals(t *testing.T) {
	c := newCluster(t, memlog.Config{}, 3)
	c.led(1)
	c.wantOutcome(c.propose(2, "a"), shard.OutcomeDropped)
	c.net.Advance(time.Second)
	for h, m := range c.machines {
		if m.holds("a") {
			t.Errorf("host %d applied a dropped batch", h)
		}
	}
}

func TestBatchOfACutOffLeaderIsUnknownAndOverwritten(t *testing.T) {
	c := newCluster(t, memlog.Config{}, 3)
	c.led(1)
	c.net.Isolate(1)
	lost := c.propose(1, "lost")
	c.wantOutcome(lost, shard.OutcomeUnknown)
	c.until("another host leads", func() bool { return c.group.Leader().Leader != 1 })
	next := c.group.Leader().Leader
	c.led(next)
	if l := c.logs[1].Leadership(); l.Leader != 1 {
		t.Errorf("the old leader believes %v: it cannot know", l)
	}
	c.wantOutcome(c.propose(next, "kept"), shard.OutcomeApplied)
	c.net.HealAll()
	for h := range c.logs {
		c.wantApplied(h, "kept")
	}
}

func TestBatchThatReachedTheNextLeaderIsCommittedLate(t *testing.T) {
	// Follower fsyncs take longer than the proposal timeout, and the leader ends before it learns of them.
	c := newCluster(t, memlog.Config{ProposalTimeout: 50 * time.Millisecond}, 3)
	c.led(1)
	for _, h := range []shard.HostID{2, 3} {
		c.net.SetDisk(h, memlog.Exactly(100*time.Millisecond))
	}
	p := c.propose(1, "late")
	c.wantOutcome(p, shard.OutcomeUnknown)
	if s := c.status(2); s.Synced == s.Last {
		t.Fatal("the follower was not slow")
	}
	c.net.Kill(1)
	c.wantApplied(2, "late")
	c.wantApplied(3, "late")
}

func TestOldLeaderHearsThatItsBatchWasCommittedByTheNext(t *testing.T) {
	c := newCluster(t, memlog.Config{}, 3)
	c.led(1)
	c.net.Cut(2, 1) // no answer gets back
	c.net.Cut(3, 1)
	p := c.propose(1, "a")
	c.net.Advance(10 * time.Millisecond)
	if p.count != 0 || c.status(2).Last != c.status(1).Last {
		t.Fatalf("the batch should be with the followers and its outcome unknown yet\n%v", c.group)
	}
	if err := c.group.Elect(2); err != nil {
		t.Fatal(err)
	}
	c.net.HealAll()
	c.wantOutcome(p, shard.OutcomeApplied)
	for h := range c.logs {
		c.wantApplied(h, "a")
	}
}

func TestOldLeaderMayStillCommitWhatTheNextOneHas(t *testing.T) {
	// The followers accepted the batch before one of them was elected. Only the old leader's own fsync is missing,
	// which completes later, as permitted.
	c := newCluster(t, memlog.Config{Path: memlog.Path{Delay: memlog.Exactly(10 * time.Millisecond)}}, 3)
	c.led(1)
	c.net.Advance(time.Second)
	c.net.SetDisk(1, memlog.Exactly(30*time.Millisecond))
	p := c.propose(1, "a")
	c.net.Advance(25 * time.Millisecond)
	c.net.Isolate(1)
	if err := c.group.Elect(2); err != nil {
		t.Fatal(err)
	}
	c.net.Advance(10 * time.Millisecond)
	if p.value != shard.OutcomeApplied || c.logs[1].Leadership().Leader != 1 {
		t.Errorf("outcome %v, and host 1 believes %v", p.value, c.logs[1].Leadership())
	}
	c.net.HealAll()
	for h := range c.logs {
		c.wantApplied(h, "a")
	}
}

func TestBatchThatCameBackInASnapshotIsUnknown(t *testing.T) {
	c := newCluster(t, memlog.Config{SnapshotEvery: 5, ProposalTimeout: time.Hour}, 3)
	c.led(1)
	c.net.Cut(2, 1) // the followers get everything, and no answer gets back
	c.net.Cut(3, 1)
	p := c.propose(1, "a")
	c.net.Advance(time.Millisecond)
	if err := c.group.Elect(2); err != nil {
		t.Fatal(err)
	}
	c.net.Isolate(1)
	c.led(2)
	for range 10 {
		c.wantOutcome(c.propose(2, "b"), shard.OutcomeApplied)
	}
	c.net.HealAll()
	start := c.net.Elapsed()
	c.wantOutcome(p, shard.OutcomeUnknown)
	c.until("the snapshot has come", func() bool { return c.machines[1].restores == 1 })
	if !c.machines[1].holds("a") || c.net.Elapsed()-start > time.Second {
		t.Errorf("after %v host 1 has %v", c.net.Elapsed()-start, c.machines[1].applied())
	}
}

func TestSomeBatchesAreUnknownTheMomentATermEnds(t *testing.T) {
	c := newCluster(t, memlog.Config{UnknownOnTermChange: 1, ProposalTimeout: time.Hour}, 3)
	c.led(1)
	c.net.Isolate(1)
	p := c.propose(1, "a")
	c.net.Advance(time.Second)
	if p.count != 0 {
		t.Fatal("the outcome is there before the host learned of a newer term")
	}
	c.net.HealAll()
	c.wantOutcome(p, shard.OutcomeUnknown)
}

func TestLateOutcomeIsUnknownAndTheBatchIsAppliedAllTheSame(t *testing.T) {
	c := newCluster(t, memlog.Config{LateOutcome: 1}, 3)
	c.led(1)
	c.wantOutcome(c.propose(1, "a"), shard.OutcomeUnknown)
	c.wantApplied(1, "a")
}

func TestLogIsBusyBeyondItsBounds(t *testing.T) {
	c := newCluster(t, memlog.Config{MaxInFlight: 2, MaxInFlightBytes: 100}, 1)
	c.led(1)
	c.propose(1, "a")
	last := c.propose(1, "b")
	if err := c.logs[1].Propose([]byte("c"), nil); !errors.Is(err, shard.ErrLogBusy) {
		t.Errorf("the third of two: %v", err)
	}
	c.barrier(1)
	c.barrier(1)
	if err := c.logs[1].Barrier(nil); !errors.Is(err, shard.ErrLogBusy) {
		t.Errorf("the third barrier of two: %v", err)
	}
	c.wantOutcome(last, shard.OutcomeApplied)
	if err := c.logs[1].Propose(make([]byte, 101), nil); !errors.Is(err, shard.ErrLogBusy) {
		t.Errorf("101 bytes of 100: %v", err)
	}
	c.wantOutcome(c.propose(1, "d"), shard.OutcomeApplied)
}

func TestStateMachineThatCannotGoOnIsFedNoMore(t *testing.T) {
	c := newCluster(t, memlog.Config{}, 3)
	c.led(1)
	c.machines[2].failAt = "b"
	c.propose(1, "a")
	c.propose(1, "b")
	c.wantOutcome(c.propose(1, "c"), shard.OutcomeApplied)
	c.wantApplied(3, "a", "b", "c")
	c.wantApplied(2, "a")
	if c.logs[2].Err() == nil || c.logs[1].Err() != nil {
		t.Errorf("errors: host 2 %v, host 1 %v", c.logs[2].Err(), c.logs[1].Err())
	}
	if err := await(c, c.barrier(2)); !errors.Is(err, shard.ErrNoQuorum) {
		t.Errorf("barrier on a replica that stopped: %v", err)
	}
}

func TestLeaderWithAStuckDiskCommitsNothingAndLosesItsFollowers(t *testing.T) {
	c := newCluster(t, memlog.Config{}, 3)
	c.led(1)
	c.net.Advance(time.Second)
	c.net.StickDisk(1)
	ticked := false
	c.net.AfterFunc(1, time.Second, func() { ticked = true })
	p := c.propose(1, "a")
	c.net.Advance(100 * time.Millisecond)
	if p.count != 0 {
		t.Fatal("committed, although the leader has not synced it")
	}
	after := c.propose(1, "never taken")
	c.until("another host leads", func() bool { return c.group.Leader().Leader != 1 })
	if l := c.logs[1].Leadership(); l.Leader != 1 {
		t.Errorf("it hangs, and believes %v", l)
	}
	if err := await(c, c.barrier(1)); !errors.Is(err, shard.ErrNoQuorum) || !ticked {
		t.Errorf("barrier: %v; its process went on: %v", err, ticked)
	}
	c.wantOutcome(after, shard.OutcomeUnknown)
	c.net.FreeDisk(1)
	for h := range c.logs {
		c.wantApplied(h, "a")
	}
}
