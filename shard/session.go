package shard

import (
	"time"

	"github.com/signalbox/signalbox/protocol"
)

// session is a client's lease in one node. At its home shard it has everything; as a guest elsewhere
// only what it does there.
type session struct {
	id          SessionID
	node        *node
	description string
	client      ClientState // as its client last said with a command
	created     uint64      // wall clock, milliseconds; for people
	applied     uint64      // highest number applied
	acked       uint64      // the session has seen the answers up to here
	numberSpace uint64      // the latest space of numbers that it drew, 0 for none; at home only
	answers     []answer
	bodies      handle // of the answers; zero where none has one
	timeout     uint32 // milliseconds
	links       handle // root of its links by order id
	lastLink    handle
	linkCount   uint32
	waits       uint32 // how many of the links do not own
	stamp       uint32
	home        bool
	ending      bool // it is over, and some of its links are pending
	keyLen      uint8
	key         [MaxKey]byte
}

// sessionStore finds sessions by id and by node.
type sessionStore struct {
	slab[session]
	slots []table
	byID  forest
}

func newSessionStore() sessionStore { return sessionStore{slots: make([]table, Slots)} }

func sessionHash(id SessionID) uint32 { return uint32(mix(uint64(id)) >> 32) }

// find returns the session, zero where it is not known.
func (st *sessionStore) find(id SessionID) handle {
	t := &st.slots[id.Slot()]
	if t.count == 0 {
		return 0
	}
	hash := sessionHash(id)
	for i := t.start(hash); t.entries[i] != 0; i = t.follow(i) {
		if uint32(t.entries[i]>>32) == hash && st.at(handle(t.entries[i])).id == id {
			return handle(t.entries[i])
		}
	}
	return 0
}

// alive returns the session, zero where it is not known or has ended.
func (st *sessionStore) alive(id SessionID) handle {
	if h := st.find(id); h != 0 && !st.at(h).ending {
		return h
	}
	return 0
}

// before orders the sessions of a node by id.
func (st *sessionStore) before(a, b handle) bool { return st.at(a).id < st.at(b).id }

// addSession puts a session on record.
func (m *Machine) addSession(id SessionID, n *node) handle {
	h := m.sessions.alloc()
	s := m.sessions.at(h)
	s.id, s.node, s.stamp = id, n, m.epoch
	if s.home = m.slots.Has(id.Slot()); !s.home {
		m.guests++
	}
	m.sessions.slots[id.Slot()].insert(sessionHash(id), h)
	m.sessions.byID.insert(&n.ids, h, &m.sessions)
	n.sessions++
	m.charge(n, SessionBytes)
	return h
}

// dropSession takes a session that has no links off the record.
func (m *Machine) dropSession(h handle) {
	m.touchSession(h)
	s := m.sessions.at(h)
	assert(s.linkCount == 0, "a session goes with its links")
	if !s.home {
		m.guests--
	}
	if s.ending {
		m.removePending(pendingWork{session: h})
	}
	m.left--
	n := s.node
	m.charge(n, -m.sessionSize(s))
	m.dropBodies(s)
	m.sessions.slots[s.id.Slot()].remove(sessionHash(s.id), h)
	m.sessions.byID.remove(&n.ids, h)
	m.sessions.release(h)
	n.sessions--
	m.forgetIfEmpty(n)
}

// endSession ends a session: from now on it is over for everyone.
func (m *Machine) endSession(h handle, reason protocol.EndReason) {
	s := m.sessions.at(h)
	e := m.emit(EffectSessionEnded)
	e.Session, e.Node, e.End = s.id, s.node.id, reason
	m.releaseLinks(h)
}

// releaseLinks releases what a session that has ended has here, in order of order id, and forgets the session when that
// is all.
func (m *Machine) releaseLinks(h handle) {
	s := m.sessions.at(h)
	for s.linkCount > 0 {
		if m.left <= 0 {
			m.deferSession(h)
			return
		}
		link := m.links.bySession.first(s.links)
		object := m.links.at(link).object
		m.kinds[m.objects.at(object).kind].releaseLink(m, link)
	}
	m.dropSession(h)
}

func validSession(c *Command) bool {
	return c.Timeout <= uint64(MaxSessionTimeout/time.Millisecond) &&
		len(c.Data) <= MaxDescription && len(c.Key) <= MaxKey &&
		c.Client.fits()
}

func (m *Machine) sessionCreate(c *Command) {
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
	case n != nil && n.sessions >= MaxSessionsPerNode:
		m.answer(protocol.StatusPreconditionFailed)
		return
	case !m.mayGrow(n, 0, SessionBytes+len(c.Data)+len(c.Key)+c.Client.size()):
		return
	}
	m.lastSession++
	id := NewSessionID(c.Slot, m.lastSession)
	s := m.sessions.at(m.addSession(id, m.nodeFor(c.Node)))
	s.describe(c)
	s.keyLen = uint8(copy(s.key[:], c.Key))
	s.created = c.Time
	m.charge(s.node, s.size()-SessionBytes)
	m.answer(protocol.StatusSuccess).Session = id
}

// describe takes over what a session's client says of it.
func (s *session) describe(c *Command) {
	s.timeout = uint32(c.Timeout)
	if s.description != string(c.Data) {
		s.description = string(c.Data)
	}
	if !c.Client.isZero() {
		s.client = c.Client.state()
	}
}

func (m *Machine) sessionUpdate(c *Command) {
	if !validSession(c) {
		m.answer(protocol.StatusBadRequest)
		return
	}
	h := m.sessionAtHome(c)
	if h == 0 {
		return
	}
	s := m.sessions.at(h)
	if !m.mayGrow(s.node, 0, len(c.Data)-len(s.description)) {
		return
	}
	m.touchSession(h)
	before := s.size()
	s.describe(c)
	m.charge(s.node, s.size()-before)
	m.answer(protocol.StatusSuccess)
}

func (m *Machine) sessionEnd(c *Command) {
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
	if c.Flags&FlagOperator != 0 {
		reason = protocol.EndDestroyed
	}
	m.endSession(h, reason)
	m.answer(protocol.StatusSuccess)
}
