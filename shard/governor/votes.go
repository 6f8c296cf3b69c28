package governor

import (
	"fmt"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard/hosts"
)

// ruleLeaving transfers the votes and leaderships of hosts that are drained or stopping, and then brings the hosts to
// the target Offline.
func ruleLeaving(v View) (f finding) {
	all := groups(v)
	for _, h := range v.State.Hosts() {
		if h.Target.Variant != protocol.HostOffline {
			continue
		}
		if !f.leaveAll(v, all, h) && !h.Reached() {
			f.propose(v, KindReach, Action{Host: h.ID, Variant: protocol.HostOffline, Epoch: h.Target.Epoch})
		}
	}
	return f
}

// leaveAll moves all of a host's votes and leaderships to other hosts, and reports whether the host must stay up until
// the moves are done. The governor's own host gives up the meta shard last, because the next governor begins by asking
// all hosts for their state.
func (f *finding) leaveAll(v View, all []*group, h *hosts.Host) (pending bool) {
	if !v.Seen.live(h.ID) {
		return v.Seen.unheard(h.ID)
	}
	var last *group
	for _, g := range all {
		if g.shard.ID == hosts.Meta && g.seen.Leader == h.ID {
			last = g
			continue
		}
		pending = f.leave(g, h) || pending
	}
	return pending || last != nil && f.leave(last, h)
}

// leave moves a live host's vote and leadership in a group to other hosts, and reports whether the host must stay up
// until the move is done.
func (f *finding) leave(g *group, h *hosts.Host) (pending bool) {
	must := h.Target.Reason == hosts.ReasonDrained // a stopping host does not wait for the impossible
	m := g.voter(h.ID)
	if m == nil {
		p := g.shard.On(h.ID)
		return must && g.spread && p != nil && p.Member()
	}
	if g.unusable() != nil {
		return must || g.unheard() != nil
	}
	if m.leaving() && f.replace(g, m) {
		return true
	}
	if g.seen.Leader == h.ID && f.handOver(g, m) {
		return true
	}
	if live, all := g.liveVoters(m.ID), len(g.voters); must && live < hosts.Majority(all) {
		f.because(g.reason(CodeQuorum, fmt.Sprintf("without %s that would leave %d of %d voters", m.name(), live, all)))
		return true
	}
	return must && g.spread // the replica moves to another host first
}

// replace exchanges a live voter that is to be removed: a learner gets a vote, then the voter is removed. It reports
// whether the exchange is in progress. Without a learner that can vote, the voter stays.
func (f *finding) replace(g *group, m *member) bool {
	stay := 0
	for _, m := range g.voters {
		if m.stays() {
			stay++
		}
	}
	if stay < g.wanted {
		if spare := g.farthest(g.spares()); spare != nil {
			return f.promote(g, spare)
		}
	}
	if stay >= g.wanted || m.gone() {
		return f.remove(g, m)
	}
	f.keepsVote(g, m)
	return false
}

// keepsVote reports that no host can vote instead of an absent voter, and why.
func (f *finding) keepsVote(g *group, m *member) {
	r := g.reason(CodeNoSpare, m.name()+" keeps its vote while it is away, as no learner can have it", m)
	r.Since = m.host.Target.Since
	f.because(r)
	for _, m := range g.learners {
		f.because(g.waiting(m))
	}
}

// handOver proposes to transfer a group's leadership from a member to its successor.
func (f *finding) handOver(g *group, m *member) bool {
	to := g.successor(m.Host)
	if to == nil {
		f.because(g.reason(CodeNoSuccessor, "no voter can lead in the place of "+m.name()))
		return false
	}
	return f.propose(g.v, KindTransfer, Action{Shard: g.shard.ID, From: m.Host, Host: to.Host})
}

func (f *finding) promote(g *group, m *member) bool {
	return f.propose(g.v, KindPromote, Action{Shard: g.shard.ID, Replica: m.ID, Host: m.Host, Change: g.shard.Change})
}

// remove proposes to remove a member; for a leader, to transfer the leadership first. If the removal would require the
// member's own vote, a dead voter goes first.
func (f *finding) remove(g *group, m *member) bool {
	if g.needsOwnVote(m) {
		for _, dead := range g.voters {
			if !dead.live && !g.v.Seen.unheard(dead.Host) {
				m = dead
			}
		}
	}
	if m.Role == hosts.RoleVoter && g.seen.Leader == m.Host && m.host != nil {
		return f.handOver(g, m)
	}
	return f.propose(g.v, KindRemove, Action{Shard: g.shard.ID, Replica: m.ID, Host: m.Host, Change: g.shard.Change})
}

// ruleDead removes members on hosts that do not belong to the cluster, and voters that are away for too long if a
// different host can vote.
func ruleDead(v View) (f finding) {
	for _, g := range groups(v) {
		if r := g.unusable(); r != nil {
			if lost := g.withoutMajority(); lost != nil {
				r = lost
			}
			f.because(r)
			continue
		}
		for _, m := range g.voters {
			switch {
			case m.gone() && m.live:
				f.replace(g, m)
			case m.gone():
				f.remove(g, m)
			default:
				f.replaceDead(g, m)
			}
		}
		for _, m := range g.learners {
			if m.gone() {
				f.remove(g, m)
			}
		}
	}
	return f
}

// replaceDead removes a voter that is away for too long, if a learner can vote instead, or if the group tolerates more
// failures without the voter.
func (f *finding) replaceDead(g *group, m *member) {
	over, until := g.overdue(m)
	switch {
	case until == 0:
	case !over:
		r := g.reason(CodeDeadVoter, m.name()+" is away and is replaced, where another can vote", m)
		r.Since, r.Until = m.host.Target.Since, until
		f.because(r)
	// Without a spare, a group with an odd number of voters keeps the voter. With an even number the voter still goes,
	// because then one fewer live voter is needed for a majority.
	case len(g.voters)%2 == 1 && len(g.spares()) == 0:
		f.keepsVote(g, m)
	default:
		f.remove(g, m)
	}
}

// ruleFew promotes learners if there are too few voters. From an odd number of voters ruleFew begins only with enough
// learners for the wanted number, so no group stays at two voters that are both needed.
func ruleFew(v View) (f finding) {
	for _, g := range groups(v) {
		n := len(g.voters)
		if n >= g.wanted || g.unusable() != nil {
			continue
		}
		spares := g.spares()
		if len(spares) > 0 && (n%2 == 0 || n+len(spares) >= g.wanted) {
			f.promote(g, g.farthest(spares))
			continue
		}
		for _, m := range g.learners {
			f.because(g.waiting(m))
		}
		f.because(g.reason(CodeFew, fmt.Sprintf("%d of %d voters, and %d learners that can vote", n, g.wanted,
			len(spares))))
	}
	return f
}

// farthest returns the member farthest from the voters; on a tie, the lowest id.
func (g *group) farthest(list []*member) *member {
	if len(list) == 0 {
		return nil
	}
	return slices.MaxFunc(list, func(a, b *member) int { return g.distance(a, nil) - g.distance(b, nil) })
}

// most returns the maximum number of voters. The governor never shrinks a cluster with several hosts to one vote on its
// own.
func (g *group) most() int {
	policy := g.v.State.Policy()
	limit := policy.Voters
	if g.spread {
		limit = policy.Replicas
	}
	if g.wanted == 1 && limit != 1 && g.v.State.Living() > 1 {
		return max(1, min(len(g.voters), 2))
	}
	return g.wanted
}

// ruleExcess removes voters if there are too many. Their hosts get a learner instead, unless the shard has replicas on
// only some hosts.
func ruleExcess(v View) (f finding) {
	for _, g := range groups(v) {
		if len(g.voters) > g.most() && g.unusable() == nil {
			f.remove(g, g.excess())
		}
	}
	return f
}

// excess returns the voter to remove if there are too many. In a shard with replicas on only some hosts, this is a
// voter a different member replaces.
func (g *group) excess() *member {
	list := g.voters
	if g.spread {
		list = slices.DeleteFunc(slices.Clone(list), func(m *member) bool { return !m.out })
	}
	return g.worst(list)
}

// victim returns the voter to remove, among the voters and the member with, unless nil.
func (g *group) victim(with *member) *member { return g.worst(g.votersWith(with)) }

// worst returns the member to remove. The first of these rules that distinguishes the members decides: an absent member
// goes, then a leaving member, then a member outside the meta shard tier, then a cordoned member, then the member whose
// removal leaves the rest farthest apart. For a shard with replicas on only some hosts, the next rules are the highest
// host score, and then a member without a vote. The last rules are a member that does not lead, and then the highest
// id.
func (g *group) worst(list []*member) *member {
	var worst *member
	var worth [8]int
	for _, m := range list {
		w := [8]int{rank(!m.gone() && m.live), rank(m.stays()), rank(g.votes(m)),
			rank(m.host != nil && !m.host.Cordoned),
			-apart(list, m), -g.load[m.Host], rank(!g.spread || m.Role == hosts.RoleVoter),
			rank(g.seen.Leader == m.Host)}
		if c := slices.Compare(w[:], worth[:]); worst == nil || c < 0 || c == 0 && m.ID > worst.ID {
			worst, worth = m, w
		}
	}
	return worst
}

func rank(is bool) int {
	if is {
		return 1
	}
	return 0
}

// ruleDomains promotes a learner if the voters are farther apart after the excess voter is removed, or if the excess
// voter votes in the meta shard from outside the tier. A learner in a shard with replicas on only some hosts becomes a
// voter if a voter has lost its place in the group.
func ruleDomains(v View) (f finding) {
	for _, g := range groups(v) {
		if len(g.voters) != g.wanted || g.unusable() != nil || g.liveVoters(0) < len(g.voters) {
			continue
		}
		if g.spread {
			spare := g.farthest(g.spares())
			if spare != nil && slices.ContainsFunc(g.voters, func(m *member) bool { return m.out }) {
				f.promote(g, spare)
			}
			continue
		}
		var best *member
		gain := g.distance(nil, nil)
		for _, spare := range g.spares() {
			victim := g.victim(spare)
			if d := g.distance(spare, victim); d > gain || best == nil && !g.votes(victim) {
				best, gain = spare, d
			}
		}
		if best != nil {
			f.promote(g, best)
		}
	}
	return f
}
