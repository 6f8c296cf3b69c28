package lease

import (
	"github.com/signalbox/signalbox/internal/heap"
	"github.com/signalbox/signalbox/shard"
)

// group contains the sessions in one table that are attached over one holder. The sessions share a timer: however
// many there are, they cause no individual work while the holder is heard.
type group struct {
	holder   *Holder
	number   groupNumber
	sessions heap.Heap[handle, silenceOrder] // the smallest timeout first
	at       instant                         // when to check the holder next; never after the first deadline
	place    int                             // in the table's watched
}

// silenceOrder orders a holder's sessions by how long the holder may be silent. Timeout 0 means no limit, so it sorts
// last, because 0 - 1 wraps around.
type silenceOrder struct{ *sessionStore }

func (o silenceOrder) Before(a, b handle) bool { return o.record(a).millis-1 < o.record(b).millis-1 }

// groupNumber is a group's index in a table; 0 means none.
type groupNumber uint32

// groups are a table's groups. Index 0 and the indexes of dissolved groups are empty.
type groups struct {
	of       map[*Holder]*group
	numbered []*group
	free     []groupNumber
}

func newGroups() groups { return groups{of: make(map[*Holder]*group), numbered: make([]*group, 1)} }

func (g *groups) add(x *group) {
	if n := len(g.free); n > 0 {
		x.number, g.free = g.free[n-1], g.free[:n-1]
	} else {
		x.number = groupNumber(len(g.numbered))
		g.numbered = append(g.numbered, nil)
	}
	g.of[x.holder], g.numbered[x.number] = x, x
}

func (g *groups) drop(x *group) {
	delete(g.of, x.holder)
	g.numbered[x.number] = nil
	g.free = append(g.free, x.number)
}

// groupOrder orders groups by when to check them.
type groupOrder struct{}

func (groupOrder) Before(a, b *group) bool { return a.at < b.at }
func (groupOrder) Placed(g *group, at int) { g.place = at }

// silent appends up to limit sessions that are due if the holder was last heard at heard, and returns when to check
// again if the holder stays silent.
func (g *group) silent(heard, now instant, limit int, due []*session) (_ []*session, next instant) {
	next = never
	limit += len(due)
	var visit func(place int)
	visit = func(place int) {
		if place >= len(g.sessions.Items) {
			return
		}
		s := g.sessions.By.record(g.sessions.Items[place])
		at := s.silentAt(heard)
		switch {
		case len(due) == limit:
			next = now
			return
		case at <= now:
			due = append(due, s)
		case s.millis == 0:
			return
		default:
			// The sessions below have larger timeouts, but possibly an earlier since. So the current session's
			// deadline is no bound for their deadlines; only the silence is.
			if soonest := heard.plus(s.timeout()); soonest > now {
				next = min(next, soonest)
				return
			}
			next = min(next, at)
		}
		visit(2*place + 1)
		visit(2*place + 2)
	}
	visit(0)
	return due, next
}

// attach adds a session without a place to the holder's group.
func (t *Table) attach(s *session, g *group) {
	t.become(s, attached)
	s.group = g.number
	g.sessions.Push(s.handle)
	t.attached++
	t.watch(g, s)
}

// watch ensures that the group is checked in time for the session.
func (t *Table) watch(g *group, s *session) {
	if at := s.silentAt(g.holder.lastHeard()); at < g.at {
		g.at = at
		t.watched.Fix(g.place)
	}
}

// groupOf returns the holder's group in this table, nil if the holder's connection has closed.
func (t *Table) groupOf(h *Holder) *group {
	g := t.groups.of[h]
	if g == nil && h != nil && h.addTable(t) {
		g = &group{holder: h, at: never}
		g.sessions.By = silenceOrder{&t.sessions}
		t.groups.add(g)
		t.watched.Push(g)
	}
	return g
}

// group returns an attached session's group, nil for a session without a holder.
func (t *Table) group(s *session) *group { return t.groups.numbered[s.group] }

// unplace removes a session from its group or from the timers. The caller handles a group that becomes empty.
func (t *Table) unplace(s *session) *group {
	g := t.group(s)
	switch s.state {
	case attached:
		g.sessions.Remove(int(s.place))
		s.group = 0
		t.attached--
	case detached, doubtful:
		t.timers.Remove(int(s.place))
	}
	return g
}

// lose removes a session from its holder, if it has one; the client must be notified.
func (t *Table) lose(s *session) (from *Holder) {
	g := t.unplace(s)
	if g == nil {
		return nil
	}
	// The order matters: either MayPong sees the debt, or this function sees the burst that MayPong vouched for.
	g.holder.debt.Add(1)
	s.since = max(s.since, g.holder.lastHeard())
	t.dissolveIfEmpty(g)
	return g.holder
}

// dissolveIfEmpty removes a group without sessions. Debts must be recorded first.
func (t *Table) dissolveIfEmpty(g *group) {
	if len(g.sessions.Items) == 0 {
		t.watched.Remove(g.place)
		t.groups.drop(g)
		g.holder.removeTable(t)
	}
}

// ids returns the group's sessions.
func (g *group) ids() []shard.SessionID {
	ids := make([]shard.SessionID, len(g.sessions.Items))
	for i, h := range g.sessions.Items {
		ids[i] = g.sessions.By.record(h).id
	}
	return ids
}
