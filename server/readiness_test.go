package server_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol/health"
	"github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

func TestAHostThatWasNotAskedForLongIsReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t, servertest.Hosts(3))
		time.Sleep(10 * time.Minute)
		for id := range shard.HostID(3) {
			if err := c.Host(id + 1).Ready(); err != nil {
				t.Errorf("host %d: %v", id+1, err)
			}
		}
		c.Pause(1)
		time.Sleep(time.Minute)
		if err := c.Host(1).Ready(); err == nil {
			t.Error("a host that hears nothing of the others is ready")
		}
		c.Resume(1)
	})
}

// TestALostShardLeavesTheOthersHostsReady: a shard without a majority must not make every host unready. A host
// partitioned from the rest is unready as before.
func TestALostShardLeavesTheOthersHostsReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := spread(t)
		on := hostsOf(c, 1)
		c.Crash(on[0], false)
		c.Crash(on[1], false)
		time.Sleep(time.Minute)
		away := 0
		for id := range shard.HostID(5) {
			h := c.Host(id + 1)
			if h == nil {
				continue
			}
			is := h.Readiness()
			if is.Lacks != nil {
				t.Errorf("host %d is not ready: %v", id+1, is.Lacks)
			}
			if is.Away != nil {
				away++
			}
		}
		if away == 0 {
			t.Error("no host says that it cannot serve the shard")
		}
		c.Isolate(on[2])
		time.Sleep(time.Minute)
		if err := c.Host(on[2]).Ready(); err == nil {
			t.Error("a host that hears nothing of the others is ready")
		}
	})
}

// TestARestartedHostIsReadyWithoutAShardThatItDoesNotHold: otherwise one shard without a majority would keep every
// restarted host unready.
func TestARestartedHostIsReadyWithoutAShardThatItDoesNotHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := spread(t)
		on := hostsOf(c, 1)
		restarted := shard.HostID(1)
		for slices.Contains(on, restarted) {
			restarted++
		}
		c.Crash(on[0], false)
		c.Crash(on[1], false)
		time.Sleep(time.Minute)
		for _, id := range []shard.HostID{on[2], restarted} { // so that neither knows the previous leader
			c.Crash(id, false)
			if err := c.Restart(id); err != nil {
				t.Fatal(err)
			}
		}
		eventually(t, time.Minute, "the host is ready", func() bool { return c.Host(restarted).Ready() == nil })
		if away := c.Host(restarted).Readiness().Away; away == nil {
			t.Error("the host does not say that the shard cannot be served")
		}
	})
}

// spread is a five-host cluster with each shard on three hosts.
func spread(t *testing.T) *servertest.Cluster {
	t.Helper()
	c := servertest.Start(t, servertest.Hosts(5), servertest.Shards(3))
	if err := c.Policy(func(p *host.Policy) { p.Replicas, p.StableFor = 3, time.Second }); err != nil {
		t.Fatal(err)
	}
	eventually(t, 10*time.Minute, "each shard is on three hosts", func() bool {
		return len(c.Replicas(1)) == 3 && len(c.Replicas(2)) == 3 && len(c.Replicas(3)) == 3
	})
	time.Sleep(time.Minute)
	return c
}

func hostsOf(c *servertest.Cluster, id uint64) (on []shard.HostID) {
	for _, r := range c.Replicas(id) {
		on = append(on, r.Host)
	}
	return on
}

// TestADrainedHostNeedNotBeReady: the host is reported as drained.
func TestADrainedHostNeedNotBeReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := spread(t)
		operate(t, c, &meta.HostDrain{Host: servertest.Name(5)})
		for i := range 60 {
			if i == 40 {
				c.Isolate(5)
			}
			time.Sleep(5 * time.Second)
			for _, x := range c.Host(5).HealthIssues() {
				if x.Kind == health.HostNotReady {
					t.Fatalf("it is said: %s", x.Text)
				}
			}
		}
	})
}

// TestAHostThatIsCutFromTheRecordsIsNotReady: the host serves its replicas, but does not know the hosts for other
// shards.
func TestAHostThatIsCutFromTheRecordsIsNotReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := spread(t)
		// A partition: one shard's hosts, with the meta shard's majority, and the remaining hosts.
		on := hostsOf(c, 1)
		for other := range shard.HostID(5) {
			if !slices.Contains(on, other+1) {
				for _, id := range on {
					c.Net().Cut(id, other+1)
					c.Net().Cut(other+1, id)
				}
			}
		}
		time.Sleep(time.Minute)
		for id := range shard.HostID(5) {
			if err := c.Host(id + 1).Ready(); (err == nil) != slices.Contains(on, id+1) {
				t.Errorf("host %d of the hosts %v with the majority: %v", id+1, on, err)
			}
		}
	})
}
