package governor

import (
	"maps"
	"slices"
	"testing"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// newPart is a world with data shard replicas on a subset of the hosts, from the start or later.
func newPart(seed uint64) *simulation {
	w := emptyWorld(seed, 1, 2, 3, 4, 5, 6)
	spread := w.IntN(2) == 0
	w.bootstrap([]int{3, 4, 5}[w.IntN(3)], spread)
	s := &simulation{world: w, planner: Planner(), part: true, mark: NextSlowMark}
	s.enter(w.IntN(5))
	if w.IntN(3) > 0 {
		s.ask([]int{1, 3, 3, 5}[w.IntN(4)])
	}
	return s
}

// newWeighed is newPart with weights.
func newWeighed(seed uint64) *simulation {
	s := newPart(seed)
	s.weigh()
	return s
}

// weigh gives hosts weights, and the meta shard a tier if the hosts have labels.
func (s *simulation) weigh() {
	for _, m := range s.machines {
		s.records.Weigh(s.at(), m.name, []uint64{0, 50, 100, 200, 300}[s.IntN(5)])
	}
	if d := s.machines[0].domain; len(d) > 0 && s.IntN(2) == 0 {
		from := s.records.Policy()
		to := from
		to.Tier = d[0].String()
		s.records.SetPolicy(s.at(), from, to)
	}
}

// enter starts joining machines.
func (s *simulation) enter(count int) {
	for range count {
		m := s.machine(true)
		m.up, m.boot = true, 1
	}
}

// ask sets a policy with the given replica count per data shard.
func (s *simulation) ask(replicas int) {
	from := s.records.Policy()
	to := from
	to.Replicas = replicas
	s.records.SetPolicy(s.at(), from, to)
}

func (s *simulation) spread(id hosts.ShardID) bool {
	return s.records.Policy().Replicas != 0 && id != hosts.Meta
}

func (e *engine) on(host shard.HostID) bool {
	for _, m := range e.members {
		if m.host == host {
			return true
		}
	}
	return false
}

// takers are the hosts that could take a shard's replica, and have none.
func (s *simulation) takers(e *engine) (list []*hosts.Host) {
	for _, h := range s.records.Hosts() {
		if h.Online() && s.up(h.ID) && !h.Cordoned && h.Weight() > 0 && !e.on(h.ID) {
			list = append(list, h)
		}
	}
	return list
}

// placed checks a data shard's members on a subset of the hosts.
func (s *simulation) placed(id hosts.ShardID, online map[shard.HostID]bool, living int) {
	e, policy := s.engines[id], s.records.Policy()
	wanted := hosts.WantedVoters(policy.Replicas, living)
	voters, dead := e.voters(), 0
	s.must(len(e.members) == len(voters) || len(e.members) < wanted, "shard %d has learners: %v", id, e.list())
	on := map[shard.HostID]bool{}
	for _, m := range e.members {
		h := s.records.Host(m.host)
		s.must(h != nil && h.Living(), "shard %d has a replica on host %d", id, m.host)
		s.must(!on[m.host], "shard %d has two replicas on host %d", id, m.host)
		s.must(!h.Reached() || h.Target.Reason != hosts.ReasonDrained || !s.up(h.ID),
			"host %d is drained and has a replica of shard %d", h.ID, id)
		if on[m.host] = true; !online[m.host] {
			dead++
		}
	}
	free := len(s.takers(e))
	for h := range on {
		s.must(s.records.Host(h).Weight() > 0 || free == 0 || !online[h] || len(voters) < wanted,
			"host %d of the weight 0 has a replica of shard %d", h, id)
	}
	s.must(len(voters) >= wanted || free == 0, "shard %d has %d voters of %d, and %d hosts have none", id, len(voters),
		wanted, free)
	s.must(len(voters) <= wanted || wanted == 1 && len(voters) == 2 && living > 1 && policy.Replicas != 1,
		"shard %d has %d voters of %d", id, len(voters), wanted)
	s.must(dead == 0 || free == 0 || policy.ReplaceAfter == 0, "shard %d keeps dead voters, and %d hosts have none", id,
		free)
	for _, p := range s.records.Shard(id).Replicas {
		s.must(p.Role != hosts.RoleRemoved || !online[p.Host], "replica %d of shard %d is not deleted", p.ID, id)
	}
}

// even checks that no single replica move spreads a data shard's voters over more domains, or balances two hosts,
// relative to their weights, by more than a tenth of the fuller host's load.
func (s *simulation) even(online map[shard.HostID]bool) {
	load := map[shard.HostID]int{}
	for _, id := range s.shards()[1:] {
		for _, m := range s.engines[id].members {
			load[m.host]++
		}
	}
	for _, id := range s.shards()[1:] {
		e := s.engines[id]
		voters := e.voters()
		if !s.spread(id) || len(voters) != hosts.WantedVoters(s.records.Policy().Replicas, s.belong()) ||
			slices.ContainsFunc(slices.Collect(maps.Keys(voters)), func(h shard.HostID) bool {
				return !online[h] || s.records.Host(h).Cordoned || s.records.Host(h).Weight() == 0
			}) {
			continue
		}
		now := s.sum(voters)
		for _, h := range s.takers(e) {
			for v := range voters {
				other := maps.Clone(voters)
				delete(other, v)
				other[h.ID] = true
				then := s.sum(other)
				s.must(then <= now, "shard %d: host %d in the place of %d brings voters farther apart", id, h.ID, v)
				with := func(n int, id shard.HostID) float64 {
					return float64(n) / float64(s.records.Host(id).Weight())
				}
				most, least := with(load[v], v), with(load[h.ID], h.ID)
				tooFull := with(load[h.ID]+1, h.ID) < 0.999*most && most-least > 0.101*most
				s.must(then < now || !tooFull, "shard %d: host %d has %d replicas and host %d has %d", id, v, load[v],
					h.ID, load[h.ID])
			}
		}
	}
}

func (s *simulation) belong() (n int) {
	for _, h := range s.records.Hosts() {
		if h.Living() {
			n++
		}
	}
	return n
}

// sum is how far apart hosts are.
func (s *simulation) sum(list map[shard.HostID]bool) (n int) {
	for a := range list {
		for b := range list {
			n += s.records.Host(a).Domain.Distance(s.records.Host(b).Domain)
		}
	}
	return n
}

// TestPlacesComeToRest is TestPlansEndAndKeepTheQuorum for data shards on a subset of the hosts.
func TestPlacesComeToRest(t *testing.T) {
	tally := map[string]int{}
	count := *seeds / 5
	if testing.Short() {
		count = min(count, 10)
	}
	for seed := range count {
		if broken := run(*from+seed, newPart, nil, tally); broken != "" {
			t.Fatalf("seed %d: %s", *from+seed, broken)
		}
	}
	for seed := range count / 2 {
		if broken := run(*from+seed, newWeighed, nil, tally); broken != "" {
			t.Fatalf("seed %d with weights: %s", *from+seed, broken)
		}
	}
	t.Log(tally)
	if tally["lost"] > int(count)/10 {
		t.Errorf("%d of %d worlds have lost a majority: they show nothing", tally["lost"], count)
	}
}
