package memlog_test

import (
	"errors"
	"testing"
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/test/memlog"
)

func TestFirstLeaderIsElectedWithoutWaiting(t *testing.T) {
	for _, hosts := range []int{1, 2, 3, 5} {
		c := newCluster(t, memlog.Config{}, hosts)
		c.led(1)
		if c.net.Elapsed() != 0 {
			t.Errorf("%d hosts: after %v", hosts, c.net.Elapsed())
		}
	}
}

func TestNewLeaderIsElectedAfterOneToTwoTimeouts(t *testing.T) {
	const timeout = 100 * time.Millisecond
	for seed := range uint64(50) {
		c := newCluster(t, memlog.Config{Seed: seed, ElectionTimeout: timeout}, 3)
		c.led(1)
		c.net.Advance(time.Second)
		start := c.net.Elapsed()
		c.net.Kill(1)
		c.until("another host leads", func() bool { return c.group.Leader().Leader != 1 })
		if took := c.net.Elapsed() - start; took < timeout || took >= 2*timeout {
			t.Errorf("seed %d: after %v", seed, took)
		}
		if l := c.group.Leader(); l.Term != 2 {
			t.Errorf("seed %d: %v", seed, l)
		}
	}
}

func TestLeaderElectIsNotifiedBeforeItHasAppliedEverything(t *testing.T) {
	c := newCluster(t, memlog.Config{Path: memlog.Path{Delay: memlog.Exactly(10 * time.Millisecond)}}, 3)
	c.led(1)
	c.net.Advance(time.Second)
	synced := c.status(2).Synced
	p := c.propose(1, "a")
	c.until("host 2 has it", func() bool { return c.status(2).Synced > synced })
	if err := c.group.Elect(2); err != nil {
		t.Fatal(err)
	}
	c.until("host 2 is notified", func() bool {
		b := c.machines[2].leaderships
		return len(b) > 0 && b[len(b)-1].Leader == 2
	})
	if c.machines[2].holds("a") {
		t.Error("the batch was applied before")
	}
	c.wantOutcome(p, shard.OutcomeApplied)
	c.wantApplied(2, "a")
}

func TestLeadershipIsTransferredWithoutLosingABatch(t *testing.T) {
	c := newCluster(t, memlog.Config{Path: memlog.Path{Delay: memlog.Exactly(time.Millisecond)}}, 3)
	c.led(1)
	c.net.Advance(time.Second)
	before := c.propose(1, "before")
	if err := c.logs[1].Transfer(3); err != nil {
		t.Fatal(err)
	}
	during := c.propose(1, "during")
	c.led(3)
	c.wantOutcome(before, shard.OutcomeApplied)
	c.wantOutcome(during, shard.OutcomeDropped)
	c.wantOutcome(c.propose(3, "after"), shard.OutcomeApplied)
	c.wantApplied(1, "before", "after")
}

func TestALeaderKnowsHowFarTheOthersAre(t *testing.T) {
	c := newCluster(t, memlog.Config{}, 3)
	c.led(1)
	c.wantOutcome(c.propose(1, "a"), shard.OutcomeApplied)
	c.net.Advance(time.Second)
	two, near2 := c.logs[1].Follower(2)
	three, near3 := c.logs[1].Follower(3)
	if two == 0 || two != three || !near2 || !near3 {
		t.Errorf("host 2 has %d, %v and host 3 has %d, %v", two, near2, three, near3)
	}
	if index, near := c.logs[2].Follower(3); index != 0 || near {
		t.Errorf("a host that does not lead knows %d, %v", index, near)
	}
	c.net.Isolate(3)
	c.wantOutcome(c.propose(1, "b"), shard.OutcomeApplied)
	c.net.Advance(time.Second)
	if index, near := c.logs[1].Follower(2); index != two+1 || !near {
		t.Errorf("host 2 has %d, %v and not %d", index, near, two+1)
	}
	if index, near := c.logs[1].Follower(3); index != three || near {
		t.Errorf("host 3, which is away, has %d, %v and not %d", index, near, three)
	}
}

func TestTransferToAHostThatIsCutOffIsGivenUp(t *testing.T) {
	c := newCluster(t, memlog.Config{}, 3)
	c.led(1)
	c.net.Isolate(3)
	if err := c.logs[1].Transfer(3); err != nil {
		t.Fatal(err)
	}
	c.wantOutcome(c.propose(1, "during"), shard.OutcomeDropped)
	c.net.Advance(time.Second)
	c.wantOutcome(c.propose(1, "after"), shard.OutcomeApplied)
	if err := c.logs[1].Transfer(9); !errors.Is(err, shard.ErrNotMember) {
		t.Errorf("to a host without a replica: %v", err)
	}
}

func TestHostWithoutAllCommittedEntriesIsNotElectable(t *testing.T) {
	c := newCluster(t, memlog.Config{}, 3)
	c.led(1)
	c.net.Isolate(3)
	c.wantOutcome(c.propose(1, "a"), shard.OutcomeApplied)
	c.net.HealAll()
	c.net.Isolate(1) // 2 and 3 remain, and 3 lacks the batch
	if err := c.group.Elect(3); !errors.Is(err, memlog.ErrNotElectable) {
		t.Errorf("host 3: %v", err)
	}
	if err := c.group.Elect(9); !errors.Is(err, memlog.ErrUnknownHost) {
		t.Errorf("host 9: %v", err)
	}
	c.until("a new leader is there", func() bool { return c.group.Leader().Term == 2 })
	if l := c.group.Leader().Leader; l != 2 {
		t.Errorf("host %d was elected", l)
	}
}

func TestMinorityElectsNoLeader(t *testing.T) {
	c := newCluster(t, memlog.Config{}, 5)
	c.led(1)
	c.net.Partition([]shard.HostID{4, 5})
	c.net.Advance(time.Minute)
	if l := c.group.Leader(); l.Leader != 1 || l.Term != 1 {
		t.Errorf("the latest election: %v", l)
	}
	for _, h := range []shard.HostID{4, 5} {
		if l := c.logs[h].Leadership(); l.Leader != 0 {
			t.Errorf("host %d believes %v", h, l)
		}
	}
	c.net.HealAll()
	c.until("they hear the leader again", func() bool {
		return c.logs[4].Leadership().Leader == 1 && c.logs[5].Leadership().Leader == 1
	})
}

func TestCutOffLeaderGivesUpOnlyWithCheckQuorum(t *testing.T) {
	for _, check := range []bool{false, true} {
		c := newCluster(t, memlog.Config{CheckQuorum: check}, 3)
		c.led(1)
		c.net.Advance(time.Minute)
		c.net.Isolate(1)
		c.net.Advance(10 * time.Second)
		if l := c.logs[1].Leadership(); (l.Leader == 0) != check {
			t.Errorf("CheckQuorum %v: it believes %v", check, l)
		}
	}
}

func TestFollowersOfALossyLinkLoseTheirLeaderNowAndThen(t *testing.T) {
	c := newCluster(t, memlog.Config{}, 3)
	c.led(1)
	c.net.SetPaths(memlog.Path{Loss: 0.85})
	c.net.Advance(time.Minute)
	if term := c.group.Leader().Term; term < 5 {
		t.Errorf("with 85%% loss there was term %d after a minute", term)
	}
	c.net.SetPaths(memlog.Path{})
	c.until("all believe in one leader", func() bool {
		l := c.group.Leader().Leader
		believes := func(h shard.HostID) bool { return c.logs[h].Leadership().Leader == l }
		return believes(1) && believes(2) && believes(3)
	})
	term := c.group.Leader().Term
	c.net.Advance(time.Hour)
	if now := c.group.Leader().Term; now != term {
		t.Errorf("without faults term %d became %d", term, now)
	}
}

func TestIdleGroupWithoutFaultsHasNothingToDo(t *testing.T) {
	c := newCluster(t, memlog.Config{}, 3)
	c.led(1)
	c.wantOutcome(c.propose(1, "a"), shard.OutcomeApplied)
	c.net.Advance(time.Minute)
	for c.net.Step() {
		t.Fatal("there is something left to do")
	}
	c.net.Pause(1)
	c.until("a fault sets it going again", func() bool { return c.group.Leader().Leader != 1 })
}

func TestStuckDiskCannotVote(t *testing.T) {
	c := newCluster(t, memlog.Config{}, 3)
	c.led(1)
	c.net.Advance(time.Second)
	c.net.StickDisk(3)
	c.net.Kill(1)
	c.net.Advance(time.Minute)
	if l := c.group.Leader(); l.Term != 1 {
		t.Errorf("elected with the vote of a stuck disk: %v", l)
	}
	c.net.FreeDisk(3)
	c.until("they elect", func() bool { return c.group.Leader().Term == 2 })
}
