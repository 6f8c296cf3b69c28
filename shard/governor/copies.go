package governor

import (
	"fmt"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// ruleHold keeps the rules behind it from being asked while a shard has no leader, or none reports: what is not urgent
// waits.
func ruleHold(v View) (f finding) {
	for _, g := range groups(v) {
		if r := g.unusable(); r != nil && r.Code != CodeMembership {
			f.Hold = true // ruleDead has said why
		}
	}
	return f
}

// ruleClear makes hosts delete what they have of replicas that are no members any more.
func ruleClear(v View) (f finding) {
	for _, s := range v.State.Shards() {
		for i := range s.Replicas {
			p := &s.Replicas[i]
			if p.Role == hosts.RoleRemoved && mayClear(v, p.Host) {
				f.propose(v, KindClear, Action{Shard: s.ID, Replica: p.ID, Host: p.Host})
			}
		}
	}
	return f
}

// mayClear reports whether a host can be asked to delete something: it is heard, or is to be online. One that has no
// replica left is not heard.
func mayClear(v View, id shard.HostID) bool {
	h := v.State.Host(id)
	return h != nil && h.Living() && (h.Wanted() || v.Seen.live(id))
}

// ruleCopies gives every host that is to be online a replica of every shard: of the meta shard first, without which it
// cannot be online, cordoned or not; of the others once the host is online. A host fills one at a time, and all
// together no more than the policy allows.
func ruleCopies(v View) (f finding) {
	policy, all := v.State.Policy(), groups(v)
	filling := fillings(all)
	for _, h := range v.State.Hosts() {
		if !h.Wanted() || failure(v, h) != 0 {
			continue
		}
		for _, g := range all {
			p := g.shard.On(h.ID)
			if p != nil && p.Role != hosts.RoleNone || g.shard.ID != hosts.Meta && !h.Online() || g.unusable() != nil {
				continue
			}
			if h.Cordoned && g.shard.ID != hosts.Meta {
				f.Reasons = append(f.Reasons, *g.reason(CodeCordoned, h.Name+" gets no replica, as it is cordoned"))
				continue
			}
			if v.Seen.full(h.ID) {
				f.Reasons = append(f.Reasons,
					*g.reason(CodeFull, h.Name+" gets no replica: its disk is nearly full"))
				continue
			}
			if len(filling) >= int(policy.Copies) || filling[h.Name] != "" {
				f.Reasons = append(f.Reasons, *g.reason(CodeCopies, fmt.Sprintf("adding %s waits for %s", h.Name,
					waitedFor(filling, h.Name))))
				continue
			}
			id := v.State.NextReplica()
			if p != nil {
				id = p.ID
			}
			f.propose(v, KindAdd, Action{Shard: g.shard.ID, Replica: id, Host: h.ID, Change: g.shard.Change})
		}
	}
	return f
}

// fillings returns the hosts of which a learner is being filled, with what. One whose disk is nearly full takes
// nothing, and keeps no other from being filled.
func fillings(all []*group) map[string]string {
	list := make(map[string]string)
	for _, g := range all {
		for i := range g.learners {
			m := &g.learners[i]
			if m.host != nil && m.host.Wanted() && !m.caughtUp() && !g.v.Seen.full(m.Host) {
				list[m.name()] = fmt.Sprintf("shard %d of %s", g.shard.ID, m.name())
			}
		}
	}
	return list
}

// waitedFor returns what a further copy on a host waits for: what fills there, or else the first of all.
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

// ruleLagging removes learners that do not catch up: their hosts begin with new ones.
func ruleLagging(v View) (f finding) {
	for _, g := range groups(v) {
		if g.unusable() != nil {
			continue
		}
		for i := range g.learners {
			m := &g.learners[i]
			if m.live && !m.gone() && m.host.Online() && m.seen != nil && m.seen.BehindFor >= lostMillis {
				f.remove(g, m)
			}
		}
	}
	return f
}

// ruleFilling says which members are not up to date, and which learners could not take a vote yet. What is so of a host
// as a whole ruleAway has said.
func ruleFilling(v View) (f finding) {
	for _, g := range groups(v) {
		for i := range g.voters {
			if m := &g.voters[i]; m.live && !m.gone() && m.host.Online() && !m.caughtUp() && !v.Seen.full(m.Host) {
				f.Reasons = append(f.Reasons, *g.behind(m))
			}
		}
		if len(g.voters) < g.wanted {
			continue // ruleFew has said it of the learners
		}
		for i := range g.learners {
			r := g.waiting(&g.learners[i])
			if r != nil && (r.Code == CodeSnapshot || r.Code == CodeBehind || r.Code == CodeFresh) {
				f.Reasons = append(f.Reasons, *r)
			}
		}
	}
	return f
}
