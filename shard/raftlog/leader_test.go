package raftlog

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/signalbox/signalbox/shard"
)

func TestNothingAcknowledgedIsLostWhenTheLeaderCloses(t *testing.T) {
	all, leader := openThree(t, nil)
	var want []string
	for range 3 {
		want = append(want, leader.mustPropose(len(want), len(want)+20)...)
		leader.close()
		rest := others(all, leader)
		next := leaderOf(t, rest)
		want = append(want, next.mustPropose(len(want), len(want)+5)...)
		for _, m := range rest {
			m.machine.awaitBatches(t, want)
		}
		leader.open()
		leader.machine.awaitBatches(t, want)
		leader = next
	}
}

// TestALeaderWhoseProcessHasEndedIsReplacedAtOnce: followers wait at least ten seconds for a silent leader, but not at
// all for one whose address refuses connections. On a machine with short stalls votes may sometimes be split, which
// takes as long as without the mechanism.
func TestALeaderWhoseProcessHasEndedIsReplacedAtOnce(t *testing.T) {
	const tick, ticks, rounds, quick = 100 * time.Millisecond, 100, 8, 3
	all := newCluster(t, 3, func(c *Config) { c.Tick, c.ElectionTicks = tick, ticks })
	first := &all[0].config
	first.ElectionTicks = 5 // it leads first, and is as patient as the others after its next start
	openAll(all)
	leader := leaderOf(t, all)
	want := leader.mustPropose(0, 20)
	for round, atOnce := 0, 0; atOnce < quick; round++ {
		if round == rounds {
			t.Fatalf("%d of %d leaders were replaced before an election was due", atOnce, rounds)
		}
		leader.close()
		closed := time.Now()
		rest := others(all, leader)
		next := leaderOf(t, rest)
		if time.Since(closed) < ticks*tick {
			atOnce++
		}
		want = append(want, next.mustPropose(len(want), len(want)+5)...)
		first.ElectionTicks = ticks
		leader.open()
		leader.machine.awaitBatches(t, want)
		leader = next
	}
}

func TestTransferMovesLeadership(t *testing.T) {
	all, leader := openThree(t, nil)
	want := leader.mustPropose(0, 5)
	for _, to := range others(all, leader) {
		// Any host may be asked: a follower forwards the request.
		transfer(t, all, all[0], to)
		if err := to.barrier(); err != nil {
			t.Fatal(err)
		}
		want = append(want, to.mustPropose(len(want), len(want)+5)...)
	}
	for _, m := range all {
		m.machine.awaitBatches(t, want)
	}
}

// TestATransferWaitsForWhatIsToBeApplied: a host's engine skips an election while it has committed entries to apply,
// and the requesting leader continues to lead after an election timeout, here ten seconds.
func TestATransferWaitsForWhatIsToBeApplied(t *testing.T) {
	all := newCluster(t, 3, func(c *Config) { c.Tick, c.ElectionTicks = 100*time.Millisecond, 100 })
	all[0].config.ElectionTicks = 5
	openAll(all)
	leader := leaderOf(t, all)
	heir := others(all, leader)[0]
	release, applying := heir.machine.holdNextApply()
	leader.mustPropose(0, 1)
	<-applying
	if err := leader.log.Transfer(heir.config.Host); err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * time.Millisecond) // by then the engine has skipped the election once
	close(release)
	leads := func() bool { return heir.machine.lastLeader().Leader == heir.config.Host }
	if !heir.machine.awaitFor(5*time.Second, leads) {
		t.Errorf("host %d does not take over", heir.config.Host)
	}
}

func TestTransferToAHostWithoutAReplicaIsRefused(t *testing.T) {
	one := openOne(t, nil)
	if err := one.log.Transfer(9); !errors.Is(err, shard.ErrNotMember) {
		t.Errorf("got %v, want ErrNotMember", err)
	}
}

// TestATransferToAHostWhoseProcessHasEndedIsRefused: the leader would drop proposals until an election timeout has
// passed, here for ten seconds.
func TestATransferToAHostWhoseProcessHasEndedIsRefused(t *testing.T) {
	const tick, ticks = 100 * time.Millisecond, 100
	all := newCluster(t, 3, func(c *Config) { c.Tick, c.ElectionTicks = tick, ticks })
	all[0].config.ElectionTicks = 5
	openAll(all)
	away := leaderOf(t, all)
	away.close()
	leader := leaderOf(t, others(all, away))
	want := leader.mustPropose(0, 5)
	all[0].config.ElectionTicks = ticks
	away.open()
	near := func() bool { _, near := leader.log.(*Log).Follower(away.config.Host); return near }
	eventually(t, "the other is near", near)
	away.close()
	closed := time.Now()
	eventually(t, "the end of the other is noticed", func() bool { return !near() })
	if took := time.Since(closed); took >= ticks*tick {
		t.Errorf("the end of the process was noticed by its silence, after %v", took)
	}
	if err := leader.log.Transfer(away.config.Host); !errors.Is(err, shard.ErrLogBusy) {
		t.Errorf("got %v, want ErrLogBusy", err)
	}
	want = append(want, leader.mustPropose(len(want), len(want)+5)...)
	away.open()
	away.machine.awaitBatches(t, want)
	eventually(t, "the other is near again", near)
}

func TestLeadershipIsNotifiedInOrder(t *testing.T) {
	all, leader := openThree(t, nil)
	for _, to := range others(all, leader) {
		transfer(t, all, leader, to)
		leader = to
	}
	for _, m := range all {
		m.machine.mu.Lock()
		told := slices.Clone(m.machine.leaders)
		m.machine.mu.Unlock()
		if !slices.IsSortedFunc(told, func(a, b shard.Leadership) int { return int(a.Term) - int(b.Term) }) {
			t.Errorf("host %d was told of terms that go back: %v", m.config.Host, told)
		}
		for i := 1; i < len(told); i++ {
			if told[i] == told[i-1] {
				t.Errorf("host %d was told twice: %v", m.config.Host, told)
			}
		}
		if last, now := told[len(told)-1], m.log.Leadership(); last.Term > now.Term {
			t.Errorf("host %d was told of %v before it believed more than %v", m.config.Host, last, now)
		}
	}
}

func TestABarrierOnAFollowerSeesWhatTheLeaderHadApplied(t *testing.T) {
	all, leader := openThree(t, nil)
	follower := others(all, leader)[0]
	var want []string
	for range 50 {
		want = append(want, leader.mustPropose(len(want), len(want)+1)...)
		if err := follower.barrier(); err != nil {
			t.Fatal(err)
		}
		if got := follower.machine.applied(); !slices.Equal(got, want) {
			t.Fatalf("after a barrier the follower has applied %q, want %q", got, want)
		}
	}
}

func TestABarrierWaitsForApply(t *testing.T) {
	one := openOne(t, nil)
	release, applying := one.machine.holdNextApply()
	if err := one.log.Propose([]byte("held"), func(shard.Outcome) {}); err != nil {
		t.Fatal(err)
	}
	<-applying
	answer := make(chan error, 1)
	if err := one.log.Barrier(func(err error) {
		if got := one.machine.applied(); !slices.Equal(got, []string{"held"}) {
			t.Errorf("the barrier was answered when %q was applied", got)
		}
		answer <- err
	}); err != nil {
		t.Fatal(err)
	}
	// The round has begun, and has nothing to wait for but Apply.
	eventually(t, "the round", func() bool {
		b := one.log.(*Log).barriers
		b.mu.Lock()
		defer b.mu.Unlock()
		return len(b.waiting) == 0
	})
	close(release)
	if err := <-answer; err != nil {
		t.Error(err)
	}
}

func TestBarriersFailWithoutAMajority(t *testing.T) {
	all, leader := openThree(t, func(c *Config) { c.BarrierTimeout = 600 * time.Millisecond })
	rest := others(all, leader)
	want := leader.mustPropose(0, 3)
	leader.close()
	rest[0].close()
	alone := rest[1]
	if err := alone.barrier(); !errors.Is(err, shard.ErrNoQuorum) {
		t.Errorf("follower: %v, want ErrNoQuorum", err)
	}
	leader.open()
	now := leaderOf(t, []*member{leader, alone})
	others([]*member{leader, alone}, now)[0].close()
	if err := now.barrier(); !errors.Is(err, shard.ErrNoQuorum) {
		t.Errorf("leader: %v, want ErrNoQuorum", err)
	}
	rest[0].open()
	leaderOf(t, all)
	now.machine.awaitBatches(t, want)
}

// TestABarrierFailsAtOnceWhereNoLeaderHasBeenKnownForLong: a client is better off elsewhere.
func TestABarrierFailsAtOnceWhereNoLeaderHasBeenKnownForLong(t *testing.T) {
	all, leader := openConnected(t, func(c *Config) { c.BarrierTimeout = 600 * time.Millisecond }, nil)
	for _, m := range others(all, leader) {
		m.close()
	}
	eventually(t, "a barrier that is refused", func() bool {
		err := leader.log.Barrier(func(error) {})
		return errors.Is(err, shard.ErrNoQuorum)
	})
	others(all, leader)[0].open()
	eventually(t, "a barrier that succeeds", func() bool { return leader.barrier() == nil })
}
