package server_test

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/meta"
)

// eventually waits in virtual time.
func eventually(t *testing.T, within time.Duration, what string, is func() bool) {
	t.Helper()
	for late := time.Now().Add(within); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("not within %v: %s", within, what)
		}
	}
}

// recordOf returns a host's record, empty if missing.
func recordOf(c *servertest.Cluster, id shard.HostID) hosts.Host {
	if r := c.Records(); r != nil && r.Host(id) != nil {
		return *r.Host(id)
	}
	return hosts.Host{}
}

// isOnline waits until a host is recorded as online, with the given start number.
func isOnline(t *testing.T, c *servertest.Cluster, id shard.HostID, start uint64) {
	t.Helper()
	eventually(t, 30*time.Second, "the host is online", func() bool {
		h := recordOf(c, id)
		return h.Online() && h.Start.Number == start
	})
}

// operate has an operator's request carried out.
func operate(t *testing.T, c *servertest.Cluster, r meta.Request) {
	t.Helper()
	e, err := c.Do(r)
	if err != nil || e.Status != protocol.StatusSuccess {
		t.Fatalf("%T: %v, %v %s", r, err, e.Status, e.Message)
	}
}

// follower returns a host that leads nothing.
func follower(c *servertest.Cluster, shards uint64) shard.HostID {
	id := shard.HostID(1)
	for led := uint64(0); led <= shards; led++ {
		if c.Leader(led) == id {
			id, led = id+1, ^uint64(0)
		}
	}
	return id
}

// TestHostsAreBootstrappedAndEachStartIsRecorded: hosts that all support the level get records with their bootstrap
// incarnations, and each host start begins a new epoch.
func TestHostsAreBootstrappedAndEachStartIsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t, servertest.Hosts(3))
		for id := shard.HostID(1); id <= 3; id++ {
			isOnline(t, c, id, 1)
			h := recordOf(c, id)
			if h.Incarnation != servertest.Incarnation(id) || h.Addresses.Client != servertest.Address(id) {
				t.Errorf("the record of host %d is %+v", id, h)
			}
		}
		again := follower(c, 1)
		c.Stop(again)
		if err := c.Restart(again); err != nil {
			t.Fatal(err)
		}
		isOnline(t, c, again, 2)
	})
}

// TestAStartThatIsNotTheNextIsRefused: a process on a directory copy from before the recorded start is halted.
func TestAStartThatIsNotTheNextIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var halted error
		copied := shard.HostID(0)
		c := servertest.Start(t, servertest.Hosts(3), servertest.Config(func(c *server.Config) {
			mu.Lock()
			defer mu.Unlock()
			if c.ID == copied {
				c.Start = hosts.Start{Number: 1, Draw: 77}
				c.Halt = func(err error) {
					mu.Lock()
					defer mu.Unlock()
					halted = err
				}
			}
		}))
		id := follower(c, 1)
		isOnline(t, c, id, 1)
		c.Stop(id)
		mu.Lock()
		copied = id
		mu.Unlock()
		if err := c.Restart(id); err != nil {
			t.Fatal(err)
		}
		eventually(t, 10*time.Second, "the copy is halted", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return errors.Is(halted, server.ErrRefused)
		})
		if err := c.Host(id).Ready(); err == nil {
			t.Error("the copy is ready")
		}
	})
}

// TestAHostThatIsNotHeardIsOfflineUntilItReturns: after the policy's timeout, with a reason; and it returns by itself.
func TestAHostThatIsNotHeardIsOfflineUntilItReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t, servertest.Hosts(3))
		id := follower(c, 1)
		isOnline(t, c, id, 1)
		time.Sleep(time.Hour) // an idle cluster takes no host for failed
		if h := recordOf(c, id); !h.Online() || h.Target.Epoch != 2 {
			t.Fatalf("after an idle hour its record is %+v", h)
		}
		c.Isolate(id)
		cut := time.Now()
		eventually(t, 20*time.Second, "the host is offline", func() bool {
			h := recordOf(c, id)
			return h.Target.Variant == protocol.HostOffline && h.Reached()
		})
		if took := time.Since(cut); took < 5*time.Second {
			t.Errorf("it was taken for failed after %v", took)
		}
		if h := recordOf(c, id); h.Target.Reason != hosts.ReasonSilent || h.Target.Text == "" {
			t.Errorf("its target is %+v", h.Target)
		}
		c.Heal()
		isOnline(t, c, id, 1)
	})
}

// TestADrainedHostLeadsNothing: it is offline once all its leaderships have moved, and a start ends the drain.
func TestADrainedHostLeadsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t, servertest.Hosts(3), servertest.Shards(2))
		id := c.Leader(0)
		for led := range uint64(3) {
			if err := c.Elect(led, id); err != nil {
				t.Fatal(err)
			}
		}
		isOnline(t, c, id, 1)
		operate(t, c, &meta.HostDrain{Host: servertest.Name(id)})
		eventually(t, 20*time.Second, "the host is drained", func() bool {
			h := recordOf(c, id)
			return h.Target.Reason == hosts.ReasonDrained && h.Reached()
		})
		for led := range uint64(3) {
			if c.Leader(led) == id {
				t.Errorf("it leads shard %d", led)
			}
		}
	})
}

// TestAHostThatStopsIsOfflineBeforeItEnds: it hands over its leaderships, the meta shard last, within the stop timeout.
func TestAHostThatStopsIsOfflineBeforeItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t, servertest.Hosts(3), servertest.Shards(2))
		id := c.Leader(0)
		for led := range uint64(3) {
			if err := c.Elect(led, id); err != nil {
				t.Fatal(err)
			}
		}
		isOnline(t, c, id, 1)
		began := time.Now()
		c.Host(id).Leave(3 * time.Second)
		took := time.Since(began)
		h := recordOf(c, id)
		if h.Target.Reason != hosts.ReasonShutdown || !h.Reached() || took >= 3*time.Second {
			t.Errorf("after %v its record is %+v", took, h)
		}
		for led := range uint64(3) {
			if c.Leader(led) == id {
				t.Errorf("it leads shard %d", led)
			}
		}
		c.Stop(id)
		if err := c.Restart(id); err != nil {
			t.Fatal(err)
		}
		isOnline(t, c, id, 2)
	})
}

// votersOf returns the number of voters of each shard, and whether a host votes in all of them.
func votersOf(c *servertest.Cluster, shards uint64, id shard.HostID) (counts []int, all bool) {
	all = true
	for s := range shards + 1 {
		n, own := 0, false
		for _, m := range c.Replicas(s) {
			if m.Voter {
				n++
				own = own || m.Host == id
			}
		}
		counts, all = append(counts, n), all && own
	}
	return counts, all
}

// TestADeadVoterIsReplacedByALearner: three of four hosts vote, and the fourth has learners, added while it ran. When a
// voter is dead for the policy's timeout, the learners get its votes.
func TestADeadVoterIsReplacedByALearner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t, servertest.Hosts(4))
		if err := c.Policy(func(p *host.Policy) { p.ReplaceAfter = 30 * time.Second }); err != nil {
			t.Fatal(err)
		}
		three := func() bool {
			counts, _ := votersOf(c, 1, 0)
			return counts[0] == 3 && counts[1] == 3
		}
		eventually(t, time.Minute, "three vote", three)
		eventually(t, time.Minute, "all hosts have all shards", func() bool {
			for id := shard.HostID(1); id <= 4; id++ {
				if h := recordOf(c, id); c.Host(id).Ready() != nil || !h.Online() {
					return false
				}
			}
			return len(c.Records().Shard(1).Replicas) == 4 && len(c.Records().Shard(0).Replicas) == 4
		})
		dead := shard.HostID(0)
		for id := shard.HostID(1); id <= 4; id++ {
			if _, votes := votersOf(c, 1, id); votes && c.Leader(0) != id && c.Leader(1) != id {
				dead = id
			}
		}
		if dead == 0 {
			t.Skip("no host votes in both shards and leads neither")
		}
		time.Sleep(time.Minute) // the learners are stable
		c.Stop(dead)
		died := time.Now()
		eventually(t, 2*time.Minute, "the dead host votes no more", func() bool {
			_, votes := votersOf(c, 1, dead)
			return !votes && three()
		})
		if took := time.Since(died); took < 30*time.Second {
			t.Errorf("it was replaced after %v", took)
		}
	})
}
