package replica

import (
	"sync/atomic"

	"github.com/signalbox/signalbox/shard"
)

// announced is a shard's leadership as announced by the leader to all hosts (server.Host.NoteLed), so that a host
// without a replica of the shard knows the leader.
type announced struct {
	leadership atomic.Pointer[shard.Leadership]
}

// note stores a later leadership, and reports whether the term is later. A term has one leader, so a second
// leadership in the same term is ignored like an earlier one.
func (a *announced) note(l shard.Leadership) bool {
	for {
		before := a.leadership.Load()
		if before != nil && before.Term >= l.Term {
			return false
		}
		if a.leadership.CompareAndSwap(before, &l) {
			return true
		}
	}
}

// or returns the later leadership: the announced one, or the local replica's. In the same term, the announced
// leadership wins only if the replica does not know the leader.
func (a *announced) or(own shard.Leadership) shard.Leadership {
	l := a.leadership.Load()
	if l != nil && (l.Term > own.Term || l.Term == own.Term && own.Leader == 0) {
		return *l
	}
	return own
}

// NoteLeader stores a shard's announced leadership, unless a leadership in the same or a later term is known.
func (s *Set) NoteLeader(id uint64, l shard.Leadership) {
	switch r := s.Shard(id); {
	case id == MetaShard:
		s.Meta.announced.note(l)
	case r == nil:
		return
	case r.announced.note(l):
		s.HomeShards.led(r)
	}
	s.Wake()
}

// Known returns the leadership for messages to clients: Leader, or an announced leadership in a later term.
func (r *Replica) Known() shard.Leadership { return r.announced.or(r.Leader()) }

// Known returns the meta shard's leadership for messages to clients, like Replica.Known.
func (m *Meta) Known() shard.Leadership { return m.announced.or(m.Leader()) }
