//go:build linux

package survival_test

import (
	"testing"
	"time"

	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/server/servertest/process"
)

// TestShardsOnAPartOfTheHosts: six data shards on three of five hosts each, under load. A host that is killed loses no
// session, and its places go to others; a host is drained of all that it has, and the locks go on.
func TestShardsOnAPartOfTheHosts(t *testing.T) {
	const shards, replicas = 6, 3
	found, err := process.Growing(program, t.TempDir(), []string{"a", "b", "c", "d", "e"}, "--shards", "6")
	if err != nil {
		t.Fatal(err)
	}
	var places []*place
	var list []string
	for _, p := range found {
		places = append(places, &place{p})
		list = append(list, p.Client)
	}
	hosts := []*host{places[0].begin(t)}
	c := newCounter(t, places)
	operator := admin.Of(c.box)
	policy := func(p *admin.Policy) {
		p.Replicas, p.Copies = replicas, 4
		p.OfflineAfter, p.ReplaceAfter, p.StableFor = 2*time.Second, 10*time.Second, time.Second
	}
	if _, err := operator.SetPolicy(t.Context(), policy, admin.By{}); err != nil {
		t.Fatal(err)
	}
	for _, p := range places[1:] {
		hosts = append(hosts, p.serve(t))
	}
	for _, h := range hosts {
		h.awaitReady()
	}
	newNode(t, hosts, "/spread", protocol.NodeConfig{SelfCheckPeriodMillis: 500, SessionGracePeriodMillis: 3000})
	// on counts the replicas of data shards by host, and says whether each shard has as many voters as it is to have.
	on := func() (count map[string]int, whole bool) {
		cluster, err := operator.Describe(t.Context())
		if err != nil {
			return nil, false
		}
		count, whole = make(map[string]int), true
		for _, s := range cluster.Shards {
			if s.ID == 0 {
				continue
			}
			voters := 0
			for _, r := range s.Replicas {
				switch r.Role {
				case kind.Voter:
					voters++
				case kind.Removed:
					continue
				}
				count[cluster.Host(r.Host).Name]++
			}
			whole = whole && voters == replicas
		}
		return count, whole
	}
	hosts[0].await("each shard has three replicas, and no host more than its part", func() bool {
		count, whole := on()
		for _, n := range count {
			whole = whole && n <= (shards*replicas+len(hosts)-1)/len(hosts)
		}
		return whole
	})
	held := c.hold("/spread", "held")
	l := newLoadAt(t, list, "/spread", sessions, 8, 2)
	l.progress(20)

	killed := time.Now()
	hosts[4].Kill()
	l.progress(20)
	t.Logf("one of five killed: %v", l.record.longestPause(killed))
	hosts[0].await("the places of e are taken by others", func() bool {
		count, whole := on()
		return whole && count["e"] == 0
	})
	hosts[4] = places[4].serve(t)
	hosts[4].awaitReady()
	held()

	if _, err := operator.Drain(t.Context(), "d", admin.By{}); err != nil {
		t.Fatal(err)
	}
	hosts[0].await("d has nothing", func() bool {
		count, whole := on()
		return whole && count["d"] == 0
	})
	l.progress(20)
	held()
	l.check()
	l.record.checkNoSessionEnded()
}
