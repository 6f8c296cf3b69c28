package governor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/signalbox/signalbox/protocol/field"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/hosts"
)

// ruleGovernor transfers the meta shard, and with it the governor, to a new host if the governor's own host does not
// belong to the cluster. If that host is drained or stopping, ruleLeaving transfers the meta shard, after everything
// else.
func ruleGovernor(v View) (f finding) {
	h := v.State.Host(v.Seen.Self)
	g := newGroup(v, v.State.Shard(hosts.Meta))
	if h != nil && h.Living() || g.seen.Leader != v.Seen.Self {
		return f
	}
	if m := g.voter(v.Seen.Self); m != nil {
		f.handOver(g, m)
	}
	return f
}

// ruleWish transfers leaderships an operator has asked to move.
func ruleWish(v View) (f finding) {
	for _, g := range groups(v) {
		to := g.shard.Wish
		if to == 0 || v.Now >= g.shard.WishUntil || g.seen.Leader == to || g.seen.Leader == 0 {
			continue
		}
		if m := g.voter(to); m == nil || !g.ready(m) || m.host.IsSlow() {
			r := g.reason(CodeNoSuccessor, nameOf(v.State, to)+" cannot lead it now, as was asked for")
			r.Until = g.shard.WishUntil
			f.because(r)
			continue
		}
		f.propose(v, KindTransfer, Action{Shard: g.shard.ID, From: g.seen.Leader, Host: to})
	}
	return f
}

// ruleLeaders spreads the data shard leaders evenly over the hosts that may receive leadership, one transfer at a time.
// The meta shard's leader counts, and stays.
func ruleLeaders(v View) (f finding) {
	policy := v.State.Policy()
	if policy.BalanceEvery == 0 {
		return f
	}
	for _, h := range v.State.Hosts() {
		if h.IsSlow() && h.Online() {
			f.slowReason(v, h)
		}
	}
	all := groups(v)
	counts, order := leaderCounts(all)
	for _, g := range all {
		from, leads := counts[g.seen.Leader]
		to := g.fewest(counts, order)
		if g.shard.ID == hosts.Meta || !leads || to == nil || from-counts[to.Host] < 2 || g.unusable() != nil {
			continue
		}
		if wait := g.rest(field.MillisOf(policy.BalanceEvery)); wait > 0 {
			r := g.reason(CodeRest,
				fmt.Sprintf("%s leads %d shards and %s leads %d; the leadership of this one rests",
					nameOf(v.State, g.seen.Leader), from, to.name(), counts[to.Host]))
			r.Until = v.Now + wait
			f.because(r)
			continue
		}
		pr := proposal(KindTransfer, Action{Shard: g.shard.ID, From: g.seen.Leader, Host: to.Host})
		pr.With = append(pr.With, leadersSubject)
		f.add(v, pr)
	}
	return f
}

// leaderCounts returns the hosts that may receive leadership somewhere, with the number of shards they lead, sorted by
// that number and the id.
func leaderCounts(all []*group) (counts map[shard.HostID]int, order []shard.HostID) {
	counts = make(map[shard.HostID]int)
	for _, g := range all {
		for _, m := range g.voters {
			if g.mayLead(m) {
				counts[m.Host] += 0
			}
		}
	}
	for _, g := range all {
		if _, may := counts[g.seen.Leader]; may {
			counts[g.seen.Leader]++
		}
	}
	order = slices.SortedFunc(maps.Keys(counts), func(a, b shard.HostID) int {
		return cmp.Or(counts[a]-counts[b], cmp.Compare(a, b))
	})
	return counts, order
}

// fewest returns the voter that may receive the group's leadership and leads the fewest shards.
func (g *group) fewest(counts map[shard.HostID]int, order []shard.HostID) *member {
	for _, id := range order {
		if m := g.voter(id); m != nil && g.mayLead(m) {
			return m
		}
	}
	return nil
}

// rest returns how many milliseconds must pass before load spreading may transfer the group's leadership.
func (g *group) rest(every uint64) uint64 {
	var wait uint64
	if t := g.shard.Transferred; t != 0 && !clock.Over(t, every, g.v.Now) {
		wait = t + every - g.v.Now
	}
	if g.seen.LedFor < restMillis {
		wait = max(wait, restMillis-g.seen.LedFor)
	}
	return wait
}
