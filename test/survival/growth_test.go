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

// growthShards is the number of shards of a growing cluster, including the meta shard.
const growthShards = 3

// growingPlaces allocates places for the hosts of a growing cluster.
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

// begin creates a single-host cluster, and starts its host.
func (p *place) begin(t *testing.T) *host {
	t.Helper()
	if err := p.Init(); err != nil {
		t.Fatal(err)
	}
	first := p.serve(t)
	first.awaitReady()
	return first
}

// growing allocates places for the hosts of a growing cluster, and starts the first host.
func growing(t *testing.T, names ...string) (places []*place, first *host) {
	t.Helper()
	places = growingPlaces(t, names...)
	first = places[0].begin(t)
	newNode(t, []*host{first}, "/growing", protocol.NodeConfig{SelfCheckPeriodMillis: 500,
		SessionGracePeriodMillis: 3000})
	return places, first
}

// promoted matches the meta leader's log line for a promoted replica.
var promoted = regexp.MustCompile(`replica (\d+) of shard (\d+): voter`)

// awaitVotes waits until so many replicas have got votes.
func awaitVotes(hosts []*host, n int) {
	hosts[0].t.Helper()
	hosts[0].await(fmt.Sprintf("%d replicas get votes", n), func() bool { return promotions(hosts) >= n })
}

// promotions is the number of replicas promoted since there was a single host, according to the hosts' logs.
func promotions(hosts []*host) int {
	found := make(map[string]bool)
	for _, h := range hosts {
		for _, line := range promoted.FindAllString(h.Errors(), -1) {
			found[line] = true
		}
	}
	return len(found)
}

// hold acquires a lock for the rest of the test, and returns a check that the lock was kept.
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

// TestAClusterGrowsUnderLoad: from one host to three, then to five. Then the first hosts are killed, and the joined
// hosts form a majority.
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

// TestAJoinerThatIsKilledGoesOn: a joining host is killed with kill -9 after each join phase, and at a random time.
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
		{"it asks", func(h *host) bool { return belongs(h) || strings.Contains(h.Errors(), "joining a cluster") }},
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
			time.Sleep(rand.N(20 * time.Millisecond)) // the next phase may have begun
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

// TestTheHostThatGovernsIsKilledWhileAnotherJoins: the governor is killed each time the fourth host has got one more
// replica. The next governor continues, and adds no replica twice.
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

// replicasOf counts the shards with a replica on a host.
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
