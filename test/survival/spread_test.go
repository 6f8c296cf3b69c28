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

// spread is a cluster with three replicas per data shard.
type spread struct {
	t        *testing.T
	places   []*place
	hosts    []*host
	counter  *counter
	operator *admin.Admin
}

// newSpread starts hosts with the given names and three replicas per data shard. more may change the policy.
func newSpread(t *testing.T, dir string, names []string, more func(*admin.Policy), flags ...string) *spread {
	t.Helper()
	found, err := process.Growing(program, dir, names, flags...)
	if err != nil {
		t.Fatal(err)
	}
	s := &spread{t: t}
	for _, p := range found {
		s.places = append(s.places, &place{p})
	}
	s.hosts = []*host{s.places[0].begin(t)}
	s.counter = newCounter(t, s.places)
	s.operator = admin.New(s.counter.box)
	policy := func(p *admin.Policy) {
		p.Replicas, p.Copies, p.StableFor = 3, 4, time.Second
		more(p)
	}
	if _, err := s.operator.SetPolicy(t.Context(), policy, admin.ChangeInfo{}); err != nil {
		t.Fatal(err)
	}
	for _, p := range s.places[1:] {
		s.hosts = append(s.hosts, p.serve(t))
	}
	for _, h := range s.hosts {
		h.awaitReady()
	}
	return s
}

// addresses are the addresses of all hosts, including stopped ones.
func (s *spread) addresses() (list []string) {
	for _, p := range s.places {
		list = append(list, p.Client)
	}
	return list
}

// counts returns data shard replicas and leaders per host, and whether each shard has all voters.
func (s *spread) counts() (replicas, leaders map[string]int, whole bool) {
	c, err := s.operator.Describe(s.t.Context())
	if err != nil {
		return nil, nil, false
	}
	replicas, leaders, whole = make(map[string]int), make(map[string]int), true
	for _, on := range c.Shards {
		if on.ID == 0 {
			continue
		}
		voters := 0
		for _, r := range on.Replicas {
			switch r.Role {
			case kind.Voter:
				voters++
			case kind.Removed:
				continue
			}
			replicas[c.Host(r.Host).Name]++
			if r.Host == on.Leader {
				leaders[c.Host(r.Host).Name]++
			}
		}
		whole = whole && voters == 3
	}
	return replicas, leaders, whole
}

// even reports whether each shard has all voters, and no host has more than its share plus a few.
func (s *spread) even(shards, more int) bool {
	replicas, _, whole := s.counts()
	for _, n := range replicas {
		whole = whole && n <= (3*shards+len(s.hosts)-1)/len(s.hosts)+more
	}
	return whole
}

// TestShardsOnAPartOfTheHosts: Six data shards on three of five hosts each, under load. A killed host loses no session,
// and its replicas move to other hosts; a host is drained completely, and the locks keep working.
func TestShardsOnAPartOfTheHosts(t *testing.T) {
	const shards = 6
	s := newSpread(t, t.TempDir(), []string{"a", "b", "c", "d", "e"}, func(p *admin.Policy) {
		p.OfflineAfter, p.ReplaceAfter = 2*time.Second, 10*time.Second
	}, "--shards", "6")
	places, hosts, c, operator := s.places, s.hosts, s.counter, s.operator
	newNode(t, hosts, "/spread", protocol.NodeConfig{SelfCheckPeriodMillis: 500, SessionGracePeriodMillis: 3000})
	hosts[0].await("each shard has three replicas, and no host more than its part", func() bool {
		return s.even(shards, 0)
	})
	held := c.hold("/spread", "held")
	l := newLoadAt(t, s.addresses(), "/spread", sessions, 8, 2)
	l.progress(20)

	killed := time.Now()
	hosts[4].Kill()
	l.progress(20)
	t.Logf("one of five killed: %v", l.record.longestPause(killed))
	hosts[0].await("the places of e are taken by others", func() bool {
		count, _, whole := s.counts()
		return whole && count["e"] == 0
	})
	hosts[4] = places[4].serve(t)
	hosts[4].awaitReady()
	held()

	if _, err := operator.Drain(t.Context(), "d", admin.ChangeInfo{}); err != nil {
		t.Fatal(err)
	}
	hosts[0].await("d has nothing", func() bool {
		count, _, whole := s.counts()
		return whole && count["d"] == 0
	})
	l.progress(20)
	held()
	l.check()
	l.record.checkNoSessionEnded()
}
