package memlog_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/test/memlog"
)

func TestPausedHostDoesNothingAndCatchesUp(t *testing.T) {
	c := newCluster(t, memlog.Config{}, 3)
	c.led(1)
	fired := false
	c.net.AfterFunc(3, 10*time.Millisecond, func() { fired = true })
	before := len(c.machines[3].leaderships)
	c.net.Pause(3)
	c.wantOutcome(c.propose(1, "a"), shard.OutcomeApplied)
	waiting := c.barrier(3)
	c.net.Advance(5 * time.Second)
	if c.machines[3].holds("a") || fired || waiting.count > 0 || len(c.machines[3].leaderships) != before {
		t.Error("something of the paused host ran")
	}
	c.net.Resume(3)
	c.wantApplied(3, "a")
	if await(c, waiting); !fired {
		t.Error("its timer is lost")
	}
}

func TestProposalsOnAPausedHostKeepTheirOrder(t *testing.T) {
	c := newCluster(t, memlog.Config{}, 1)
	c.led(1)
	c.net.Pause(1)
	c.propose(1, "a")
	c.net.Advance(time.Millisecond)
	c.propose(1, "b")
	c.net.Resume(1)
	c.propose(1, "c")
	c.wantApplied(1, "a", "b", "c")
}

func TestKilledHostComesBackWithAllThatWasWritten(t *testing.T) {
	for _, tc := range []struct {
		name  string
		crash func(*memlog.Network, shard.HostID)
		kept  bool
	}{
		{"killed", (*memlog.Network).Kill, true},
		{"power failure", (*memlog.Network).PowerFail, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCluster(t, memlog.Config{}, 1)
			c.led(1)
			c.wantOutcome(c.propose(1, "synced"), shard.OutcomeApplied)
			c.net.StickDisk(1)
			lost := c.propose(1, "written")
			c.net.Advance(10 * time.Millisecond)
			tc.crash(c.net, 1)
			c.net.Advance(time.Hour)
			if lost.count > 0 {
				t.Error("a crashed process called back")
			}
			c.machines[1].closed.Store(true)
			if err := c.logs[1].Propose(nil, nil); !errors.Is(err, shard.ErrLogClosed) {
				t.Errorf("proposing on a dead log: %v", err)
			}
			if _, err := c.net.Open(1, theGroup, newRecorder(t)); !errors.Is(err, memlog.ErrHostDown) {
				t.Errorf("opening on a dead host: %v", err)
			}
			if err := c.logs[1].Close(); err != nil {
				t.Fatal(err)
			}
			c.wantOutcome(lost, shard.OutcomeUnknown)

			c.net.Restart(1)
			c.net.FreeDisk(1)
			c.open(1)
			c.led(1)
			want := []string{"synced", "written"}
			if !tc.kept {
				want = want[:1]
			}
			if got := c.machines[1].applied(); !slices.Equal(got, want) {
				t.Errorf("it has %v, want %v", got, want)
			}
		})
	}
}

func TestRestartGivesTheSnapshotThenTheRestOfTheLog(t *testing.T) {
	c := newCluster(t, memlog.Config{SnapshotEvery: 10}, 3)
	c.led(1)
	var want []string
	for i := range 25 {
		want = append(want, fmt.Sprint("b", i))
		c.wantOutcome(c.propose(1, want[i]), shard.OutcomeApplied)
	}
	c.net.Advance(time.Second)
	if at := c.status(2).Snapshot; at < 20 {
		t.Fatalf("host 2 has a snapshot of entry %d", at)
	}
	c.net.Kill(2)
	c.net.Restart(2)
	c.open(2)
	c.wantApplied(2, want...)
	if m := c.machines[2]; m.restores != 1 {
		t.Errorf("%d restores", m.restores)
	}
	for h, m := range c.machines {
		if h != 2 && (m.prepares == 0 || m.prepares != m.discards) {
			t.Errorf("host %d: %d snapshots prepared, %d released", h, m.prepares, m.discards)
		}
	}
}

func TestFollowerBehindTheCompactedLogGetsTheSnapshot(t *testing.T) {
	c := newCluster(t, memlog.Config{SnapshotEvery: 10, SnapshotKeep: 2}, 3)
	c.led(1)
	c.net.Isolate(3)
	var want []string
	for i := range 35 {
		want = append(want, fmt.Sprint("b", i))
		c.wantOutcome(c.propose(1, want[i]), shard.OutcomeApplied)
	}
	c.net.HealAll()
	c.wantApplied(3, want...)
	if c.machines[3].restores != 1 {
		t.Errorf("%d restores", c.machines[3].restores)
	}
	c.wantOutcome(c.propose(1, "more"), shard.OutcomeApplied)
	c.wantApplied(3, append(want, "more")...)
}

func TestSnapshotIsOfTheStateWhenItWasPrepared(t *testing.T) {
	c := newCluster(t, memlog.Config{SnapshotEvery: 5, SnapshotSave: memlog.Exactly(time.Second)}, 1)
	c.led(1)
	for i := range 5 {
		c.propose(1, fmt.Sprint("b", i))
	}
	c.until("a snapshot is prepared", func() bool { return c.machines[1].prepares == 1 })
	for i := 5; i < 20; i++ {
		c.propose(1, fmt.Sprint("b", i))
	}
	if c.status(1).Snapshot != 0 {
		t.Error("it was saved at once")
	}
	c.until("all is applied", func() bool { return c.machines[1].holds("b19") })
	c.until("it is saved", func() bool { return c.status(1).Snapshot > 0 })
	if at := c.status(1).Snapshot; at >= 20 {
		t.Errorf("the snapshot is of entry %d", at)
	}
	c.net.Kill(1)
	c.net.Restart(1)
	c.open(1)
	c.until("all is there again", func() bool { return len(c.machines[1].applied()) == 20 })
	if got := c.machines[1].applied(); !slices.IsSortedFunc(got, func(a, b string) int {
		return len(a) - len(b)
	}) || c.machines[1].restores != 1 {
		t.Errorf("%d restores, %v", c.machines[1].restores, got)
	}
}

func TestPowerFailureOfAMinorityLosesNothingCommitted(t *testing.T) {
	c := newCluster(t, memlog.Config{}, 3)
	c.led(1)
	c.net.SetDisk(3, memlog.Exactly(time.Minute)) // nothing becomes durable on host 3
	p := c.propose(1, "a")
	c.wantOutcome(p, shard.OutcomeApplied)
	c.net.PowerFail(3)
	c.net.PowerFail(1)
	c.net.Restart(1)
	c.net.Restart(3)
	c.net.SetDisk(3, memlog.Delay{})
	c.open(1)
	c.open(3)
	for h := range c.logs {
		c.wantApplied(h, "a")
	}
}

func TestPowerFailureLosesWhatIsNotSyncedAndNothingElse(t *testing.T) {
	c := newCluster(t, memlog.Config{Path: memlog.Path{Delay: memlog.Exactly(time.Millisecond)}}, 3)
	c.led(1)
	c.net.Advance(time.Second)
	c.propose(1, "synced")
	before := c.status(2)
	c.until("host 2 has synced it", func() bool { return c.status(2).Synced > before.Synced })
	c.net.StickDisk(2)
	c.propose(1, "written")
	c.until("host 2 has written it", func() bool { return c.status(2).Last > before.Last+1 })
	c.net.Isolate(2)
	c.net.PowerFail(2)
	if s := c.status(2); s.Last != before.Synced+1 || s.Synced != s.Last {
		t.Errorf("it had %+v, and now %+v", before, s)
	}
}

func TestDeadHostCallsNothingUntilItsLogIsClosed(t *testing.T) {
	c := newCluster(t, memlog.Config{Path: memlog.Path{Delay: memlog.Exactly(time.Millisecond)}}, 3)
	c.led(1)
	b := c.barrier(1)
	c.net.Advance(0) // the round is in flight
	if err := c.group.Elect(2); err != nil {
		t.Fatal(err) // the barrier ends; its callback is queued
	}
	before := len(c.machines[1].leaderships)
	c.net.Kill(1)
	c.net.Advance(time.Minute)
	if b.count > 0 || len(c.machines[1].leaderships) > before {
		t.Error("a dead host called back")
	}
	if err := c.logs[1].Close(); err != nil {
		t.Fatal(err)
	}
	if err := await(c, b); err == nil {
		t.Error("the barrier passed")
	}
}

func TestCallsOfAPausedHostWait(t *testing.T) {
	c := newCluster(t, memlog.Config{}, 3)
	c.led(1)
	c.net.Advance(time.Second)
	before := len(c.machines[2].leaderships)
	if err := c.group.Elect(2); err != nil {
		t.Fatal(err) // a state machine notification is queued
	}
	c.net.Pause(2)
	c.net.Advance(time.Millisecond)
	if len(c.machines[2].leaderships) != before {
		t.Error("the paused host called its state machine")
	}
	c.net.Resume(2)
	c.net.Advance(0)
	if len(c.machines[2].leaderships) == before {
		t.Error("the resumed host did not")
	}
}

func TestSnapshotThatIsNotSavedIsReleased(t *testing.T) {
	for name, end := range map[string]func(*cluster){
		"closed": func(c *cluster) { _ = c.logs[1].Close() },
		"killed": func(c *cluster) { c.net.Kill(1) },
	} {
		c := newCluster(t, memlog.Config{SnapshotEvery: 2, SnapshotSave: memlog.Exactly(time.Second)}, 1)
		c.led(1)
		c.propose(1, "a")
		c.wantOutcome(c.propose(1, "b"), shard.OutcomeApplied)
		end(c)
		c.net.Advance(time.Minute)
		if m := c.machines[1]; m.prepares != 1 || m.discards != 1 {
			t.Errorf("%s: %d snapshots prepared, %d released", name, m.prepares, m.discards)
		}
	}
}

func TestClocksOfHostsRunAtTheirOwnRate(t *testing.T) {
	c := newCluster(t, memlog.Config{}, 2)
	c.net.Advance(time.Second)
	c.net.SetClockRate(2, 1.5)
	start1, start2 := c.net.Now(1), c.net.Now(2)
	if !start1.Equal(start2) {
		t.Errorf("clocks differ from the beginning: %v, %v", start1, start2)
	}
	var fired time.Duration
	begin := c.net.Elapsed()
	c.net.AfterFunc(2, 3*time.Second, func() { fired = c.net.Elapsed() - begin })
	c.net.Advance(4 * time.Second)
	if d1, d2 := c.net.Now(1).Sub(start1), c.net.Now(2).Sub(start2); d1 != 4*time.Second || d2 != 6*time.Second {
		t.Errorf("in 4s the clocks went %v and %v", d1, d2)
	}
	if fired != 2*time.Second {
		t.Errorf("3s of the fast clock took %v", fired)
	}
}

func TestStoppedTimerAndTimerOfADeadHostDoNotFire(t *testing.T) {
	c := newCluster(t, memlog.Config{}, 2)
	bad := func() { t.Error("fired") }
	stopped := c.net.AfterFunc(0, time.Second, bad)
	c.net.AfterFunc(2, time.Second, bad)
	c.net.Kill(2)
	c.net.Restart(2)
	if !stopped.Stop() || stopped.Stop() {
		t.Error("Stop is in time once")
	}
	c.net.Advance(time.Minute)
}

func TestFaultOnAHostThatIsNotThereIsTheTestsMistake(t *testing.T) {
	c := newCluster(t, memlog.Config{}, 1)
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
		c.net.Advance(0) // the network is not locked up
	}()
	c.net.Pause(9)
}
