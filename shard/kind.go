package shard

import (
	"strconv"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
)

// A shard holds named objects of several kinds; semaphores are one. What all kinds share is in
// object and link: a name in a node, a slot, a revision, and sessions that own or wait for it.
// A kind adds a store for what only it has, its rules, and its commands. DESIGN.md, section 8, says how one is added.

// ObjectKind is a kind of named objects. The numbers stand in snapshots and on the wire: they never change their
// meaning.
type ObjectKind uint8

// MaxKinds is above the number of every kind.
const MaxKinds = 8

// String returns the name of the kind in metrics, logs and texts for people.
func (k ObjectKind) String() string {
	if k < MaxKinds && kindRows[k].name != "" {
		return kindRows[k].name
	}
	return "kind-" + strconv.Itoa(int(k))
}

// Kinds returns the kinds of objects that a shard of a level may hold, in the order of their numbers.
func Kinds(at level.Level) (list []ObjectKind) {
	for k, row := range kindRows {
		if row.newStore != nil && row.level <= at {
			list = append(list, ObjectKind(k))
		}
	}
	return list
}

// kindRow is what a kind brings along.
type kindRow struct {
	name     string // in the table of levels, in metrics, for people
	level    level.Level
	newStore func() kind
}

// kindRows are the kinds of this build, by number.
var kindRows [MaxKinds]kindRow

// LevelOfKind returns the level that brings a kind, and false for a kind that this build does not know.
func LevelOfKind(k ObjectKind) (level.Level, bool) {
	if k >= MaxKinds || kindRows[k].newStore == nil {
		return 0, false
	}
	return kindRows[k].level, true
}

// kindCommand is a command of a kind: a numbered one of clients, or one that the leader proposes.
type kindCommand struct {
	kind CommandKind
	name string // in the table of levels, in logs
	// timed: it makes links, or may let waiters own, and carries the Time at which it was proposed.
	timed bool
	// Of a numbered command of clients.
	mutation
	// Of a command that the leader proposes.
	upkeep upkeep
}

// addKind makes a kind known, with its commands. It is called before there are machines.
func addKind(number ObjectKind, row kindRow, commands []kindCommand) {
	assert(number != 0 && number < MaxKinds && kindRows[number].newStore == nil, "a kind has a number of its own")
	kindRows[number] = row
	for _, c := range commands {
		assert(c.mostBody <= MaxAnswerBody, "a session that has seen all of its answers has room for any other")
		commandNames[c.kind], takesTime[c.kind] = c.name, c.timed
		commandLevels[c.kind] = level.Of(level.Command, c.name)
		c.of = number
		mutations[c.kind], upkeeps[c.kind] = c.mutation, c.upkeep
	}
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

	// due: the alarm of the object is over, and taken away. The object is not deleted.
	due(m *Machine, object handle)

	// bodySize is what an object counts for in its node's quota of bytes, beside what objects of every kind do.
	bodySize(body handle) int

	// free takes back what the kind's store holds for the object.
	free(body handle)

	// linkSize, freeLink, saveLink and loadLink do with the body of a link what bodySize, free, save and load do with
	// that of an object. They are called for links that have one.
	linkSize(body handle) int
	freeLink(body handle)
	saveLink(dst []byte, body handle, at level.Level) []byte
	loadLink(src []byte, at level.Level) (body handle, ok bool)

	// freeze fixes what save would append now, freezeLink what saveLink would, for things that may hold much: in work
	// that does not grow with that. They are called before a thing changes that a snapshot is to have as it is. nil
	// says that there is so little of it that it is saved at once.
	freeze(body handle) frozen
	freezeLink(body handle) frozen

	// role is what the session of a link is to the object, in a word for people.
	role(l *link) string

	// save appends what the kind holds for the object, in the form of the snapshot's level, load makes it again when a
	// snapshot is restored; load reports whether the bytes are sound. linked is called when all links of the object are
	// back in their order; it sets the object's alarm again.
	save(dst []byte, body handle, at level.Level) []byte
	load(src []byte, at level.Level) (body handle, ok bool)
	linked(m *Machine, object handle) error

	// renew returns what the object is saved as in a new cluster, in which it has no links: in the form of the newest
	// level. It returns false for an object that ends with its links. The object stays as it is.
	renew(body handle, n *renewal) (saved []byte, stays bool)

	// view finds a view of an object by its name: "" is all of it. Readers that ask for one that is not there are
	// answered as where there is no object. describe and changes fill what readers get of a view; d.Gone has the rows
	// that changed since, of which changes leaves those that are no more. changes returns false where that is too much
	// for one delta.
	view(m *Machine, object handle, name string) (view, bool)
	describe(m *Machine, object handle, v view, o *DescribeOptions, d *Description)
	changes(m *Machine, object handle, v view, since Revision, d *Delta) bool

	// state appends the object to a plain State.
	state(m *Machine, object handle, s *State)
}

// frozen appends what was fixed. It may run without the machine's lock, whatever has become of the thing.
type frozen func(dst []byte) []byte

// smallThings is embedded by a kind whose objects and links hold so little that they are saved at once.
type smallThings struct{}

func (smallThings) freeze(handle) frozen { return nil }

func (smallThings) freezeLink(handle) frozen { return nil }

// plainLinks is embedded by a kind whose links have no bodies.
type plainLinks struct{}

func (plainLinks) linkSize(handle) int { return 0 }

func (plainLinks) freeLink(handle) {}

func (plainLinks) saveLink(dst []byte, _ handle, _ level.Level) []byte { return dst }

func (plainLinks) loadLink([]byte, level.Level) (handle, bool) { return 0, false }

// mutation describes a numbered command on a named object.
type mutation struct {
	// of is the kind of objects that it is for.
	of ObjectKind
	// form checks what can be seen from the command alone.
	form func(c *Command) bool
	// run carries it out. session is zero for a command outside of any session; object is zero where
	// there is none of that name. It must call answer once.
	run func(m *Machine, c *Command, t *target)
	// resume answers a repetition from the state; it returns false where the state says nothing.
	resume func(m *Machine, c *Command, t *target) bool
	// anonymous commands may come without a session.
	anonymous bool
	// frees: it makes nothing grow, so that a guest may come with it where there is no room for one.
	frees bool
	// makes reports whether the command asks for an object of its name to be made where there is none.
	makes func(c *Command) bool
	// waits: the Timeout of the command is for how long it may wait, and no part of what it asks for.
	waits bool
	// mostBody is the most bytes that the body of its answer may have. Where it is not 0 the command is of the level of
	// "answer-bytes" or above.
	mostBody int
}

// mutations are the numbered commands of all kinds.
var mutations [256]mutation

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
		if m.checkName(c, mu, t) {
			m.run(c, mu, t)
		}
		return
	}
	if !m.admitSession(c, mu, t) {
		return
	}
	s := m.sessions.at(t.session)
	t.object = m.objects.find(t.hash, c.Node, c.Name)
	if c.Number > s.applied && !m.checkName(c, mu, t) {
		return
	}
	forgotten := 0
	if c.Acked > s.acked {
		m.touchSession(t.session)
		forgotten = s.acknowledge(c.Acked)
		m.forgetBodies(s, 0, c.Acked)
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
	if !m.hasRoomForAnswer(s, mu) {
		m.charge(s.node, -AnswerBytes*forgotten)
		m.answer(protocol.StatusOverloaded)
		return
	}
	if forgotten != 1 { // mostly one goes and one comes
		m.charge(s.node, AnswerBytes*(1-forgotten))
	}
	m.touchSession(t.session)
	before := s.applied
	s.applied = c.Number
	m.run(c, mu, t)
	e := &m.out.List[m.result]
	if e.Status == protocol.StatusOverloaded {
		// There may be room later: the number stands for the same command then.
		s.applied = before
		m.charge(s.node, -AnswerBytes)
		return
	}
	asked := uint64(0)
	if m.rules >= numberOfOneRequest {
		asked = askedOf(c, mu, t.hash)
	}
	s.keep(c.Number, asked, e)
	if e.Body != "" {
		assert(len(e.Body) <= mu.mostBody, "an answer has no longer body than its command may have")
		m.keepBody(s, c.Number, e.Body)
	}
}

// run carries the command out, unless the object of that name is of another kind.
func (m *Machine) run(c *Command, mu *mutation, t *target) {
	if t.object != 0 && m.objects.at(t.object).kind != mu.of {
		m.answer(protocol.StatusPreconditionFailed)
		return
	}
	mu.run(m, c, t)
}

// checkName sees to names of objects that are deleted and still have links: they are as if they were not there, but
// nothing new gets the name. A command that asks for it is refused for the moment, and nothing is recorded.
func (m *Machine) checkName(c *Command, mu *mutation, t *target) bool {
	if t.object == 0 || !m.objects.at(t.object).deleting {
		return true
	}
	if mu.makes != nil && mu.makes(c) {
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
func (m *Machine) admitSession(c *Command, mu *mutation, t *target) bool {
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
	if !mu.frees && !m.mayGrow(t.node, 0, SessionBytes) {
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
	s := m.sessions.at(t.session)
	a := s.kept(c.Number)
	if m.isAnother(c, mu, t, a) {
		m.refuseAnother()
		return
	}
	if mu.resume != nil && t.object != 0 && m.objects.at(t.object).kind == mu.of && mu.resume(m, c, t) {
		return
	}
	if a != nil {
		e := m.answer(a.status)
		e.Flags, e.Abort, e.Order, e.Revision, e.Quota = a.flags, a.abort, a.order, a.revision, a.quota
		e.Body = m.keptBody(s, c.Number)
		return
	}
	if mu.resume != nil && c.Number <= s.acked {
		m.answer(protocol.StatusSuccess)
		return
	}
	m.answer(protocol.StatusStale)
}

// ObjectOf returns the kind of objects that a command is for, zero where it is for none.
func ObjectOf(k CommandKind) ObjectKind { return mutations[k].of }
