package machine

import (
	"bytes"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
)

// ListObjects appends the objects in the node that have names beginning with prefix and sorted behind after, in name
// order, for all kinds. It appends at most limit objects and looks at no more than MaxPage. last is the last name
// looked at: the after argument for the next call, if there is more.
func (m *Machine) ListObjects(n shard.NodeID, prefix, after string, limit int,
	dst []shard.ObjectView) (_ []shard.ObjectView, last string, more bool) {
	last, more = m.WalkNames(0, n, prefix, after, limit, func(co *Core, o *Object) {
		dst = append(dst, shard.ObjectView{
			Name: co.Objects.Name(o), Kind: o.Kind, Revision: o.Revision, Links: int(o.Held),
		})
	})
	return dst, last, more
}

// WalkNames calls fn for the objects of a kind in a node, in name order and without deleted objects. Kind 0 means all
// kinds. The walk ends after limit calls, or after a look at MaxPage objects. WalkNames returns the last name looked
// at, and whether there is more.
func (m *Machine) WalkNames(k shard.ObjectKind, n shard.NodeID, prefix, after string, limit int,
	fn func(co *Core, o *Object)) (last string, more bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	known := m.core.Nodes.byID[n]
	if known == nil {
		return after, false
	}
	limit = PageLimit(limit)
	looked, seen := 0, (*Object)(nil)
	defer func() {
		if last = after; seen != nil {
			last = m.core.Objects.Name(seen)
		}
	}()
	for h := m.core.Objects.nameAfter(known.names, prefix, after); h != 0; h = m.core.Objects.byName.Next(h) {
		o := m.core.Objects.At(h)
		if !bytes.HasPrefix(m.core.Objects.names.Bytes(o.name), protocol.View(prefix)) {
			break
		}
		if limit == 0 || looked == shard.MaxPage {
			return "", true
		}
		seen = o
		looked++
		if !o.Deleting && (k == 0 || o.Kind == k) {
			fn(m.core, o)
			limit--
		}
	}
	return "", false
}

// nameAfter returns the first object in a name tree that is behind after and not before prefix.
func (ob *Objects) nameAfter(root arena.Handle, prefix, after string) arena.Handle {
	return ob.byName.Search(root, func(h arena.Handle) bool {
		name := protocol.Text(ob.names.Bytes(ob.At(h).name))
		return name > after && name >= prefix
	})
}

// view returns a session without details and client, so it copies no texts.
func (se *Sessions) view(s *session) shard.SessionView {
	return shard.SessionView{
		ID: s.id, Node: se.Node(s).ID, Home: s.home, Timeout: uint64(s.timeout), Keyed: s.keyLen > 0,
		Owns: int(s.linkCount - s.waits), Waits: int(s.waits), Created: s.created,
	}
}

// read returns a session with copied details and client.
func (se *Sessions) read(s *session) shard.SessionView {
	v, client := se.view(s), se.clientOf(s)
	v.Details, v.Client = se.texts.String(s.details), client.State()
	return v
}

// Session returns a session without details and client.
func (m *Machine) Session(id shard.SessionID) (v shard.SessionView, known bool) {
	return m.sessionAs(id, m.core.Sessions.view)
}

// DescribeSession returns a session with details and client.
func (m *Machine) DescribeSession(id shard.SessionID) (v shard.SessionView, known bool) {
	return m.sessionAs(id, m.core.Sessions.read)
}

func (m *Machine) sessionAs(id shard.SessionID, as func(*session) shard.SessionView) (v shard.SessionView, known bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	h := m.core.Sessions.Alive(id)
	if h == 0 {
		return shard.SessionView{}, false
	}
	return as(m.core.Sessions.At(h)), true
}

// Client returns the client description the session's last command carried.
func (m *Machine) Client(id shard.SessionID) (_ shard.ClientState, known bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	h := m.core.Sessions.Alive(id)
	if h == 0 {
		return shard.ClientState{}, false
	}
	client := m.core.Sessions.clientOf(m.core.Sessions.At(h))
	return client.State(), true
}

// KeyMatches reports whether a client with the key may take over the session: the session has the same key, or no key.
func (m *Machine) KeyMatches(id shard.SessionID, key []byte) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	h := m.core.Sessions.Alive(id)
	if h == 0 {
		return false
	}
	s := m.core.Sessions.At(h)
	return s.home && (s.keyLen == 0 || string(s.key[:s.keyLen]) == string(key))
}

// ListSessions appends the node's sessions with their home here and with ids behind after, in id order, and reports
// whether there are more. It looks at no more than MaxPage sessions; last is the last id looked at, for the next call.
func (m *Machine) ListSessions(n shard.NodeID, after shard.SessionID, limit int,
	dst []shard.SessionView) (_ []shard.SessionView, last shard.SessionID, more bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	known := m.core.Nodes.byID[n]
	if known == nil {
		return dst, after, false
	}
	h := m.core.Sessions.byID.Search(known.ids, func(h arena.Handle) bool { return m.core.Sessions.At(h).id > after })
	limit = PageLimit(limit)
	for looked := 0; h != 0; h = m.core.Sessions.byID.Next(h) {
		if limit == 0 || looked == shard.MaxPage {
			return dst, after, true
		}
		s := m.core.Sessions.At(h)
		after = s.id
		looked++
		if s.home && !s.ending {
			dst = append(dst, m.core.Sessions.read(s))
			limit--
		}
	}
	return dst, after, false
}

// ListHoldings appends a session's holdings in this shard, on objects of every kind, that are behind an order id. They
// come in order-id order. It also reports whether there are more.
func (m *Machine) ListHoldings(id shard.SessionID, after shard.OrderID, limit int,
	dst []shard.Holding) (_ []shard.Holding, more bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	session := m.core.Sessions.Alive(id)
	if session == 0 {
		return dst, false
	}
	h := m.core.Holdings.Behind(session, after)
	limit = PageLimit(limit)
	for ; h != 0; h = m.core.Holdings.bySession.Next(h) {
		l := m.core.Holdings.At(h)
		if m.core.Objects.At(l.Object).Deleting {
			continue
		}
		if limit == 0 {
			return dst, true
		}
		limit--
		o := m.core.Objects.At(l.Object)
		dst = append(dst, shard.Holding{
			Name: m.core.Objects.Name(o), Kind: o.Kind, Role: m.core.kinds[o.Kind].Role(l),
			LinkView: m.core.Holdings.View(l, ""),
		})
	}
	return dst, false
}

// Behind returns a session's first holding behind an order id, or zero.
func (ho *Holdings) Behind(session arena.Handle, after shard.OrderID) arena.Handle {
	root := ho.core.Sessions.At(session).links
	return ho.bySession.Search(root, func(h arena.Handle) bool { return ho.At(h).Order > after })
}

// Linked reports whether a session has a holding on an object: it owns the object, waits for it, or takes part in it.
func (m *Machine) Linked(id shard.SessionID, of shard.Ref) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	session, object := m.core.Sessions.Alive(id), m.core.Objects.Alive(of.Kind, of.Node, protocol.View(of.Name))
	return session != 0 && object != 0 && m.core.Holdings.Find(m.core.Objects.At(object), object, session) != 0
}
