package shard

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
)

// A shard holds named objects of several kinds; semaphores are one. What all kinds share is in
// object and link: a name in a node, a slot, a revision, and sessions that own or wait for it.
// A kind adds a store for what only it has, and its commands.
//
// To add a kind: give it a number, put a maker into kindMakers, its commands into mutations, and
// implement kind. Nothing of another kind changes.

type objectKind uint8

const (
	kindSemaphore objectKind = 1

	maxKinds = 8
)

var kindMakers = [maxKinds]func() kind{
	kindSemaphore: newSemaphores,
}

// kind is what the machine asks of a kind of objects.
type kind interface {
	// releaseLink: the session of the link ended. The link is removed, its place given to others, and watchers and
	// waiters are notified.
	releaseLink(m *Machine, link handle)

	// remove: the object goes with all its links, as in a forced delete. What is more than the command may do is left
	// to another remove.
	remove(m *Machine, object handle)

	// resume: a command left something to be done with the object, which is not deleted.
	resume(m *Machine, object handle)

	// bodySize is what an object counts for in its node's quota of bytes, beside what objects of every kind do.
	bodySize(body handle) int

	// free takes back what the kind's store holds for the object.
	free(body handle)

	// save appends what the kind holds for the object, in the form of the snapshot's level, load makes it again when a
	// snapshot is restored; load reports whether the bytes are sound. linked is called when all links of the object are
	// back in their order.
	save(dst []byte, body handle, at level.Level) []byte
	load(src []byte, at level.Level) (body handle, ok bool)
	linked(m *Machine, object handle) error

	// state appends the object to a plain State.
	state(m *Machine, object handle, s *State)
}

// mutation describes a numbered command on a named object.
type mutation struct {
	// form checks what can be seen from the command alone.
	form func(c *Command) bool
	// run carries it out. session is zero for a command outside of any session; object is zero where
	// there is none of that name. It must call answer once.
	run func(m *Machine, c *Command, t *target)
	// resume answers a repetition from the state; it returns false where the state says nothing.
	resume func(m *Machine, c *Command, t *target) bool
	// anonymous commands may come without a session.
	anonymous bool
}

// target is what a mutation is about.
type target struct {
	hash    uint64
	slot    Slot
	node    *node // nil: nothing of the node is here yet
	session handle
	object  handle
}

// mutate makes the checks that all mutations share, in the order that the package's DESIGN.md gives, and runs the
// command.
func (m *Machine) mutate(c *Command, mu *mutation) {
	if len(c.Name) == 0 || len(c.Name) > MaxName || len(c.Data) > MaxData || !numbered(c, mu) ||
		mu.form != nil && !mu.form(c) {
		m.answer(protocol.StatusBadRequest)
		return
	}
	t := &m.target
	*t = target{}
	t.hash = ObjectHash(c.Node, c.Name)
	t.slot = Slot(t.hash % Slots)
	if !m.slots.Has(t.slot) {
		m.answer(protocol.StatusMoved)
		return
	}
	t.node = m.nodes[c.Node]
	if t.node != nil && t.node.dropping {
		m.answer(protocol.StatusNotFound)
		return
	}
	if c.Session == 0 {
		t.object = m.objects.find(t.hash, c.Node, c.Name)
		if m.checkName(c, t) {
			mu.run(m, c, t)
		}
		return
	}
	if !m.admitSession(c, t) {
		return
	}
	s := m.sessions.at(t.session)
	t.object = m.objects.find(t.hash, c.Node, c.Name)
	if c.Number > s.applied && !m.checkName(c, t) {
		return
	}
	forgotten := 0
	if c.Acked > s.acked {
		m.touchSession(t.session)
		forgotten = s.acknowledge(c.Acked)
	}
	if c.Number <= s.applied {
		m.charge(s.node, -AnswerBytes*forgotten)
		m.repeat(c, mu, t)
		return
	}
	if len(s.answers) >= MaxUnacknowledged {
		assert(forgotten == 0, "who keeps as many answers as may be kept has forgotten none")
		m.answer(protocol.StatusOverloaded)
		return
	}
	if forgotten != 1 { // mostly one goes and one comes
		m.charge(s.node, AnswerBytes*(1-forgotten))
	}
	m.touchSession(t.session)
	s.applied = c.Number
	mu.run(m, c, t)
	s.keep(c.Number, &m.out.List[m.result])
}

// checkName sees to names of objects that are deleted and still have links: they are as if they were not there, but
// nothing new gets the name. A command that asks for it is refused for the moment, and nothing is recorded.
func (m *Machine) checkName(c *Command, t *target) bool {
	if t.object == 0 || !m.objects.at(t.object).deleting {
		return true
	}
	if c.Kind == CmdSemaphoreCreate || c.Kind == CmdAcquire && c.Flags&FlagEphemeral != 0 {
		m.answer(protocol.StatusOverloaded)
		return false
	}
	t.object = 0
	return true
}

// numbered checks the mutation fields.
func numbered(c *Command, mu *mutation) bool {
	if c.Session == 0 {
		return mu.anonymous && c.Number == 0 && c.Acked == 0
	}
	return c.Number > c.Acked && c.Session.Counter() != 0
}

// admitSession finds the command's session, or puts it on record where its home is another shard. It
// answers and returns false where the session may not do what it asks.
func (m *Machine) admitSession(c *Command, t *target) bool {
	t.session = m.sessions.find(c.Session)
	if t.session != 0 {
		switch s := m.sessions.at(t.session); {
		case s.ending:
			m.answer(protocol.StatusSessionExpired)
			return false
		case s.node != t.node:
			m.answer(protocol.StatusBadSession)
			return false
		}
		return true
	}
	if m.slots.Has(c.Session.Slot()) {
		m.answer(protocol.StatusSessionExpired)
		return false
	}
	if t.node != nil && t.node.sessions >= MaxSessionsPerNode {
		m.answer(protocol.StatusPreconditionFailed)
		return false
	}
	if frees := c.Kind == CmdRelease || c.Kind == CmdSemaphoreDelete; !frees && !m.mayGrow(t.node, 0, SessionBytes) {
		return false
	}
	t.node = m.nodeFor(c.Node)
	t.session = m.addSession(c.Session, t.node)
	e := m.emit(EffectSessionSeen)
	e.Session, e.Node = c.Session, c.Node
	return true
}

// repeat answers a command whose number is not above the highest applied.
func (m *Machine) repeat(c *Command, mu *mutation, t *target) {
	if mu.resume != nil && t.object != 0 && mu.resume(m, c, t) {
		return
	}
	s := m.sessions.at(t.session)
	if a := s.kept(c.Number); a != nil {
		e := m.answer(a.status)
		e.Flags, e.Abort, e.Order, e.Revision, e.Quota = a.flags, a.abort, a.order, a.revision, a.quota
		return
	}
	if mu.resume != nil && c.Number <= s.acked {
		m.answer(protocol.StatusSuccess)
		return
	}
	m.answer(protocol.StatusStale)
}
