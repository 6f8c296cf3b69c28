package twin

import (
	"maps"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine"
)

// Renew rebuilds the shard, as a new group of replicas.
func (t *Twin) Renew(r machine.Renewal) {
	longest := r.Longest
	candidates := []shard.Longest{}
	for id, s := range t.sessions {
		if s.home && !t.hasEnded(s) {
			candidates = append(candidates, shard.Longest{Timeout: s.timeout, Session: id})
		}
	}
	if t.waits() {
		candidates = append(candidates, t.group.Longest)
	}
	for _, l := range candidates {
		if l.Timeout > longest.Timeout || l.Timeout == longest.Timeout && l.Session < longest.Session {
			longest = l
		}
	}
	last := max(t.lastSession, r.Counted.LastSession)
	for id := range t.sessions {
		last = max(last, id.Counter())
	}
	t.lastSession = last + 1<<36
	t.lastOrder = max(t.lastOrder, r.Counted.LastOrder) + shard.OrderID(r.Jump.Orders)
	t.lastRevision = max(t.lastRevision, r.Counted.LastRevision) + shard.Revision(r.Jump.Others)
	t.raised, t.term, t.base = t.level, 0, t.now
	t.group = shard.Group{
		Number: r.Group, Began: t.now, Before: t.lastSession, Longest: longest,
	}
	t.renewSessions()
	t.renewSemaphores()
	t.pending = nil
	for node := range t.dropping {
		if _, limited := t.limited[node]; !limited && len(t.sessionsOf(node)) == 0 {
			delete(t.dropping, node)
		}
	}
}

func (t *Twin) renewSessions() {
	for id, s := range t.sessions {
		if t.hasEnded(s) || s.home && t.mistake != ServesTheOld {
			delete(t.sessions, id)
			continue
		}
		s.losses += 1 << 20
		if t.mistake == ForgetsNumbers {
			s.applied, s.acked = 0, 0
			clear(s.answers)
			clear(s.asked)
		}
		for _, a := range s.answers {
			if a.Flags&(shard.FlagAcquired|shard.FlagQueued) != 0 && t.mistake != KeepsOwnership {
				s.replaceAnswer(a, shard.AnswerState{Status: protocol.StatusAborted})
			}
		}
	}
}

// renewSemaphores keeps persistent semaphores, without links, each with a new revision.
func (t *Twin) renewSemaphores() {
	for p, sem := range t.semaphores {
		if sem.ephemeral || sem.deleting || t.dropping[p.node] {
			delete(t.semaphores, p)
		}
		sem.links = nil
	}
	nodes := make(map[shard.NodeID]bool)
	for p := range t.semaphores {
		nodes[p.node] = true
	}
	for _, node := range slices.Sorted(maps.Keys(nodes)) {
		for _, sem := range t.semaphoresOf(node) {
			t.lastRevision++
			sem.revision = t.lastRevision
		}
	}
}

// waits reports whether the wait after a renewal is not over.
func (t *Twin) waits() bool {
	return t.group.Number > 0 && (t.group.Until == 0 || t.now < t.group.Until)
}

// groupWait starts the wait, or ends it for an operator.
func (t *Twin) groupWait(c *shard.Command) {
	g := &t.group
	switch {
	case c.Term != t.term, c.Count == 0, c.Count != g.Number:
		t.answer(shard.Effect{Status: protocol.StatusStale})
		return
	case c.Flags&shard.FlagOperator != 0:
		if g.Until == 0 || g.Until > t.now {
			g.Until = max(t.now, 1)
		}
	case g.Until == 0 && t.mistake == WaitsForNoOwner:
		g.Until = t.now + max(c.Timeout, 1)
	case g.Until == 0:
		g.Until = t.now + max(c.Timeout, g.Longest.Timeout, 1)
	}
	t.answer(shard.Effect{})
}

// waitLeft is how long the shard waits at the least.
func (t *Twin) waitLeft() uint64 {
	if t.group.Until == 0 {
		return max(t.group.Longest.Timeout, 1)
	}
	return t.group.Until - t.now
}

// isQuiet reports whether an acquire that would create a link is refused.
func (t *Twin) isQuiet(m *mutation) bool {
	if !t.waits() || t.mistake == GrantsAtOnce {
		return false
	}
	ephemeral := m.Flags&shard.FlagEphemeral != 0
	sem := t.semaphores[place{m.Node, string(m.Name)}]
	if sem == nil {
		return ephemeral
	}
	return sem.ephemeral == ephemeral && m.Count <= sem.limit
}

// Liveness is a session's state at its home.
func (t *Twin) Liveness(id shard.SessionID) shard.Liveness {
	s, counter := t.sessions[id], id.Counter()
	switch {
	case !t.isHome(id):
		return shard.Unknown
	case s != nil && !t.hasEnded(s):
		return shard.Alive
	case counter > t.lastSession || counter <= t.group.Before && t.waits() && t.mistake != BuriesTheLost:
		return shard.Unknown
	}
	return shard.Dead
}
