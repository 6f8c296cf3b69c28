package governor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/plan"
)

// The rules in this file decide which hosts have a data shard's replicas, if the policy wants replicas on only some
// hosts. Rules look at a group's future state: without the members to be removed, and with the members on their way. So
// a move in progress counts at its target, and one need leads to one move.

// score is a host's load relative to its weight, once the moves in progress are over: the sum over its data shard
// replicas.
type score = int

// unit is what one replica adds to a host's score. Hosts with weight 0 accept no replicas.
func unit(h *hosts.Host) score {
	const whole = 1 << 20
	return whole / max(1, h.Weight())
}

// decidePlaces finds each data shard's staying members, and each host's score.
func decidePlaces(v View, all []*group) {
	load := make(map[shard.HostID]score)
	for _, g := range all {
		if !g.spread {
			continue
		}
		g.load = load
		for _, m := range g.members() {
			if m.out = !g.holds(m); !m.out {
				g.stay = append(g.stay, m)
			}
		}
		g.stay = append(g.stay, coming(v, g)...)
		for _, m := range g.stay {
			load[m.Host] += unit(m.host)
		}
	}
	for _, g := range all {
		for g.spread && len(g.stay) > max(g.most(), g.places()) {
			m := g.worst(g.stay)
			m.out = true
			load[m.Host] -= unit(m.host)
			g.stay = slices.DeleteFunc(g.stay, func(other *member) bool { return other == m })
		}
	}
}

// places is how many replicas a shard on some hosts should have: as many as should vote, but two in a cluster with two
// hosts. Until a third host joins, the learner is the only further replica.
func (g *group) places() int {
	if g.wanted == 1 && g.v.State.Policy().Replicas > 1 && g.v.State.Living() > 1 {
		return 2
	}
	return g.wanted
}

// coming returns the replicas that open steps add to a group.
func coming(v View, g *group) (list []*member) {
	for _, s := range v.Plan.Steps() {
		a := &s.Payload
		if s.Kind != KindAdd || a.Shard != g.shard.ID || g.member(a.Replica) != nil {
			continue
		}
		if h := v.State.Host(a.Host); h != nil && h.Wanted() {
			list = append(list, g.at(h, a.Replica))
		}
	}
	return list
}

// at returns the member a group would have on a host.
func (g *group) at(h *hosts.Host, replica uint64) *member {
	return &member{Replica: &hosts.Replica{ID: replica, Host: h.ID}, host: h, live: g.v.Seen.live(h.ID)}
}

// holds reports whether a member may keep its replica in the group while there is no better place. A voter on a stopped
// host keeps its replica until the host is overdue. A host that is drained, or has weight 0, keeps no replica. Nor does
// a learner on a cordoned host, because the learner would never vote, and other hosts may have capacity.
func (g *group) holds(m *member) bool {
	switch over, _ := g.overdue(m); {
	case m.gone() || over || m.host.Target.Reason == hosts.ReasonDrained || m.host.Weight() == 0:
		return false
	}
	return m.Role == hosts.RoleVoter || m.host.Wanted() && !m.host.Cordoned
}

// unable returns why a host accepts no data shard replica, or an empty text.
func unable(v View, h *hosts.Host) string {
	switch {
	case !h.Online():
		return "is not online"
	case h.Cordoned:
		return "is cordoned"
	case h.Weight() == 0:
		return "has the weight 0"
	case !v.Seen.live(h.ID) || failure(v, h) != 0:
		return "is not heard"
	case v.Seen.full(h.ID):
		return "has a nearly full disk"
	case v.Seen.freshFor(h.ID) == 0:
		return "does not confirm that it is up to date"
	}
	return ""
}

// takers returns the hosts that accept data shard replicas.
func takers(v View) []*hosts.Host {
	return slices.DeleteFunc(slices.Clone(v.State.Hosts()), func(h *hosts.Host) bool {
		return !h.Living() || unable(v, h) != ""
	})
}

// open reports whether a host has no replica of the group, and no replica still to be deleted.
func (g *group) open(h *hosts.Host) bool {
	p := g.shard.On(h.ID)
	return p == nil || p.Role == hosts.RoleNone
}

// peers are the host pairs that have shards in common.
type peers map[[2]shard.HostID]bool

func peersOf(all []*group) peers {
	p := make(peers)
	for _, g := range all {
		for _, m := range g.stay {
			for _, other := range g.stay {
				p[[2]shard.HostID{m.Host, other.Host}] = true
			}
		}
	}
	return p
}

// common returns how many staying members are on a host's peers, not counting one member.
func (p peers) common(g *group, h *hosts.Host, without *member) (n int) {
	for _, m := range g.stay {
		if m != without && p[[2]shard.HostID{m.Host, h.ID}] {
			n++
		}
	}
	return n
}

// place proposes to add a replica of the group on a host, or reports what the replica waits for: a host builds one
// replica at a time, and all hosts together build no more than the policy allows.
func (f *finding) place(g *group, h *hosts.Host, filling map[string]string) {
	if len(filling) >= g.v.State.Policy().Copies || filling[h.Name] != "" {
		f.because(g.reason(CodeCopies, fmt.Sprintf("adding %s waits for %s", h.Name, waitedFor(filling, h.Name))))
		return
	}
	id := g.v.State.NextReplica()
	if p := g.shard.On(h.ID); p != nil {
		id = p.ID
	}
	f.propose(g.v, KindAdd, Action{Shard: g.shard.ID, Replica: id, Host: h.ID, Change: g.shard.Change})
}

// rulePlaces gives a data shard the replicas the policy wants, replacing those on hosts that are drained, gone or away
// for too long. Superfluous learners are removed.
func rulePlaces(v View) (f finding) {
	if !v.State.Spread() {
		return f
	}
	all := groups(v)
	able, near, filling := takers(v), peersOf(all), fillings(all)
	for _, g := range all {
		if !g.spread || g.unusable() != nil {
			continue
		}
		for _, m := range g.learners {
			if m.out && (m.live || m.gone() || !m.host.Wanted()) {
				f.remove(g, m)
			}
		}
		if len(g.stay) >= g.places() {
			continue
		}
		if to := g.bestPlace(able, near); to != nil {
			f.place(g, to, filling)
		} else {
			f.because(g.noPlace())
		}
	}
	return f
}

// bestPlace returns the host for a further replica of the group, or nil: farthest from the staying members, then with
// the lowest score, then with the most peers among the members.
func (g *group) bestPlace(able []*hosts.Host, near peers) (best *hosts.Host) {
	var worth [3]int
	for _, h := range able {
		if !g.open(h) || slices.ContainsFunc(g.stay, func(m *member) bool { return m.Host == h.ID }) {
			continue
		}
		w := [3]int{apart(append(slices.Clone(g.stay), g.at(h, 0)), nil), -g.load[h.ID], near.common(g, h, nil)}
		if best == nil || slices.Compare(w[:], worth[:]) > 0 {
			best, worth = h, w
		}
	}
	return best
}

// noPlace says why no host accepts a replica the group lacks.
func (g *group) noPlace() *plan.Reason {
	const most = 8
	var why []string
	for _, h := range g.v.State.Hosts() {
		if !h.Living() || slices.ContainsFunc(g.stay, func(m *member) bool { return m.Host == h.ID }) {
			continue
		}
		text := unable(g.v, h)
		if text == "" {
			text = "has a replica that is to be deleted first"
		}
		why = append(why, h.Name+" "+text)
	}
	if len(why) > most {
		why = append(why[:most], fmt.Sprintf("%d others likewise", len(why)-most))
	}
	if len(why) == 0 {
		why = []string{"there is no further host"}
	}
	return g.reason(CodeNoPlace, fmt.Sprintf("%d of %d replicas, and no host takes another: %s", len(g.stay),
		g.places(), strings.Join(why, ", ")))
}

// ruleSpread moves replicas: to a host farther from the other members, and from hosts with a high score to hosts with a
// low score. A move begins with a learner; ruleDomains then gives the learner its vote, and ruleExcess removes the
// voter the learner replaces.
func ruleSpread(v View) (f finding) {
	if !v.State.Spread() {
		return f
	}
	all := groups(v)
	near, filling, widest := peersOf(all), fillings(all), labels(v)
	var ready []*group
	for _, g := range all {
		if g.spread && g.unusable() == nil && len(g.voters) == g.wanted && len(g.stay) == g.wanted &&
			len(g.learners) == 0 && g.liveVoters(0) == g.wanted && !slices.ContainsFunc(g.stay, (*member).fresh) {
			ready = append(ready, g)
		}
	}
	for _, h := range takers(v) {
		var best *group
		var worth [3]int
		for _, g := range ready {
			if w, better := g.move(h, near, widest); better && (best == nil || slices.Compare(w[:], worth[:]) > 0) {
				best, worth = g, w
			}
		}
		if best != nil {
			f.place(best, h, filling)
		}
	}
	return f
}

// fresh reports whether a member is still to be added to its group.
func (m *member) fresh() bool { return m.Role == hosts.RoleNone }

// move reports whether a host suits a replica of the group better than the replica's present host, and by how much: how
// far apart the members are afterwards, the score of the host that loses the replica, and how many members are on the
// host's peers.
func (g *group) move(h *hosts.Host, near peers, widest int) (worth [3]int, better bool) {
	if !g.open(h) {
		return worth, false
	}
	now, highest := apart(g.stay, nil), 0
	for _, m := range g.stay {
		highest = max(highest, g.load[m.Host])
	}
	n := len(g.stay)
	more := unit(h)
	if now == widest*n*(n-1)/2 && !evens(highest, g.load[h.ID], more) {
		return worth, false
	}
	to := g.at(h, 0)
	list := append(slices.Clone(g.stay), to)
	g.load[h.ID] += more
	from := g.worst(list)
	g.load[h.ID] -= more
	gain := apart(list, from) - now
	if from == to || gain < 0 || gain == 0 && !evens(g.load[from.Host], g.load[h.ID], more) {
		return worth, false
	}
	return [3]int{gain, g.load[from.Host], near.common(g, h, from)}, true
}

// evens reports whether moving a replica between two hosts evens out the scores. Two conditions must hold: the target's
// new score, to + more, is below the source's present score, and the present scores differ by at least a tenth of the
// source's score.
func evens(from, to, more score) bool { return to+more < from && 10*(from-to) >= from }

// labels is the largest number of failure domain labels on any host, which is the maximum distance between two hosts.
func labels(v View) (most int) {
	for _, h := range v.State.Hosts() {
		most = max(most, len(h.Domain))
	}
	return most
}
