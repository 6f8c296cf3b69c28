package governor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox/signalbox/protocol/field"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/plan"
)

// Recover returns how to rebuild a shard after a permanent majority loss, judged by records and observations. If the
// recovery is wrong, or cannot be judged yet, the result has the objection.
//
// By giving the order, an operator declares that the silent hosts will not return. Recover verifies everything a
// governor can know: a majority of the voters has been out of contact for the failure timeout. Among the remaining
// hosts Recover chooses the most advanced log. As in an election, the chosen log contains every committed entry on any
// remaining host.
func Recover(v View, id hosts.ShardID, empty bool) hosts.Recovery {
	n := hosts.Recovery{Shard: id, Empty: empty}
	s := v.State.Shard(id)
	if s == nil || id == hosts.Meta {
		return n // the records refuse the order
	}
	g := newGroup(v, s)
	if n.Against = g.notLost(); n.Against != "" {
		return n
	}
	for _, m := range slices.Concat(g.voters, g.lostLearners()) {
		if m.host != nil && m.host.Living() && !m.live {
			n.Lost = append(n.Lost, m.Host)
		}
	}
	best, why := g.survivor()
	switch {
	case why != "":
		n.Against = why
	case best != nil && empty:
		n.Against = fmt.Sprintf("host %s still has a replica with data for shard %d; omit --accept-data-loss",
			best.name(), id)
	case best != nil:
		n.Host = best.Host
	case !empty:
		n.Against = fmt.Sprintf("no remaining host has a replica for shard %d; pass --accept-data-loss to "+
			"rebuild the shard without content", id)
	default:
		n.Host, n.Against = g.emptiest()
	}
	return n
}

// lostLearners returns the learners on silent hosts, if they may have cost the group its majority. A learner may have
// been promoted by an entry known only to the log. With such votes the remaining voters are no majority, and the group
// would wait forever for hosts that never return.
func (g *group) lostLearners() (list []*member) {
	for _, m := range g.learners {
		if m.host != nil && m.host.Living() && g.silent(m) {
			list = append(list, m)
		}
	}
	if g.liveVoters(0) >= hosts.Majority(len(g.voters)+len(list)) || g.liveVoters(0) < hosts.Majority(len(g.voters)) {
		return nil
	}
	return list
}

// notLost returns why the group's majority is not lost, as far as the governor knows, or an empty text.
func (g *group) notLost() string {
	left := 0
	for _, m := range g.voters {
		switch {
		case m.live: // an expelled host, too: it may vote until it exits
			left++
		case m.host == nil || !m.host.Living():
		case !g.silent(m):
			return fmt.Sprintf("host %s may return: contact attempts have not failed for %s yet", m.name(),
				g.v.State.Policy().OfflineAfter)
		}
	}
	if left < hosts.Majority(len(g.voters)+len(g.lostLearners())) {
		return ""
	}
	return fmt.Sprintf("shard %d has a majority: %d of %d voters are in contact", g.shard.ID, left, len(g.voters))
}

// silent reports whether a member's host was tried, and has been out of contact for the failure timeout.
func (g *group) silent(m *member) bool {
	seen := g.v.Seen.host(m.Host)
	return m.Host != g.v.Seen.Self && seen != nil && seen.Tried &&
		seen.SilentFor >= field.MillisOf(g.v.State.Policy().OfflineAfter)
}

// survivor returns the member with the most advanced log, among the members on hosts in contact; nil if none is in
// contact. The text says why the choice cannot be made yet. A learner may hold entries that every surviving voter
// lacks.
func (g *group) survivor() (best *member, why string) {
	var farthest Unled
	for _, m := range g.members() {
		if m.gone() || !m.live && g.silent(m) {
			continue
		}
		at := slices.IndexFunc(g.seen.Unled, func(u Unled) bool { return u.ID == m.ID })
		if !m.live || at < 0 {
			return nil, fmt.Sprintf("host %s has not reported the log position for shard %d yet; try again",
				m.name(), g.shard.ID)
		}
		u := g.seen.Unled[at]
		if u.Index == 0 {
			continue // nothing of the shard is here
		}
		if best == nil || u.Term > farthest.Term || u.Term == farthest.Term && u.Index > farthest.Index {
			best, farthest = m, u
		}
	}
	return best, ""
}

// emptiest returns the host for a group that begins without content: the host with the fewest replicas, among the hosts
// that accept replicas.
func (g *group) emptiest() (best shard.HostID, against string) {
	fewest := 0
	for _, h := range takers(g.v) {
		n := 0
		for _, s := range g.v.State.Shards() {
			n += rank(s.On(h.ID) != nil)
		}
		if g.open(h) && (best == 0 || n < fewest) {
			best, fewest = h.ID, n
		}
	}
	if best == 0 {
		return 0, fmt.Sprintf("no host can take shard %d now", g.shard.ID)
	}
	return best, ""
}

// withoutMajority names the voters without contact in a group that has lost its majority, or returns nil.
func (g *group) withoutMajority() *plan.Reason {
	if g.quorum() || g.unheard() != nil || len(g.voters) == 0 {
		return nil
	}
	var names []string
	var dead []*member
	for _, m := range g.voters {
		if !m.live {
			names, dead = append(names, m.name()), append(dead, m)
		}
	}
	text := fmt.Sprintf("%d of %d voters are alive, without %s", g.liveVoters(0), len(g.voters),
		strings.Join(names, ", "))
	if g.shard.ID != hosts.Meta && g.notLost() == "" {
		text += fmt.Sprintf("; if the silent hosts are permanently lost: signalbox shard recover %d", g.shard.ID)
	}
	return g.reason(CodeQuorum, text, dead...)
}
