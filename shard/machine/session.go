package machine

import (
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/internal/assert"
)

// session is a client's lease in one node. The home shard has the whole session; a shard with the session as a guest
// has only the links and the answers of the shard itself.
type session struct {
	id          shard.SessionID
	node        arena.Handle // see Machine.nodeOf
	description arena.Text   // of the store of sessions
	client      clientTexts  // as the client said in its last command
	created     uint64       // wall clock, milliseconds; for people
	applied     uint64       // highest number applied
	acked       uint64       // the session has seen the answers up to here
	numberSpace uint64       // the latest space of numbers, 0 for none; at home only
	losses      uint64       // how many semaphores were deleted under the session; for guests only
	answers     arena.Handle // in the slab of kept answers; zero without answers
	bodies      arena.Handle // of the answers; zero if no answer has a body
	timeout     uint32       // milliseconds
	links       arena.Handle // root of its links by order id
	lastLink    arena.Handle
	linkCount   uint32
	waits       uint32 // how many of the links do not own
	stamp       uint32
	home        bool
	ending      bool // ended, with some of its links pending
	keyLen      uint8
	key         [shard.MaxKey]byte
}

// sessionStore finds sessions by id and by node.
type sessionStore struct {
	arena.Slab[session]
	slots []arena.Table
	byID  arena.Forest
	texts arena.Texts
	kept  arena.Slab[[]answer]
}

// clientTexts are the address, the name and the version of a client, without pointers.
type clientTexts [3]arena.Text

func newSessionStore() sessionStore {
	return sessionStore{slots: make([]arena.Table, shard.Slots), texts: arena.NewTexts()}
}

// nodeOf returns the node of a session.
func (m *Machine) nodeOf(s *session) *node { return *m.objects.nodes.At(s.node) }

// note keeps address, name and version of a session's client.
func (st *sessionStore) note(s *session, c *shard.ClientRef) {
	for i, b := range [...][]byte{c.Address, c.Name, c.Version} {
		st.texts.Replace(&s.client[i], b)
	}
}

// clientOf returns the client of a session, for use while the machine's lock is held.
func (st *sessionStore) clientOf(s *session) shard.ClientRef {
	return shard.ClientRef{
		Address: st.texts.Bytes(s.client[0]), Name: st.texts.Bytes(s.client[1]), Version: st.texts.Bytes(s.client[2]),
	}
}

func sessionHash(id shard.SessionID) uint32 { return uint32(arena.Mix(uint64(id)) >> 32) }

// find returns the session, or zero for an unknown session.
func (st *sessionStore) find(id shard.SessionID) arena.Handle {
	t, hash := &st.slots[id.Slot()], sessionHash(id)
	h, at := t.First(hash)
	for h != 0 && st.At(h).id != id {
		h, at = t.Next(hash, at)
	}
	return h
}

// alive returns the session, or zero for a session that is unknown or has ended.
func (st *sessionStore) alive(id shard.SessionID) arena.Handle {
	if h := st.find(id); h != 0 && !st.At(h).ending {
		return h
	}
	return 0
}

// Before orders the sessions of a node by id.
func (st *sessionStore) Before(a, b arena.Handle) bool { return st.At(a).id < st.At(b).id }

// addSession puts a session on record.
func (m *Machine) addSession(id shard.SessionID, n *node) arena.Handle {
	h := m.sessions.Alloc()
	s := m.sessions.At(h)
	s.id, s.node, s.stamp = id, n.handle, m.epoch
	if s.home = m.slots.Has(id.Slot()); !s.home {
		m.guests++
	}
	m.sessions.slots[id.Slot()].Insert(sessionHash(id), h)
	m.sessions.byID.Insert(&n.ids, h, &m.sessions)
	n.sessions++
	m.charge(n, shard.SessionBytes)
	return h
}

// dropSession takes a session without links off the record.
func (m *Machine) dropSession(h arena.Handle) {
	m.touchSession(h)
	s := m.sessions.At(h)
	assert.That(s.linkCount == 0, "a session goes with its links")
	if !s.home {
		m.guests--
	}
	if s.ending {
		m.removePending(pendingWork{session: h})
	}
	m.left--
	n := m.nodeOf(s)
	m.charge(n, -m.sessionSize(s))
	m.dropBodies(s)
	m.sessions.texts.Free(s.description)
	m.sessions.note(s, &shard.ClientRef{})
	m.sessions.setAnswers(s, nil)
	m.sessions.slots[s.id.Slot()].Remove(sessionHash(s.id), h)
	m.sessions.byID.Remove(&n.ids, h)
	m.sessions.Release(h)
	n.sessions--
	m.forgetIfEmpty(n)
}

// endSession ends a session, for every client and every shard.
func (m *Machine) endSession(h arena.Handle, reason protocol.EndReason) {
	s := m.sessions.At(h)
	e := m.emit(shard.EffectSessionEnded)
	e.Session, e.Node, e.End = s.id, m.nodeOf(s).id, reason
	m.releaseLinks(h)
}

// releaseLinks releases the links of an ended session in this shard, in order of order id, and forgets the session
// after the last link.
func (m *Machine) releaseLinks(h arena.Handle) {
	s := m.sessions.At(h)
	for s.linkCount > 0 {
		if m.left <= 0 {
			m.deferSession(h)
			return
		}
		link := m.links.bySession.First(s.links)
		object := m.links.At(link).object
		m.kinds[m.objects.At(object).kind].releaseLink(m, link)
	}
	m.dropSession(h)
}

func validSession(c *shard.Command) bool {
	return c.Timeout <= uint64(shard.MaxSessionTimeout/time.Millisecond) &&
		len(c.Data) <= shard.MaxDescription && len(c.Key) <= shard.MaxKey &&
		c.Client.Fits()
}

func (m *Machine) sessionCreate(c *shard.Command) {
	n := m.nodes[c.Node]
	switch {
	case !validSession(c):
		m.answer(protocol.StatusBadRequest)
		return
	case !m.slots.Has(c.Slot):
		m.answer(protocol.StatusMoved)
		return
	case n != nil && n.dropping:
		m.answer(protocol.StatusNotFound)
		return
	case n != nil && n.sessions >= shard.MaxSessionsPerNode:
		m.answer(protocol.StatusPreconditionFailed)
		return
	case !m.mayGrow(n, 0, shard.SessionBytes+len(c.Data)+len(c.Key)+c.Client.Size()):
		return
	}
	m.lastSession++
	id := shard.NewSessionID(c.Slot, m.lastSession)
	s := m.sessions.At(m.addSession(id, m.nodeFor(c.Node)))
	m.sessions.describe(s, c)
	s.keyLen = uint8(copy(s.key[:], c.Key))
	s.created = c.Time
	m.charge(m.nodeOf(s), m.sessions.sizeOf(s)-shard.SessionBytes)
	m.answer(protocol.StatusSuccess).Session = id
}

// describe records the description by the session's client.
func (st *sessionStore) describe(s *session, c *shard.Command) {
	s.timeout = uint32(c.Timeout)
	st.texts.Replace(&s.description, c.Data)
	if !c.Client.IsZero() {
		st.note(s, &c.Client)
	}
}

func (m *Machine) sessionUpdate(c *shard.Command) {
	if !validSession(c) {
		m.answer(protocol.StatusBadRequest)
		return
	}
	h := m.sessionAtHome(c)
	if h == 0 {
		return
	}
	s := m.sessions.At(h)
	if !m.mayGrow(m.nodeOf(s), 0, len(c.Data)-len(m.sessions.texts.Bytes(s.description))) {
		return
	}
	m.touchSession(h)
	before := m.sessions.sizeOf(s)
	m.sessions.describe(s, c)
	m.charge(m.nodeOf(s), m.sessions.sizeOf(s)-before)
	m.answer(protocol.StatusSuccess)
}

func (m *Machine) sessionEnd(c *shard.Command) {
	if !m.slots.Has(c.Session.Slot()) {
		m.answer(protocol.StatusMoved)
		return
	}
	h := m.sessions.alive(c.Session)
	if h == 0 {
		m.answer(protocol.StatusSessionExpired)
		return
	}
	reason := protocol.EndStopped
	if c.Flags&shard.FlagOperator != 0 {
		reason = protocol.EndDestroyed
	}
	m.endSession(h, reason)
	m.answer(protocol.StatusSuccess)
}
