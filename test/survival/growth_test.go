//go:build linux

package survival_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/identity"
	"github.com/signalbox/signalbox/server/servertest/process"
)

// growthShards is how many shards a cluster has that grows, the meta shard among them.
const growthShards = 3

// growingPlaces finds places for hosts of a cluster that grows.
func growingPlaces(t *testing.T, names ...string) (places []*place) {
	t.Helper()
	found, err := process.Growing(program, t.TempDir(), names, "--shards", fmt.Sprint(growthShards-1))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range found {
		places = append(places, &place{p})
	}
	return places
}

// begin makes a cluster of one host, and starts it.
func (p *place) begin(t *testing.T) *host {
	t.Helper()
	if err := p.Init(); err != nil {
		t.Fatal(err)
	}
	first := p.serve(t)
	first.awaitReady()
	return first
}

// growing finds places for hosts of a cluster that grows, and starts the first of them.
func growing(t *testing.T, names ...string) (places []*place, first *host) {
	t.Helper()
	places = growingPlaces(t, names...)
	first = places[0].begin(t)
	newNode(t, []*host{first}, "/growing", protocol.NodeConfig{SelfCheckPeriodMillis: 500,
		SessionGracePeriodMillis: 3000})
	return places, first
}

// promoted is in the line that the leader of the meta shard logs for a replica which has got a vote.
var promoted = regexp.MustCompile(`replica (\d+) of shard (\d+): voter`)

// awaitVotes waits until so many replicas have got votes.
func awaitVotes(hosts []*host, n int) {
	hosts[0].t.Helper()
	hosts[0].await(fmt.Sprintf("%d replicas get votes", n), func() bool { return promotions(hosts) >= n })
}

// promotions is how many replicas have got votes since the first host was alone, by the logs of the hosts.
func promotions(hosts []*host) int {
	found := make(map[string]bool)
	for _, h := range hosts {
		for _, line := range promoted.FindAllString(h.Errors(), -1) {
			found[line] = true
		}
	}
	return len(found)
}

// hold takes a lock that is kept for as long as the test goes on, and returns what checks that it was.
func (c *counter) hold(path, name string) (check func()) {
	c.t.Helper()
	s, err := c.box.Session(c.t.Context(), path, sdk.SessionTimeout(sessions))
	if err != nil {
		c.t.Fatal(err)
	}
	lease, err := s.Ephemeral(name).Acquire(c.t.Context())
	if err != nil {
		c.t.Fatal(err)
	}
	return func() {
		c.t.Helper()
		d, err := c.box.Node(path).Describe(c.t.Context(), name, sdk.WithOwners(), sdk.WithConsistency(sdk.Strict))
		switch {
		case lease.Err() != nil:
			c.t.Errorf("the lock was lost: %v", lease.Err())
		case err != nil || len(d.Owners) != 1 || d.Owners[0].OrderID != lease.Fence():
			c.t.Errorf("the lock that is held under %d is shown as %+v, %v", lease.Fence(), d.Owners, err)
		}
	}
}

// TestAClusterGrowsUnderLoad: from one host to three, and to five. Then the first ones are killed: those that have
// joined are a majority.
func TestAClusterGrowsUnderLoad(t *testing.T) {
	places, first := growing(t, "a", "b", "c", "d", "e")
	hosts := []*host{first}
	var list []string
	for _, p := range places {
		list = append(list, p.Client)
	}
	held := newCounter(t, places).hold("/growing", "held")
	l := newLoadAt(t, list, "/growing", sessions, 4, 2)
	sizes := []int{3, 5}
	if testing.Short() {
		sizes = sizes[:1]
	}
	for _, size := range sizes {
		l.progress(10)
		began := time.Now()
		for _, p := range places[len(hosts):size] {
			hosts = append(hosts, p.serve(t))
		}
		for _, h := range hosts {
			h.awaitReady()
		}
		ready := time.Since(began)
		awaitVotes(hosts, growthShards*(size-1))
		l.progress(10)
		t.Logf("%d hosts: ready after %v, all vote after %v: %v", size, ready, time.Since(began),
			l.record.longestPause(began))
		held()
	}
	killed := time.Now()
	for _, h := range hosts[:len(hosts)/2] {
		h.Kill()
	}
	l.progress(10)
	t.Logf("%d of %d killed: %v", len(hosts)/2, len(hosts), l.record.longestPause(killed))
	held()
	l.check()
	l.record.checkNoSessionEnded()
}

// TestAJoinerThatIsKilledGoesOn: with kill -9 after each phase of its joining, and at any moment.
func TestAJoinerThatIsKilledGoesOn(t *testing.T) {
	places, a := growing(t, "a", "b")
	b := places[1]
	identified := func(is func(*identity.Identity) bool) func(*host) bool {
		return func(*host) bool {
			id, err := identity.Read(b.Dir)
			return err == nil && is(&id)
		}
	}
	belongs := identified((*identity.Identity).Bootstrapped)
	phases := []struct {
		name    string
		reached func(*host) bool
	}{
		{"it has an incarnation", identified(func(id *identity.Identity) bool { return id.Starts > 0 })},
		{"it asks", func(h *host) bool { return belongs(h) || strings.Contains(h.Errors(), "the host asks to join") }},
		{"it is of the cluster", belongs},
		{"its log is open", identified(func(id *identity.Identity) bool { return id.Started })},
		{"it has a replica", func(h *host) bool {
			status, err := h.Status()
			return err == nil && len(status.Shards) > 0
		}},
		{"it is ready", func(h *host) bool { code, _ := h.Get("/health/ready"); return code == 200 }},
	}
	rounds := 2
	if testing.Short() {
		rounds = 1
	}
	for range rounds {
		for _, phase := range phases {
			h := b.serve(t)
			h.await(phase.name, func() bool { return phase.reached(h) })
			time.Sleep(rand.N(20 * time.Millisecond)) // what it does next has begun, or has not
			h.Kill()
		}
	}
	hosts := []*host{a, b.serve(t)}
	hosts[1].awaitReady()
	awaitReplicas(hosts)
	if known := a.status().Cluster.Hosts; len(known) != 2 {
		t.Errorf("the cluster has the hosts %+v", known)
	}
}

// awaitReplicas waits until both hosts run all shards, with the same leaders.
func awaitReplicas(hosts []*host) {
	hosts[0].t.Helper()
	hosts[0].await("both hosts run all shards", func() bool {
		for _, h := range hosts {
			status, err := h.Status()
			if err != nil || len(status.Shards) != growthShards {
				return false
			}
			for _, s := range status.Shards {
				if s.Leader == 0 {
					return false
				}
			}
		}
		return true
	})
}

// TestTheHostThatGovernsIsKilledWhileAnotherJoins: each time the fourth host has got one more replica. The next one
// that governs goes on, and adds none twice.
func TestTheHostThatGovernsIsKilledWhileAnotherJoins(t *testing.T) {
	places, a := growing(t, "a", "b", "c", "d")
	hosts := []*host{a, places[1].serve(t), places[2].serve(t)}
	for _, h := range hosts {
		h.awaitReady()
	}
	awaitVotes(hosts, growthShards*(len(hosts)-1))
	c := newCounter(t, places)
	operator := admin.New(c.box)
	if _, err := operator.SetPolicy(t.Context(), func(p *admin.Policy) { p.Voters = 3 },
		admin.ChangeInfo{}); err != nil {
		t.Fatal(err)
	}
	hosts = append(hosts, places[3].serve(t))
	for n := range growthShards {
		var governor int
		a.await(fmt.Sprintf("%d shards have a replica there", n+1), func() bool {
			cluster, err := operator.Describe(t.Context())
			if err != nil || cluster.Governor == 0 || replicasOf(cluster, "d") <= n {
				return false
			}
			name := cluster.Host(cluster.Governor).Name
			governor = slices.IndexFunc(places, func(p *place) bool { return p.Name == name })
			return governor >= 0
		})
		hosts[governor].Kill()
		if hosts[governor] = places[governor].serve(t); governor == 0 {
			a = hosts[governor]
		}
		hosts[governor].awaitReady()
	}
	hosts[3].awaitReady()
	a.await("each shard has three that vote and one that learns", func() bool {
		cluster, err := operator.Describe(t.Context())
		if err != nil {
			return false
		}
		return !slices.ContainsFunc(cluster.Shards, func(s admin.Shard) bool {
			return len(s.Replicas) != len(places) || s.Voters != 3 || s.Live != 3
		})
	})
}

// replicasOf counts the shards of which a host has a replica.
func replicasOf(c *admin.Cluster, name string) (n int) {
	h := c.HostByName(name)
	for i := range c.Shards {
		if h != nil && slices.ContainsFunc(c.Shards[i].Replicas, func(r admin.Replica) bool {
			return r.Host == h.ID && r.Role == admin.Learner
		}) {
			n++
		}
	}
	return n
}
