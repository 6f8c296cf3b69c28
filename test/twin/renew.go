package twin

import (
	"maps"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// Renew makes the shard anew, as a new group of replicas. committed is the twin of what is known to be committed.
func (t *Twin) Renew(r shard.Renewal, committed *Twin) {
	quiet := r.Quiet
	for _, sem := range t.semaphores {
		for _, l := range sem.links {
			if s := t.sessions[l.session]; l.owner && s.home {
				quiet = max(quiet, s.timeout+r.Quiet/2)
			}
		}
	}
	lastKnown := committed.lastSession
	if t.now < t.group.UnknownUntil {
		lastKnown = min(lastKnown, t.group.LastKnown)
	}
	for id, s := range committed.sessions {
		is := t.sessions[id]
		if s.home && !committed.hasEnded(s) && (is == nil || t.hasEnded(is)) && t.mistake != BuriesTheUndone {
			t.sessions[id] = s
		}
	}
	last := max(t.lastSession, r.Counted.LastSession)
	for id := range t.sessions {
		last = max(last, id.Counter())
	}
	t.lastSession = last + 1<<36
	t.lastOrder = max(t.lastOrder, r.Counted.LastOrder) + shard.OrderID(r.Jump.Orders)
	t.lastRevision = max(t.lastRevision, r.Counted.LastRevision) + shard.Revision(r.Jump.Others)
	t.level = max(t.level, 10)
	t.raised, t.term, t.base = t.level, 0, t.now
	t.group = shard.Group{
		Number: r.Group, Began: t.now, QuietUntil: t.now + quiet, UnknownUntil: t.now + r.Unknown,
		LastKnown: lastKnown, LastBefore: t.lastSession,
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
		if t.hasEnded(s) {
			delete(t.sessions, id)
			continue
		}
		if !s.home {
			s.losses += 1 << 20
		}
		if !s.home && t.mistake == ForgetsNumbers {
			s.applied, s.acked = 0, 0
			clear(s.answers)
			clear(s.asked)
		}
		for number, a := range s.answers {
			if a.Flags&(shard.FlagAcquired|shard.FlagQueued) != 0 && t.mistake != KeepsOwnership {
				s.updateAnswer(number, shard.AnswerState{Status: protocol.StatusAborted})
			}
		}
	}
}

// renewSemaphores keeps the persistent ones, without links, each with a new revision.
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

// isOver reports whether the session has ended, or is of an earlier group of replicas.
func (t *Twin) isOver(s *session) bool {
	return t.hasEnded(s) || s.home && s.id.Counter() <= t.group.LastBefore && t.mistake != ServesTheOld
}

// isQuiet reports whether an acquire is refused that would make a link.
func (t *Twin) isQuiet(m *mutation) bool {
	if t.now >= t.group.QuietUntil || t.mistake == GrantsAtOnce {
		return false
	}
	ephemeral := m.Flags&shard.FlagEphemeral != 0
	sem := t.semaphores[place{m.Node, string(m.Name)}]
	if sem == nil {
		return ephemeral && !m.isFull()
	}
	return sem.ephemeral == ephemeral && m.Count <= sem.limit
}

// Liveness is what the home says of a session.
func (t *Twin) Liveness(id shard.SessionID) shard.Liveness {
	s, counter := t.sessions[id], id.Counter()
	mayBeLost := t.now < t.group.UnknownUntil && counter > t.group.LastKnown && counter <= t.group.LastBefore
	switch {
	case !t.isHome(id):
		return shard.Unknown
	case s != nil && !t.hasEnded(s):
		return shard.Alive
	case counter > t.lastSession || mayBeLost && t.mistake != BuriesTheLost:
		return shard.Unknown
	}
	return shard.Dead
}
