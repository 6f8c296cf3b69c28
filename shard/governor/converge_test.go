package governor

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/plan"
)

// converge ends all faults and checks that the governor comes to rest in the intended state, within a limited number of
// steps. It returns false if a shard has permanently lost its majority, because no governor can repair the shard.
func (s *simulation) converge() bool {
	s.quiet()
	for id, e := range s.engines {
		if e.leader == 0 && s.records.Shard(id).Phase != hosts.ShardAdded {
			return false
		}
	}
	end := s.now + 3600_000
	bound := s.begun + 16 + 6*len(s.machines)*len(s.engines)
	if s.moves != nil {
		bound += 4 * len(movedSlots)
	}
	if s.capacity != nil {
		bound += 1000
		end -= 1800_000
	}
	s.untilRest(bound, end)
	if s.capacity != nil {
		s.removeSome()
		s.untilRest(bound, end)
	}
	s.inOrder()
	return true
}

// untilRest runs the governor until it has nothing to do.
func (s *simulation) untilRest(bound int, end uint64) {
	for still := 0; still < 8; {
		s.must(s.begun <= bound, "it goes on and on: %d steps", s.begun)
		s.must(s.now < end, "it does not come to rest")
		if still++; !s.rest() || s.offers() {
			still = 0
		}
	}
}

// quiet ends all faults: machines run unless wiped or stopped, and nothing is lost or late.
func (s *simulation) quiet() {
	s.calm = true
	s.commands, s.changes, s.running = nil, nil, nil
	s.prompt = true
	if s.capacity != nil {
		s.records.SetRebalance(s.at(), protocol.RebalanceResume)
	}
	clear(s.slow)
	for _, m := range s.machines {
		h := s.records.Host(m.id)
		if m.stopping != 0 {
			m.up, m.stopping = false, 0 // it has stopped
		}
		if m.id != 0 && !m.wiped && h != nil && h.Living() {
			s.start(m)
		}
	}
	if s.paced {
		s.steady = true
		keep := s.machines[s.IntN(len(s.machines))] // at most one machine stays sluggish
		for _, m := range s.machines {
			m.sluggish = m.sluggish && m == keep
		}
	}
	for range 30 {
		s.pass(1000)
	}
}

// rest runs one more round, and reports whether nothing is left to do, now or later.
func (s *simulation) rest() bool {
	x := s.leader()
	s.must(x != nil, "the meta shard has lost its leader")
	s.see(x)
	d := s.planner.Next(*x.view)
	if d.Step == nil && len(s.plan.Steps()) == 0 && d.Wake == 0 && s.mark(*x.view) == nil {
		for _, id := range s.shards() {
			if e := s.engines[id]; e.change != s.records.Shard(id).Change {
				s.execute(x)
				s.flush()
				return false
			}
		}
		s.pass(2000)
		return true
	}
	s.execute(x)
	s.flush()
	for _, step := range slices.Clone(s.plan.Steps()) {
		x = s.leader()
		if x == nil {
			s.pass(100)
			return false
		}
		s.see(x)
		s.work(x, &step)
		s.flush()
	}
	if s.capacity != nil && d.Step == nil && len(s.plan.Steps()) == 0 {
		s.pass(5000) // slots stay for ten minutes
	}
	s.pass(500)
	return false
}

func (s *simulation) flush() {
	for len(s.commands) > 0 || len(s.changes) > 0 {
		if len(s.commands) > 0 {
			s.deliver()
		} else {
			s.arrive()
		}
	}
}

// inOrder compares the result with DESIGN.md, without the governor's code.
func (s *simulation) inOrder() {
	if s.moves != nil {
		s.oneOwner()
		s.movesAreOver()
	}
	if s.capacity != nil {
		s.shardsInOrder()
	}
	online, living := map[shard.HostID]bool{}, 0
	for _, h := range s.records.Hosts() {
		s.must(h.Reached() || s.needed(h), "host %d does not come to its target",
			h.ID)
		if !h.Living() {
			continue
		}
		living++
		s.must(h.Wanted() == (s.up(h.ID) && h.Target.Reason != hosts.ReasonDrained &&
			h.Target.Reason != hosts.ReasonShutdown) ||
			h.Target.Reason == hosts.ReasonJoined, "host %d is to be %s, and runs %t", h.ID, h.Target.Variant,
			s.up(h.ID))
		if h.Online() {
			online[h.ID] = true
		}
	}
	for _, id := range s.shards() {
		if id != hosts.Meta && s.records.Policy().Replicas != 0 {
			s.placed(id, online, living)
		} else {
			s.wellPlaced(id, online, living)
		}
	}
	s.even(online)
	s.wellSpread(online)
	s.paceInOrder(online)
}

// needed reports whether a drained host cannot leave: a shard would lose its majority, or no other host can take a
// replica.
func (s *simulation) needed(h *hosts.Host) bool {
	for id, e := range s.engines {
		if h.Target.Reason == hosts.ReasonDrained && s.spread(id) && e.on(h.ID) && len(s.takers(e)) == 0 {
			return true
		}
		others, voters := 0, e.voters()
		for id := range voters {
			if id != h.ID && s.up(id) {
				others++
			}
		}
		if h.Target.Reason == hosts.ReasonDrained && voters[h.ID] && 2*others <= len(voters) {
			return true
		}
	}
	return false
}

// wellPlaced checks the members of one shard.
func (s *simulation) wellPlaced(id hosts.ShardID, online map[shard.HostID]bool, living int) {
	e := s.engines[id]
	policy := s.records.Policy()
	inTier := 0
	for _, h := range s.records.Hosts() {
		if h.Living() && id == hosts.Meta && policy.Tier != "" && strings.Contains(h.Domain.String(), policy.Tier) {
			inTier++
		}
	}
	votes := func(id shard.HostID) bool {
		return inTier == 0 || strings.Contains(s.records.Host(id).Domain.String(), policy.Tier)
	}
	wanted := hosts.WantedVoters(policy.Voters, cmp.Or(inTier, living))
	voters, able := e.voters(), 0
	on := map[shard.HostID]hosts.Role{}
	for _, m := range e.members {
		h := s.records.Host(m.host)
		s.must(h != nil && h.Living(), "shard %d has a replica on host %d", id, m.host)
		s.must(on[m.host] == 0, "shard %d has two replicas on host %d", id, m.host)
		on[m.host] = m.role
	}
	for h := range online {
		cordoned := s.records.Host(h).Cordoned
		s.must(cordoned || on[h] != 0, "shard %d has no replica on host %d", id, h)
		if !cordoned && on[h] == hosts.RoleLearner && votes(h) {
			able++
		}
	}
	dead := 0
	for h := range voters {
		if !online[h] {
			dead++
		}
	}
	s.must(able == 0 || dead == 0 || !s.away(voters, online), "shard %d keeps dead voters, and %d could vote", id, able)
	few := len(voters) < wanted && (len(voters)%2 == 0 && able > 0 || len(voters)+able >= wanted)
	s.must(!few, "shard %d has %d voters of %d, and %d could vote", id, len(voters), wanted, able)
	s.must(len(voters) <= wanted || wanted == 1 && len(voters) == 2 && living > 1, "shard %d has %d voters of %d", id,
		len(voters), wanted)
	for _, p := range s.records.Shard(id).Replicas {
		s.must(p.Role != hosts.RoleRemoved || !online[p.Host], "replica %d of shard %d is not deleted", p.ID, id)
	}
	outside := slices.ContainsFunc(slices.Collect(maps.Keys(voters)), func(h shard.HostID) bool { return !votes(h) })
	s.must(!outside || able == 0 || dead > 0 || len(voters) != wanted, "shard %d has voters outside of its tier", id)
	if len(voters) == wanted && dead == 0 && inTier == 0 {
		s.farApart(id, voters, online, on)
	}
}

// away reports whether a voter is down, or drained: other hosts must vote.
func (s *simulation) away(voters, online map[shard.HostID]bool) bool {
	for h := range voters {
		if !online[h] && s.records.Policy().ReplaceAfter != 0 {
			return true
		}
	}
	return false
}

// farApart checks that replacing one voter by another host does not spread the voters over more domains.
func (s *simulation) farApart(id hosts.ShardID, voters, online map[shard.HostID]bool, on map[shard.HostID]hosts.Role) {
	sum := func(list map[shard.HostID]bool) int {
		n := 0
		for a := range list {
			for b := range list {
				n += s.records.Host(a).Domain.Distance(s.records.Host(b).Domain)
			}
		}
		return n
	}
	for v := range voters {
		if s.records.Host(v).Cordoned {
			return // that host goes first, whatever the distance
		}
	}
	for h := range online {
		if voters[h] || on[h] != hosts.RoleLearner || s.records.Host(h).Cordoned {
			continue
		}
		for v := range voters {
			other := maps.Clone(voters)
			delete(other, v)
			other[h] = true
			s.must(sum(other) <= sum(voters), "shard %d: host %d in the place of %d brings voters farther apart", id, h,
				v)
		}
	}
}

// wellSpread checks that no data shard could be led by a host with at least two fewer leaderships.
func (s *simulation) wellSpread(online map[shard.HostID]bool) {
	counts := map[shard.HostID]int{}
	for _, e := range s.engines {
		counts[e.leader]++
	}
	for _, id := range s.shards()[1:] {
		e := s.engines[id]
		leader := s.records.Host(e.leader)
		if leader == nil || leader.Cordoned || !online[e.leader] || leader.IsSlow() {
			continue
		}
		for h := range e.voters() {
			s.must(!online[h] || s.records.Host(h).Cordoned || s.records.Host(h).IsSlow() ||
				counts[e.leader]-counts[h] < 2,
				"host %d leads %d shards and host %d leads %d", e.leader, counts[e.leader], h, counts[h])
		}
	}
}

// run runs one seed, and returns violations.
func run(seed uint64, make func(seed uint64) *simulation, spoil func(s *simulation), tally map[string]int) (
	broken string,
) {
	s := make(seed)
	if spoil != nil {
		spoil(s)
	}
	defer func() {
		switch v := recover().(type) {
		case nil:
		case violation:
			broken = string(v)
		default:
			panic(v)
		}
	}()
	for range 700 {
		s.turn()
	}
	if !s.converge() {
		s.tally["lost"]++
	}
	s.tally["states"] += s.states
	s.tally["steps"] += s.begun
	for what, n := range s.tally {
		tally[what] += n
	}
	return ""
}

// TestPlansEndAndKeepTheQuorum: machines die, stop, return, are wiped, drained, expelled, replaced, and join; the
// executor dies between any two actions; commands and changes are late, lost, and duplicated. No change leaves fewer
// live voters than a majority needs, and without faults the governor comes to rest in the intended state.
func TestPlansEndAndKeepTheQuorum(t *testing.T) {
	tally := map[string]int{}
	count := *seeds
	if testing.Short() {
		count = min(count, 40)
	}
	for seed := range count {
		if broken := run(*from+seed, newSimulation, nil, tally); broken != "" {
			t.Fatalf("seed %d: %s", *from+seed, broken)
		}
	}
	t.Log(tally)
	for _, what := range []string{"add-replica", "promote-replica", "remove-replica", "transfer", "late change",
		"began delete-replica-data", "began mark-failed", "began set-state", plan.OtherTerm.String(),
		plan.Replanned.String(), "dropped", "wiped"} {
		if tally[what] < int(count)/8 {
			t.Errorf("%q came about %d times in %d seeds: they show too little of it", what, tally[what], count)
		}
	}
	if tally["lost"] > int(count)/10 {
		t.Errorf("%d of %d worlds have lost a majority: they show nothing", tally["lost"], count)
	}
}
