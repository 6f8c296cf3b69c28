package replica

import (
	"iter"

	"github.com/signalbox/signalbox/shard"
)

// sessionMap maps sessions to values. Sessions are grouped by slot, so the sessions of one home shard are found without
// a search of all sessions.
type sessionMap[V any] struct {
	slots [shard.Slots]map[shard.SessionID]V
	len   int
}

func (m *sessionMap[V]) get(id shard.SessionID) V { return m.slots[id.Slot()][id] }

func (m *sessionMap[V]) set(id shard.SessionID, v V) {
	in := &m.slots[id.Slot()]
	if *in == nil {
		*in = make(map[shard.SessionID]V)
	}
	before := len(*in)
	(*in)[id] = v
	m.len += len(*in) - before
}

func (m *sessionMap[V]) remove(id shard.SessionID) {
	in := m.slots[id.Slot()]
	before := len(in)
	delete(in, id)
	m.len -= before - len(in)
}

// of yields the sessions with the given home shard. The caller may remove a yielded session.
func (m *sessionMap[V]) of(home *Replica) iter.Seq[shard.SessionID] {
	return func(yield func(shard.SessionID) bool) {
		for slot, in := range m.slots {
			if len(in) == 0 || home.set.Of(shard.Slot(slot)) != home {
				continue
			}
			for id := range in {
				if !yield(id) {
					return
				}
			}
		}
	}
}
