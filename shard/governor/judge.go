package governor

import (
	"fmt"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/plan"
)

// forbidden returns why records and observations forbid an action now, or nil. Rules call forbidden before they propose
// a step, and executors right before they act.
func forbidden(v View, kind plan.Kind, a *Action) *plan.Reason {
	switch kind {
	case KindFail, KindReach:
		return forbiddenOnHost(v, kind, a)
	case KindMoveSlot:
		return forbiddenMove(v, a)
	}
	s := v.State.Shard(a.Shard)
	if s == nil || s.Phase == hosts.ShardRetired && kind != KindClear {
		return &plan.Reason{Code: CodeMoot, Text: fmt.Sprintf("there is no shard %d", a.Shard)}
	}
	g := newGroup(v, s)
	switch kind {
	case KindServe:
		return g.forbidServe()
	case KindRetire:
		return g.forbidRetire()
	case KindRestart:
		return g.forbidRestart(a)
	case KindTransfer:
		return g.forbidTransfer(a)
	case KindClear:
		if p := s.Replica(a.Replica); p == nil || p.Role != hosts.RoleRemoved || !mayClear(v, s, a.Host) {
			return g.reason(CodeMoot, fmt.Sprintf("replica %d must not be deleted", a.Replica))
		}
		return nil
	}
	if r := g.unusable(); r != nil {
		return r
	}
	if a.Change != s.Change {
		return g.reason(CodeMoot, "the membership has changed since the decision")
	}
	switch kind {
	case KindAdd:
		return g.forbidAdd(a)
	case KindPromote:
		return g.forbidPromote(a)
	}
	return g.forbidRemove(a)
}

func forbiddenOnHost(v View, kind plan.Kind, a *Action) *plan.Reason {
	h := v.State.Host(a.Host)
	moot := &plan.Reason{Code: CodeMoot, Subjects: []plan.Subject{hostSubject(a.Host)},
		Text: fmt.Sprintf("host %s has a different target by now", nameOf(v.State, a.Host))}
	switch {
	case h == nil || h.Target.Epoch != a.Epoch:
		return moot
	case kind == KindFail && (!h.Wanted() || failure(v, h) == 0):
		return moot
	case kind == KindReach && h.Target.Variant != a.Variant:
		return moot
	case kind == KindReach && a.Variant == protocol.HostOnline:
		return notFresh(v, h)
	}
	return nil
}

func (g *group) forbidTransfer(a *Action) *plan.Reason {
	to := g.voter(a.Host)
	switch {
	case g.seen.Age >= reportMillis || g.seen.Leader != a.From:
		return g.reason(CodeMoot, "the leader has changed or is unknown")
	case to == nil || !to.live || to.gone() || !to.host.Online():
		return g.reason(CodeNoSuccessor, nameOf(g.v.State, a.Host)+" cannot lead the shard")
	}
	return nil
}

func (g *group) forbidAdd(a *Action) *plan.Reason {
	h := g.v.State.Host(a.Host)
	if h == nil || !h.Wanted() || h.Cordoned && a.Shard != hosts.Meta {
		return g.reason(CodeMoot, nameOf(g.v.State, a.Host)+" must not get a replica")
	}
	for i := range g.shard.Replicas {
		if p := &g.shard.Replicas[i]; p.Host == a.Host && (p.ID != a.Replica || p.Role != hosts.RoleNone) {
			return g.reason(CodeMoot, h.Name+" already has a replica")
		}
	}
	return nil
}

func (g *group) forbidPromote(a *Action) *plan.Reason {
	m := g.member(a.Replica)
	if m == nil || m.Role != hosts.RoleLearner {
		return g.reason(CodeMoot, fmt.Sprintf("replica %d is not a learner", a.Replica))
	}
	if r := g.waiting(m); r != nil {
		return r
	}
	if live, all := g.liveVoters(0)+1, len(g.voters)+1; live < hosts.Majority(all) {
		return g.reason(CodeQuorum, fmt.Sprintf("only %d of %d voters would be alive with %s", live, all, m.name()))
	}
	return nil
}

func (g *group) forbidRemove(a *Action) *plan.Reason {
	m := g.member(a.Replica)
	switch {
	case m == nil:
		return g.reason(CodeMoot, fmt.Sprintf("replica %d is not a member", a.Replica))
	case g.seen.Leader == m.Host:
		return g.reason(CodeLeads, m.name()+" leads the shard")
	case m.Role == hosts.RoleLearner:
		return nil
	}
	live, all := g.liveVoters(m.ID), len(g.voters)-1
	if all < 1 || live < hosts.Majority(all) {
		return g.reason(CodeQuorum, fmt.Sprintf("removing %s would leave %d of %d voters alive", m.name(), live,
			all))
	}
	if g.needsOwnVote(m) {
		return g.reason(CodeQuorum, fmt.Sprintf("removing %s would need the removed voter's own vote, because only "+
			"%d of %d voters are alive otherwise", m.name(), live, len(g.voters)))
	}
	return g.unsure(m)
}

// needsOwnVote reports whether removing a live voter would require that voter's own vote. A voter that has applied its
// own removal is gone; if the leader then dies before the others have received the removal, they wait for a vote no
// host can give. With two voters this cannot be avoided. Only shards with replicas on some hosts move often enough for
// the case to have been observed.
func (g *group) needsOwnVote(m *member) bool {
	return g.spread && m.Role == hosts.RoleVoter && m.live && len(g.voters) > 2 &&
		g.liveVoters(m.ID) < hosts.Majority(len(g.voters))
}

// unsure returns why the remaining voters may lack a majority without a voter, or nil. A majority of the remaining
// voters must have been in contact within the last second: a voter that has just died counts as alive for a while, and
// a removed voter's vote cannot be restored.
func (g *group) unsure(without *member) *plan.Reason {
	lately, silent := 0, (*member)(nil)
	for _, m := range g.voters {
		switch {
		case m.ID == without.ID || !m.live:
		case g.v.Seen.silentFor(m.Host) < latelyMillis:
			lately++
		default:
			silent = m
		}
	}
	if silent != nil && lately < hosts.Majority(len(g.voters)-1) {
		return g.reason(CodeNoReport, fmt.Sprintf("no contact for a second with %s, needed for a majority "+
			"without %s", silent.name(), without.name()), silent)
	}
	return nil
}

// judge decides whether an executor may act on a step.
func judge(v View, s *plan.Step[Action]) plan.Advice {
	r := forbidden(v, s.Kind, &s.Payload)
	switch {
	case r == nil:
		return plan.Perform
	case r.Code == CodeNoReport || r.Code == CodeMembership:
		return plan.Wait // a report, or this step's own membership change, is in progress
	}
	return plan.Drop
}
