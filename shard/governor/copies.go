package governor

import (
	"fmt"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// ruleHold holds back the rules after it while a shard has no leader, or no leader reports: less urgent work waits. A
// data shard with replicas on only some hosts holds back only the rules after ruleCalm, because work on other shards
// does not depend on it.
func ruleHold(v View) (f finding) { return hold(v, func(g *group) bool { return !g.spread }) }

// ruleCalm holds back the rules after it while any shard has no leader, or no leader reports.
func ruleCalm(v View) (f finding) { return hold(v, func(*group) bool { return true }) }

func hold(v View, counts func(*group) bool) (f finding) {
	for _, g := range groups(v) {
		begins := g.shard.Fresh && g.shard.InitialReplica() != nil // nothing depends on the shard yet
		if r := g.unusable(); r != nil && r.Code != CodeMembership && counts(g) && !begins {
			f.Hold = true // ruleDead has reported why
		}
	}
	return f
}

// ruleClear makes hosts delete replica data once the replicas are no longer members.
func ruleClear(v View) (f finding) {
	for _, s := range v.State.Shards() {
		for i := range s.Replicas {
			p := &s.Replicas[i]
			if p.Role == hosts.RoleRemoved && mayClear(v, s, p.Host) {
				f.propose(v, KindClear, Action{Shard: s.ID, Replica: p.ID, Host: p.Host})
			}
		}
	}
	return f
}

// mayClear reports whether the governor can ask a host to delete a shard replica: the host is in contact, or should be
// online. A host without any replica is never in contact. A shard that is being rebuilt still needs the previous
// group's replicas, until the new group has begun. An added shard needs no content of an earlier group.
func mayClear(v View, s *hosts.Shard, id shard.HostID) bool {
	h := v.State.Host(id)
	return (s.InitialReplica() == nil || s.Fresh) && h != nil && h.Living() && (h.Wanted() || v.Seen.live(id))
}

// ruleCopies gives every host that should be online a replica of every shard, except for shards with replicas on only
// some hosts, which rulePlaces handles. The meta shard comes first, even for a cordoned host, because a host without
// that replica cannot be online; the data shards follow once the host is online. A host builds one replica at a time,
// and all hosts together build no more than the policy allows.
func ruleCopies(v View) (f finding) {
	all := groups(v)
	filling := fillings(all)
	for _, h := range v.State.Hosts() {
		if !h.Wanted() || failure(v, h) != 0 {
			continue
		}
		for _, g := range all {
			p := g.shard.On(h.ID)
			if g.spread || p != nil && p.Role != hosts.RoleNone || g.shard.ID != hosts.Meta && !h.Online() ||
				g.unusable() != nil {
				continue
			}
			switch {
			case h.Cordoned && g.shard.ID != hosts.Meta:
				f.because(g.reason(CodeCordoned, h.Name+" gets no replica, as it is cordoned"))
			case v.Seen.full(h.ID):
				f.because(g.reason(CodeFull, h.Name+" gets no replica: its disk is nearly full"))
			default:
				f.place(g, h, filling)
			}
		}
	}
	return f
}

// fillings returns the hosts that are building a learner, with a text for each learner. A host with a nearly full disk
// accepts nothing, and so does not count.
func fillings(all []*group) map[string]string {
	list := make(map[string]string)
	for _, g := range all {
		for _, m := range g.learners {
			if m.host != nil && m.host.Wanted() && !m.caughtUp() && !g.v.Seen.full(m.Host) {
				list[m.name()] = fmt.Sprintf("shard %d of %s", g.shard.ID, m.name())
			}
		}
		for _, m := range g.stay {
			if m.fresh() {
				list[m.name()] = fmt.Sprintf("shard %d of %s", g.shard.ID, m.name())
			}
		}
	}
	return list
}

// waitedFor returns what a further replica on a host waits for: the learner on the same host, or else the first learner
// overall.
func waitedFor(filling map[string]string, host string) string {
	if filling[host] != "" {
		return filling[host]
	}
	first := ""
	for _, what := range filling {
		if first == "" || what < first {
			first = what
		}
	}
	return first
}

// ruleLagging removes learners that do not catch up; their hosts restart with new learners. If every host has all
// shards, a learner on a full disk waits for space; otherwise the learner is removed, because a different host may have
// space.
func ruleLagging(v View) (f finding) {
	for _, g := range groups(v) {
		if g.unusable() != nil {
			continue
		}
		for _, m := range g.learners {
			if m.live && !m.gone() && m.host.Online() && m.seen != nil && m.seen.Percent == 0 &&
				m.seen.BehindFor >= lostMillis && (g.spread || !v.Seen.full(m.Host)) {
				f.remove(g, m)
			}
		}
	}
	return f
}

// ruleFilling reports the members that are not up to date, and the learners that could not take a vote yet. Reasons
// that concern a whole host are reported by ruleAway.
func ruleFilling(v View) (f finding) {
	for _, g := range groups(v) {
		for _, m := range g.voters {
			if m.live && !m.gone() && m.host.Online() && !m.caughtUp() && !v.Seen.full(m.Host) {
				f.because(g.behind(m))
			}
		}
		if len(g.voters) < g.wanted {
			continue // ruleFew has reported the learners
		}
		for _, m := range g.learners {
			r := g.waiting(m)
			if r != nil && (r.Code == CodeSnapshot || r.Code == CodeBehind || r.Code == CodeFresh) {
				f.because(r)
			}
		}
	}
	return f
}
