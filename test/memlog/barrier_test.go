package memlog_test

import (
	"errors"
	"testing"
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/test/memlog"
)

func TestBarrierPassesOnEveryHost(t *testing.T) {
	c := newCluster(t, memlog.Config{Path: memlog.Path{Delay: memlog.Exactly(time.Millisecond)}}, 3)
	c.led(1)
	c.wantOutcome(c.propose(1, "a"), shard.OutcomeApplied)
	for h := range c.logs {
		b := c.barrier(h)
		if err := await(c, b); err != nil {
			t.Fatalf("host %d: %v", h, err)
		}
		if !c.machines[h].holds("a") {
			t.Errorf("host %d passed a barrier without what was applied before it", h)
		}
	}
}

func TestBarrierTakesARoundThatBeginsAfterIt(t *testing.T) {
	const delay = 5 * time.Millisecond
	c := newCluster(t, memlog.Config{Path: memlog.Path{Delay: memlog.Exactly(delay)}}, 3)
	c.led(1)
	c.net.Advance(time.Second)

	start := c.net.Elapsed()
	first := c.barrier(1)
	c.net.Advance(delay) // the first round arrives now
	second, third := c.barrier(1), c.barrier(1)
	if err := await(c, first); err != nil || c.net.Elapsed()-start != 2*delay {
		t.Errorf("the first: %v after %v", err, c.net.Elapsed()-start)
	}
	if second.count != 0 {
		t.Error("the second passed by a round that began before it")
	}
	if err := await(c, second); err != nil || c.net.Elapsed()-start != 4*delay {
		t.Errorf("the second: %v after %v", err, c.net.Elapsed()-start)
	}
	if await(c, third); c.net.Elapsed()-start != 4*delay {
		t.Error("the third did not share the round of the second")
	}
}

func TestBarrierWithoutAMajorityFailsInTime(t *testing.T) {
	c := newCluster(t, memlog.Config{BarrierTimeout: 300 * time.Millisecond}, 3)
	c.led(1)
	c.net.Advance(time.Second)
	c.net.Isolate(1)
	start := c.net.Elapsed()
	if err := await(c, c.barrier(1)); !errors.Is(err, shard.ErrNoQuorum) {
		t.Errorf("got %v", err)
	}
	if took := c.net.Elapsed() - start; took != 300*time.Millisecond {
		t.Errorf("after %v", took)
	}
}

func TestBarrierOfAPausedOldLeaderNeverPasses(t *testing.T) {
	c := newCluster(t, memlog.Config{Path: memlog.Path{Delay: memlog.Exactly(time.Millisecond)}}, 3)
	c.led(1)
	c.net.Pause(1)
	before := c.barrier(1) // the state machine is called, and blocks
	c.until("another host leads", func() bool { return c.group.Leader().Leader != 1 })
	next := c.group.Leader().Leader
	c.led(next)
	c.wantOutcome(c.propose(next, "a"), shard.OutcomeApplied)
	if l := c.logs[1].Leadership(); l.Leader != 1 {
		t.Fatalf("it slept and believes %v", l)
	}
	c.net.Resume(1)
	after := c.barrier(1) // messages received meanwhile are still unread
	for _, b := range []*pending[error]{before, after} {
		if err := await(c, b); !errors.Is(err, shard.ErrNoQuorum) {
			t.Errorf("the old leader's barrier: %v", err)
		}
	}
	c.until("it learns of the new leader", func() bool { return c.logs[1].Leadership().Leader == next })
	if err := await(c, c.barrier(1)); err != nil || !c.machines[1].holds("a") {
		t.Errorf("as a follower: %v, applied %v", err, c.machines[1].applied())
	}
}

func TestBarrierWaitsForTheNewLeadersFirstCommit(t *testing.T) {
	c := newCluster(t, memlog.Config{}, 3)
	c.led(1)
	c.net.SetDisk(2, memlog.Exactly(50*time.Millisecond))
	c.net.SetDisk(3, memlog.Exactly(50*time.Millisecond))
	if err := c.group.Elect(2); err != nil {
		t.Fatal(err)
	}
	if l := c.logs[2].Leadership(); l.Leader != 2 {
		t.Fatalf("it believes %v", l)
	}
	start := c.net.Elapsed()
	if err := await(c, c.barrier(2)); err != nil {
		t.Fatal(err)
	}
	if c.net.Elapsed()-start < 50*time.Millisecond {
		t.Error("the barrier passed before the leader knew what is committed")
	}
}

func TestBarrierFailsAtOnceWhereNoLeaderIsKnown(t *testing.T) {
	c := newCluster(t, memlog.Config{}, 3)
	c.led(1)
	c.until("host 2 follows", func() bool { return c.logs[2].Leadership().Leader == 1 })
	c.net.Isolate(2)
	c.until("host 2 knows no leader", func() bool { return c.logs[2].Leadership().Leader == 0 })
	start := c.net.Elapsed()
	if err := await(c, c.barrier(2)); !errors.Is(err, shard.ErrNoQuorum) || c.net.Elapsed() != start {
		t.Errorf("%v after %v", err, c.net.Elapsed()-start)
	}
}

func TestFollowersBarrierSurvivesLossAndAChangeOfLeader(t *testing.T) {
	c := newCluster(t, memlog.Config{Seed: 3, BarrierTimeout: 10 * time.Second}, 3)
	c.led(1)
	c.until("host 3 follows", func() bool { return c.logs[3].Leadership().Leader == 1 })
	c.net.Cut(3, 1)
	b := c.barrier(3)
	c.net.Advance(100 * time.Millisecond)
	if err := c.group.Elect(2); err != nil {
		t.Fatal(err)
	}
	c.led(2)
	c.wantOutcome(c.propose(2, "a"), shard.OutcomeApplied)
	if err := await(c, b); err != nil {
		t.Fatal(err)
	}
	if l := c.logs[3].Leadership(); l.Leader != 2 {
		t.Errorf("host 3 believes %v", l)
	}
}

// TestBarrierGoesOnWhereTheVoterItWaitsForIsRemoved: the answer to the current round never arrives, and is no longer
// needed.
func TestBarrierGoesOnWhereTheVoterItWaitsForIsRemoved(t *testing.T) {
	for after := range 5 {
		c := newGroup(t, memlog.Config{Path: memlog.Path{Delay: memlog.Exactly(time.Millisecond)}}, 2, 1, 2)
		c.led(1)
		change := c.change(1, memlog.ChangeRemove, 2, 0)
		c.net.Advance(time.Duration(after) * time.Millisecond / 2)
		first := c.barrier(1)
		c.must(change)
		c.net.Isolate(2)
		for k, b := range []*pending[error]{first, c.barrier(1)} {
			if err := await(c, b); err != nil {
				t.Errorf("%d half milliseconds after the change was begun, barrier %d: %v", after, k, err)
			}
		}
	}
}
