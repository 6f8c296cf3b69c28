package governor

import (
	"fmt"
	"strings"

	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/plan"
)

// ruleShards proposes the steps of added and leaving shards. An added shard serves once all its voters are live, and
// restarts with another group if its group has failed. A leaving shard is retired once it owns nothing.
func ruleShards(v View) (f finding) {
	for _, g := range groups(v) {
		switch a := (Action{Shard: g.shard.ID}); {
		case g.shard.Phase == hosts.ShardLeaving:
			f.propose(v, KindRetire, a)
		case g.shard.Phase != hosts.ShardAdded:
		case g.failed():
			f.restart(v, g)
		default:
			f.propose(v, KindServe, a)
		}
	}
	return f
}

// failed reports whether an added shard needs another group: the host of the first replica is gone or has no disk
// space, or the group has lost its majority. The shard owns nothing yet, so nothing is lost.
func (g *group) failed() bool {
	if g.shard.Phase != hosts.ShardAdded || !g.shard.Fresh {
		return false
	}
	left := 0
	for _, m := range g.voters {
		full := g.shard.InitialReplica() != nil && g.v.Seen.full(m.Host)
		if !m.gone() && (m.host.Wanted() || m.live && g.shard.InitialReplica() == nil) && !full {
			left++
		}
	}
	return left < hosts.Majority(len(g.voters))
}

// restart proposes a new group for an added shard, on the best host without a replica.
func (f *finding) restart(v View, g *group) {
	c := newChooser(v)
	h := c.next(g.open)
	if h == nil {
		f.because(g.reason(CodeNoPlace, "the shard has not begun, and no other host can begin the shard: "+
			strings.Join(c.refusals(), ", ")))
		return
	}
	f.propose(v, KindRestart, Action{Shard: g.shard.ID, Host: h.ID, Number: g.shard.Group})
}

// forbidServe returns why a shard takes no slots yet, or nil.
func (g *group) forbidServe() *plan.Reason {
	if g.shard.Phase != hosts.ShardAdded {
		return g.reason(CodeMoot, "the shard is not new any more")
	}
	ready, why := 0, ""
	for _, m := range g.voters {
		if g.ready(m) {
			ready++
		}
	}
	switch r := g.unusable(); {
	case g.shard.InitialReplica() != nil:
		why = "the first replica has not begun"
	case r != nil:
		return r
	case g.shard.Waits:
		return g.reason(CodeRebuilt, "no slots move into the rebuilt shard, which grants nothing yet")
	case ready == len(g.voters) && ready >= g.wanted:
		return nil
	default:
		why = g.lacks()
	}
	r := g.reason(CodeJoining, "")
	r.Since = g.addedAt()
	r.Text = fmt.Sprintf("shard %d has weight 0: %d of %d voters are live and up to date; %s", g.shard.ID, ready,
		max(g.wanted, len(g.voters)), why)
	return r
}

// lacks explains why a group does not have all its voters yet.
func (g *group) lacks() string {
	for _, m := range g.voters {
		if !g.ready(m) {
			return m.name() + " is not up to date"
		}
	}
	for _, m := range g.learners {
		if r := g.waiting(m); r != nil {
			return strings.TrimPrefix(r.Text, fmt.Sprintf("shard %d: ", g.shard.ID))
		}
	}
	return "more replicas are to be added"
}

// addedAt returns the time at which a group got its first replica.
func (g *group) addedAt() (since uint64) {
	for i := range g.shard.Replicas {
		if p := &g.shard.Replicas[i]; since == 0 || p.Since != 0 && p.Since < since {
			since = p.Since
		}
	}
	return since
}

// forbidRetire returns why a shard cannot be deleted yet, or nil.
func (g *group) forbidRetire() *plan.Reason {
	s := g.shard
	owned := g.v.State.Counts()[s.ID]
	switch {
	case s.Phase != hosts.ShardLeaving:
		return g.reason(CodeMoot, "the shard is not to be removed")
	case owned > 0:
		return g.reason(CodeLeaving, fmt.Sprintf("removal waits for %d slots to move away", owned))
	case g.v.State.Owns(s.ID):
		return g.reason(CodeLeaving, "removal waits for moves into the shard to end")
	case g.seen.Age >= reportMillis || g.seen.Leader == 0:
		return g.reason(CodeNoReport, "removal waits for a report from the leader")
	case !g.seen.Idle:
		return g.reason(CodeLeaving, "removal waits until the shard has no session, no slot snapshot and no "+
			"pending work")
	}
	return nil
}

// forbidRestart returns why an added shard must not restart on a host, or nil.
func (g *group) forbidRestart(a *Action) *plan.Reason {
	h := g.v.State.Host(a.Host)
	if !g.failed() || g.shard.Group != a.Number || h == nil || !h.Living() || unable(g.v, h) != "" || !g.open(h) {
		return g.reason(CodeMoot, nameOf(g.v.State, a.Host)+" must not restart the shard")
	}
	return nil
}
