package governor

import (
	"fmt"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	"github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/plan"
)

// group is a shard as rules see it: its members, as recorded and as observed.
type group struct {
	v        View
	shard    *hosts.Shard
	seen     *ShardSeen // all zero if there is no report
	voters   []*member
	learners []*member
	wanted   int // how many should vote

	// spread is set for a shard with replicas on only some hosts. In that case stay are the members that keep their
	// replica, including those on their way, and load is each host's score; decidePlaces fills both.
	spread bool
	stay   []*member
	load   map[shard.HostID]score
}

// member is a replica in a group's membership.
type member struct {
	*hosts.Replica
	host *hosts.Host // nil without a record
	seen *ReplicaSeen
	live bool
	out  bool // to be removed, because a different member replaces it
}

// groups returns all shards as rules see them, without the shards of which only data to be deleted is left.
func groups(v View) []*group {
	var list []*group
	for _, s := range v.State.Shards() {
		if s.Phase != hosts.ShardRetired {
			list = append(list, newGroup(v, s))
		}
	}
	if v.State.Spread() {
		decidePlaces(v, list)
	}
	return list
}

func newGroup(v View, s *hosts.Shard) *group {
	g := &group{v: v, shard: s, seen: v.Seen.shard(s.ID), wanted: v.State.Wanted(s.ID),
		spread: v.State.Spread() && s.ID != hosts.Meta}
	if g.seen == nil {
		g.seen = &ShardSeen{Shard: s.ID, Age: reportMillis}
	}
	for i := range s.Replicas {
		p := &s.Replicas[i]
		m := &member{Replica: p, host: v.State.Host(p.Host), seen: g.seen.replica(p.ID)}
		m.live = m.host != nil && v.Seen.live(p.Host)
		switch p.Role {
		case hosts.RoleVoter:
			g.voters = append(g.voters, m)
		case hosts.RoleLearner:
			g.learners = append(g.learners, m)
		}
	}
	return g
}

// gone reports whether the replica's host does not belong to the cluster.
func (m *member) gone() bool { return m.host == nil || !m.host.Living() }

// leaving reports whether the host is drained or stopping, and is still in contact.
func (m *member) leaving() bool {
	return m.live && !m.gone() && !m.host.Wanted() && !m.host.Target.Reason.Failed()
}

// stays reports whether no plan affects the replica's vote.
func (m *member) stays() bool { return !m.gone() && !m.leaving() }

// name returns the name of the replica's host.
func (m *member) name() string {
	if m.host == nil {
		return "an unknown host"
	}
	return m.host.Name
}

// caughtUp reports whether the replica lags by no more than behindMillis.
func (m *member) caughtUp() bool { return m.seen != nil && m.seen.CaughtUp() }

// voter returns the voter on a host, or nil.
func (g *group) voter(host shard.HostID) *member {
	return first(g.voters, func(m *member) bool { return m.Host == host })
}

// first returns the first matching member, or nil.
func first(list []*member, is func(*member) bool) *member {
	if i := slices.IndexFunc(list, is); i >= 0 {
		return list[i]
	}
	return nil
}

// members are the voters, and then the learners.
func (g *group) members() []*member { return slices.Concat(g.voters, g.learners) }

// member returns the member with an id, or nil.
func (g *group) member(id uint64) *member {
	return first(g.members(), func(m *member) bool { return m.ID == id })
}

// liveVoters returns how many voters are alive, not counting one replica.
func (g *group) liveVoters(except uint64) int {
	n := 0
	for _, m := range g.voters {
		if m.live && m.ID != except {
			n++
		}
	}
	return n
}

// unheard returns a voter that may be alive or dead, or nil. A new governor has had no contact with voters yet, and
// must not mistake a dead voter for a live voter.
func (g *group) unheard() *member {
	return first(g.voters, func(m *member) bool { return m.host != nil && g.v.Seen.unheard(m.Host) })
}

// quorum reports whether enough voters are alive to decide anything.
func (g *group) quorum() bool { return g.liveVoters(0) >= hosts.Majority(len(g.voters)) }

// unusable returns why the group's membership cannot be changed now, or nil.
func (g *group) unusable() *plan.Reason {
	switch {
	case g.seen.Age >= reportMillis:
		return g.reason(CodeNoReport, "no report from its leader")
	case g.seen.Leader == 0:
		return g.reason(CodeNoLeader, "it has no leader")
	case g.seen.Change != g.shard.Change:
		return g.reason(CodeMembership, "its membership has changed and is not on record yet")
	case g.unheard() != nil:
		return g.reason(CodeNoReport, "nothing was heard of "+g.unheard().name()+" yet")
	case !g.quorum():
		return g.reason(CodeQuorum, fmt.Sprintf("%d of %d voters are alive", g.liveVoters(0), len(g.voters)))
	}
	return nil
}

// reason returns a reason that names the group, and the hosts of some members.
func (g *group) reason(code plan.Code, text string, of ...*member) *plan.Reason {
	r := &plan.Reason{Code: code, Subjects: []plan.Subject{shardSubject(g.shard.ID)},
		Text: fmt.Sprintf("shard %d: %s", g.shard.ID, text)}
	for _, m := range of {
		r.Subjects = append(r.Subjects, hostSubject(m.Host))
	}
	return r
}

// votes reports whether the meta shard tier allows a member to vote.
func (g *group) votes(m *member) bool {
	return g.shard.ID != hosts.Meta || m.host == nil || g.v.State.Votes(m.host)
}

// waiting returns why a learner cannot vote, or nil.
func (g *group) waiting(m *member) *plan.Reason {
	stable := field.MillisOf(g.v.State.Policy().StableFor)
	name, fresh := m.name(), g.v.Seen.freshFor(m.Host)
	switch {
	case m.gone():
		return g.reason(CodeGone, name+" does not belong to the cluster", m)
	case m.host.Cordoned:
		return g.reason(CodeCordoned, name+" is cordoned", m)
	case !g.votes(m):
		return g.reason(CodeTier, name+" is not of the tier "+g.v.State.Policy().Tier, m)
	case !m.host.Online():
		return g.reason(CodeOffline, fmt.Sprintf("%s is not online: %s", name, m.host.Target.Reason), m)
	case !m.live:
		return g.reason(CodeSilent, name+" is not heard", m)
	case g.v.Seen.full(m.Host):
		return g.reason(CodeFull, "the disk of "+name+" is nearly full", m)
	case !m.caughtUp():
		return g.behind(m)
	case fresh == 0:
		return g.reason(CodeFresh, name+" has not confirmed that it is up to date", m)
	case fresh < stable:
		text := fmt.Sprintf("%s can vote once it is up to date for %s", name, span(stable))
		r := g.reason(CodeFresh, text, m)
		r.Since, r.Until = g.v.Now-min(fresh, g.v.Now), g.v.Now+stable-fresh
		return r
	}
	return nil
}

// behind returns the lag of a member that is not up to date, as a reason.
func (g *group) behind(m *member) *plan.Reason {
	switch {
	case m.seen == nil:
		return g.reason(CodeBehind, m.name()+" waits for its first answer", m)
	case m.seen.Percent > 0:
		r := g.reason(CodeSnapshot, fmt.Sprintf("%s waits for its snapshot, %d %%, %d bytes/s", m.name(),
			m.seen.Percent, m.seen.Rate), m)
		r.Since = m.Since
		return r
	}
	return g.reason(CodeBehind, fmt.Sprintf("%s lags by %s", m.name(), span(m.seen.BehindFor)), m)
}

// spares returns the learners that can vote, and are not to be removed.
func (g *group) spares() []*member {
	return slices.DeleteFunc(slices.Clone(g.learners), func(m *member) bool { return m.out || g.waiting(m) != nil })
}

// successor returns the voter that should lead instead of a host, or nil. The successor must be alive, staying and
// online. Voters that may receive leadership come first, then the voter with the longest log.
func (g *group) successor(from shard.HostID) *member {
	var best *member
	for _, m := range g.voters {
		if m.Host == from || !m.live || m.gone() || !m.host.Online() {
			continue
		}
		if best == nil || g.leadsBetter(m, best) {
			best = m
		}
	}
	return best
}

func (g *group) leadsBetter(m, other *member) bool {
	if a, b := g.mayLead(m), g.mayLead(other); a != b {
		return a
	}
	return m.seen != nil && (other.seen == nil || m.seen.Index > other.seen.Index)
}

// mayLead reports whether a voter may be given leaderships without need: fresh, not cordoned, not slow, and ready.
func (g *group) mayLead(m *member) bool {
	return g.ready(m) && !m.host.Cordoned && !m.host.IsSlow() && g.v.Seen.freshFor(m.Host) > 0 && g.knowsNodes(m.Host)
}

// knowsNodes reports whether a host has an up-to-date meta shard replica, and so knows the nodes. Without nodes a
// leader attaches no session. The host's report may be older than its replica's removal, so the records decide: a meta
// shard voter becomes a learner by a removal, and has no replica for a short time.
func (g *group) knowsNodes(id shard.HostID) bool {
	p, seen := g.v.State.Shard(hosts.Meta).On(id), g.v.Seen.shard(hosts.Meta)
	if p == nil || !p.Member() || seen == nil {
		return false
	}
	m := member{Replica: p, seen: seen.replica(p.ID)}
	return m.caughtUp()
}

// ready reports whether a voter could lead at once: it is up to date, and its disk has space.
func (g *group) ready(m *member) bool {
	return m.live && !m.gone() && m.host.Online() && m.caughtUp() && !g.v.Seen.full(m.Host)
}

// lostSince returns since when a voter has been away, if the policy allows replacing an absent voter; otherwise away is
// false.
func (m *member) lostSince(policy host.Policy) (since uint64, away bool) {
	if m.live || m.gone() || policy.ReplaceAfter == 0 || m.host.Target.Variant != protocol.HostOffline {
		return 0, false
	}
	return m.host.Target.Since, true
}

// overdue reports whether a voter has been away for longer than the policy allows, and until when it may be.
func (g *group) overdue(m *member) (over bool, until uint64) {
	policy := g.v.State.Policy()
	since, away := m.lostSince(policy)
	if !away {
		return false, 0
	}
	after := field.MillisOf(policy.ReplaceAfter)
	return clock.Over(since, after, g.v.Now), since + after
}

// distance returns how far apart the voters are, as if the member with had joined and the member without had left;
// either may be nil.
func (g *group) distance(with, without *member) int { return apart(g.votersWith(with), without) }

// votersWith returns the voters, plus a member unless nil.
func (g *group) votersWith(with *member) []*member {
	if with == nil {
		return g.voters
	}
	return append(slices.Clone(g.voters), with)
}

// apart returns how far apart members are, as if the member without had left; without may be nil.
func apart(list []*member, without *member) (sum int) {
	for i, m := range list {
		for _, other := range list[:i] {
			if m.host != nil && other.host != nil && m != without && other != without {
				sum += m.host.Domain.Distance(other.host.Domain)
			}
		}
	}
	return sum
}
