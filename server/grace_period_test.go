package server_test

import (
	"bytes"
	"regexp"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
)

var changingNodes = regexp.MustCompile(`(?m)^signalbox_nodes_updating_config (\d+)$`)

// changing returns the host's number of nodes with unconfirmed timing.
func changing(t *testing.T, c *servertest.Cluster, id shard.HostID) int {
	t.Helper()
	var out bytes.Buffer
	c.Host(id).WriteMetrics(&out)
	found := changingNodes.FindSubmatch(out.Bytes())
	if found == nil {
		t.Fatal("the metric is missing")
	}
	n, _ := strconv.Atoi(string(found[1]))
	return n
}

// settles waits until a host shows no pending timing changes, and reports success.
func settles(t *testing.T, c *servertest.Cluster, id shard.HostID, limit time.Duration) bool {
	t.Helper()
	for until := time.Now().Add(limit); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		if changing(t, c, id) == 0 {
			time.Sleep(200 * time.Millisecond) // for the host's loop to use it
			return true
		}
	}
	return false
}

// graced is a node with a grace period, created and altered at the meta leader.
type graced struct {
	t *testing.T
	c *servertest.Cluster
}

func (g graced) create(grace time.Duration) {
	g.t.Helper()
	s := speak(g.t, g.c, g.c.Leader(0))
	s.must(s.ask(&protocol.NodeCreate{Path: []byte("/jobs"), Config: g.config(grace)}))
}

func (g graced) alter(grace time.Duration) {
	g.t.Helper()
	s := speak(g.t, g.c, g.c.Leader(0))
	s.must(s.ask(&protocol.NodeAlter{Path: []byte("/jobs"), Config: g.config(grace)}))
}

func (g graced) config(grace time.Duration) protocol.NodeConfig {
	return protocol.NodeConfig{SelfCheckPeriodMillis: 500, SessionGracePeriodMillis: uint64(grace.Milliseconds())}
}

// lockOutlives stops the data shard's leader while a session with a timeout of one second holds a lock, and returns how
// long the session kept its lock.
func (g graced) lockOutlives() time.Duration {
	t, c := g.t, g.c
	t.Helper()
	old := c.Leader(1)
	a := speak(t, c, old).session("/jobs", time.Second)
	a.acquire("lock", protocol.Exclusive, 0, true)
	c.Stop(old)
	died := time.Now()
	other := speak(t, c, leaderOtherThan(t, c, old))
	b := other.session("/jobs", 10*time.Second)
	id, _ := b.acquire("lock", protocol.Exclusive, -1, true)
	other.keepAlive(id, protocol.KindGranted, time.Minute)
	took := time.Since(died)
	b.release("lock")
	return took
}

func TestALoweredGraceHoldsOnceAllHostsHaveSeenIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t, servertest.Hosts(3))
		g := graced{t, c}
		g.create(25 * time.Second)
		g.alter(2 * time.Second)
		for id := shard.HostID(1); id <= 3; id++ {
			if !settles(t, c, id, 10*time.Second) {
				t.Fatalf("the change is not settled on host %d", id)
			}
		}
		if took := g.lockOutlives(); took < 3*time.Second || took > 7*time.Second {
			t.Fatalf("the lock went on after %v; timeout and grace are 3 s", took)
		}
	})
}

func TestAChangedGraceStaysWideWhileAHostIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t, servertest.Hosts(5))
		g := graced{t, c}
		g.create(24 * time.Second)
		g.alter(25 * time.Second) // reports for this change must not count for the next
		want(t, "settled", settles(t, c, c.Leader(0), 10*time.Second), true)
		down := shard.HostID(1)
		for down == c.Leader(0) || down == c.Leader(1) {
			down++
		}
		c.Stop(down)
		g.alter(2 * time.Second)
		if settles(t, c, c.Leader(0), 20*time.Second) {
			t.Fatal("the change is settled, and a host that is down may know nothing of it")
		}
		before := c.Leader(1)
		if took := g.lockOutlives(); took < 26*time.Second {
			t.Fatalf("the lock went on after %v; timeout and the longer grace are 26 s", took)
		}
		for _, id := range []shard.HostID{down, before} {
			if err := c.Restart(id); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.WaitReady(30 * time.Second); err != nil {
			t.Fatal(err)
		}
		// By now another host may lead the meta shard and continue its predecessor's work.
		next := c.Leader(0)%5 + 1
		if err := c.Elect(0, next); err != nil {
			t.Fatal(err)
		}
		for id := shard.HostID(1); id <= 5; id++ {
			if !settles(t, c, id, 20*time.Second) {
				t.Fatalf("all hosts are back, and the change is not settled on host %d", id)
			}
		}
		if took := g.lockOutlives(); took < 3*time.Second || took > 7*time.Second {
			t.Fatalf("the lock went on after %v; timeout and grace are 3 s", took)
		}
	})
}

func TestARaisedGraceIsReliedOnOnlyOnceAllHostsHaveSeenIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, all := range []bool{true, false} {
			c := servertest.Start(t, servertest.Hosts(5))
			g := graced{t, c}
			g.create(2 * time.Second)
			down := shard.HostID(1)
			for down == c.Leader(0) || down == c.Leader(1) {
				down++
			}
			if !all {
				c.Stop(down)
			}
			g.alter(9 * time.Second)
			want(t, "settled", settles(t, c, c.Leader(1), 10*time.Second), all)
			var old shard.HostID
			var s *speaker
			for ok := false; !ok; ok = c.Leader(1) == old { // the governor may still move the leadership
				old = c.Leader(1)
				s = speak(t, c, old)
				s.session("/jobs", 2*time.Second)
				time.Sleep(time.Second) // for a self-check by the current values
			}
			c.Isolate(old)
			cut, last := time.Now(), time.Duration(0)
			for time.Since(cut) < 12*time.Second {
				sent := time.Since(cut)
				if s.answered(s.say(&protocol.Ping{}), 100*time.Millisecond) {
					last = sent
				}
				time.Sleep(100 * time.Millisecond)
			}
			switch {
			case all && (last < 4*time.Second || last > 9*time.Second):
				t.Fatalf("the last pong was %v after the cut; the grace of all hosts is 9 s", last)
			case !all && last > 2*time.Second:
				t.Fatalf("the last pong was %v after the cut; a host that is down may go by a grace of 2 s", last)
			}
			c.Close()
		}
	})
}
