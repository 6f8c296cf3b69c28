package machine

import (
	"cmp"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/internal/assert"
)

// A shard holds named objects of several kinds; semaphores are one kind. Files object.go and holding.go have the common
// part of all kinds: a name in a node, a slot, a revision, and sessions that own the object or wait for it. A kind
// adds a store for its own state, its rules, and its commands. docs/maintainers.md says how to add a kind.

// KindRow describes a kind to NewKinds.
type KindRow struct {
	Number   shard.ObjectKind
	New      func() Kind // makes an empty store
	Commands []CommandRow
}

// CommandRow is a command of a kind: either a numbered command of clients, or a command that the leader proposes.
type CommandRow struct {
	Kind shard.CommandKind
	Mutation
	Upkeep Upkeep
}

// Kinds are the kinds of objects that a machine can hold, with their commands. Package kinds lists those of the build.
type Kinds struct {
	rows      [shard.MaxKinds]KindRow
	mutations [256]Mutation
	upkeeps   [256]Upkeep
}

// NewKinds returns the kinds of the rows.
func NewKinds(rows ...KindRow) *Kinds {
	ks := &Kinds{upkeeps: upkeeps}
	for _, row := range rows {
		assert.That(row.Number != 0 && row.Number < shard.MaxKinds && ks.rows[row.Number].New == nil,
			"a kind has a number of its own")
		ks.rows[row.Number] = row
		for _, c := range row.Commands {
			assert.That(c.MostBody <= shard.MaxAnswerBody,
				"a session that has seen all of its answers has room for any other")
			c.of = row.Number
			ks.mutations[c.Kind], ks.upkeeps[c.Kind] = c.Mutation, c.Upkeep
		}
	}
	return ks
}

// Kind is the interface of a kind of objects towards the machine: the store of the kind's own state, and its rules. The
// state of an object, and of a holding if the kind keeps any, has a handle in the store.
type Kind interface {
	// ReleaseHolding removes a holding whose session has ended, grants what becomes free, and notifies watchers and
	// waiters.
	ReleaseHolding(co *Core, holding arena.Handle)

	// Remove deletes an object with all its holdings, as a forced delete does. It leaves work beyond the command's
	// limit to the next call.
	Remove(co *Core, object arena.Handle)

	// Resume continues work that an earlier command left unfinished. The object is not deleted.
	Resume(co *Core, object arena.Handle)

	// Due handles an alarm of an object, or of one of its waiters, which has fired and is cleared. waiter is zero for
	// an alarm of the object itself. The object is not deleted.
	Due(co *Core, object, waiter arena.Handle)

	// StateSize returns the bytes that the state adds to the object's size in the node quota.
	StateSize(state arena.Handle) int

	// FreeState releases the state of an object.
	FreeState(state arena.Handle)

	// HoldingSize, FreeHolding, SaveHolding and LoadHolding are for the state of a holding, as StateSize, FreeState,
	// Save and Load are for the state of an object. The machine calls them only for holdings with a state.
	HoldingSize(state arena.Handle) int
	FreeHolding(state arena.Handle)
	SaveHolding(dst []byte, state arena.Handle) []byte
	LoadHolding(src []byte) (state arena.Handle, ok bool)

	// Freeze fixes the bytes that Save would append now, and FreezeHolding the bytes of SaveHolding, for states that
	// may be large; the work does not grow with the size. The machine calls both before a change, if a snapshot needs
	// the old state. nil says that the state is small, so that the machine saves it at once.
	Freeze(state arena.Handle) Frozen
	FreezeHolding(state arena.Handle) Frozen

	// Role is what the session of a holding is to the object, in a word for people.
	Role(l *Holding) string

	// Save appends the state of an object, Load makes it again when a snapshot is restored; Load reports whether the
	// bytes are sound. Linked is called when all holdings of the object are back in their order; it sets the object's
	// alarm again.
	Save(dst []byte, state arena.Handle) []byte
	Load(src []byte) (state arena.Handle, ok bool)
	Linked(co *Core, object arena.Handle) error

	// Renew returns the saved form of the object for a new cluster, without holdings. It returns false for an object
	// that ends with its holdings. The object itself stays as it is.
	Renew(state arena.Handle, n *StateRenewal) (saved []byte, stays bool)

	// View finds a view of an object by its name: "" is the whole object. A reader of a missing view gets the answer
	// for a missing object. Describe fills in the description of a view, Changes fills in its delta. d.Gone has the
	// rows that changed since; Changes leaves only the rows that are gone, and returns false if there is too much for
	// one delta.
	View(co *Core, object arena.Handle, name string) (View, bool)
	Describe(co *Core, object arena.Handle, v View, o Described, d *shard.Description)
	Changes(co *Core, object arena.Handle, v View, since shard.Revision, d *shard.Delta) bool

	// AppendState appends the object to a plain State.
	AppendState(co *Core, object arena.Handle, s *shard.State)
}

// Frozen appends the fixed bytes. It may run without the machine's lock, even after the object or holding has changed.
type Frozen func(dst []byte) []byte

// SmallStates is embedded by a kind whose objects and holdings are so small that the machine saves them at once.
type SmallStates struct{}

// Freeze implements Kind.
func (SmallStates) Freeze(arena.Handle) Frozen { return nil }

// FreezeHolding implements Kind.
func (SmallStates) FreezeHolding(arena.Handle) Frozen { return nil }

// PlainHoldings is embedded by a kind whose holdings have no state.
type PlainHoldings struct{}

// HoldingSize implements Kind.
func (PlainHoldings) HoldingSize(arena.Handle) int { return 0 }

// FreeHolding implements Kind.
func (PlainHoldings) FreeHolding(arena.Handle) {}

// SaveHolding implements Kind.
func (PlainHoldings) SaveHolding(dst []byte, _ arena.Handle) []byte { return dst }

// LoadHolding implements Kind.
func (PlainHoldings) LoadHolding([]byte) (arena.Handle, bool) { return 0, false }

// Mutation describes a numbered command on a named object.
type Mutation struct {
	// of is the kind of the command's objects.
	of shard.ObjectKind
	// Form checks the command by itself, without the state.
	Form func(c *shard.Command) bool
	// Run applies the command. Session is zero for a command outside of any session; Object is zero if no object has
	// the name.
	Run func(m *Core, c *shard.Command, t *Target) Outcome
	// Resume answers a repetition from the state, and returns false if the state has no answer.
	Resume func(m *Core, c *shard.Command, t *Target) (Outcome, bool)
	// Anonymous commands may come without a session.
	Anonymous bool
	// Makes reports whether the command makes the object if there is no object of the name.
	Makes func(c *shard.Command) bool
	// Waits: the Timeout of the command is the longest time to wait, and so no part of the request's hash.
	Waits bool
	// MostBody is the most bytes that the body of the answer may have.
	MostBody int
}

// Target is the place and the object of a mutation.
type Target struct {
	hash    uint64
	slot    shard.Slot
	Node    *Node // nil: nothing of the node is here yet
	Session arena.Handle
	Object  arena.Handle
}

// mutate makes the common checks of all mutations, in the order of the package's DESIGN.md, and runs the command.
func (co *Core) mutate(c *shard.Command, mu *Mutation, o *Outcome) {
	inOrder := c.Number > c.Acked && c.Session.Counter() != 0
	if c.Session == 0 {
		inOrder = mu.Anonymous && c.Number == 0 && c.Acked == 0
	}
	if len(c.Name) == 0 || len(c.Name) > shard.MaxName || len(c.Data) > shard.MaxData || !inOrder ||
		mu.Form != nil && !mu.Form(c) {
		o.Status = protocol.StatusBadRequest
		return
	}
	t := &co.Run.target
	*t = Target{hash: shard.ObjectHash(c.Node, c.Name)}
	t.slot = shard.Slot(t.hash % shard.Slots)
	if !co.slots.Has(t.slot) {
		o.Status = protocol.StatusMoved
		return
	}
	t.Node = co.Nodes.byID[c.Node]
	if t.Node != nil && t.Node.Dropping {
		o.Status = protocol.StatusNotFound
		return
	}
	isNew := true
	if c.Session != 0 {
		t.Session = co.Sessions.Find(c.Session)
		if t.Session == 0 {
			if co.slots.Has(c.Session.Slot()) {
				o.Status = protocol.StatusSessionExpired
				return
			}
			co.Sessions.admitRemote(c, t)
		}
		s := co.Sessions.At(t.Session)
		switch isNew = c.Number > s.applied; {
		case s.ending:
			o.Status = protocol.StatusSessionExpired
			return
		case co.Sessions.Node(s) != t.Node:
			o.Status = protocol.StatusBadSession
			return
		}
	}
	t.Object = co.Objects.find(t.hash, c.Node, c.Name)
	if isNew && t.Object != 0 && co.Objects.At(t.Object).Deleting {
		// The object counts as missing, but the name stays taken as long as holdings are left: a command that would
		// make a new object of the name is refused for the moment, and nothing is recorded.
		if mu.Makes != nil && mu.Makes(c) {
			o.Status = protocol.StatusOverloaded
			return
		}
		t.Object = 0
	}
	switch {
	case c.Session != 0:
		co.runNumbered(c, mu, t, o)
	case co.fits(mu, t):
		*o = mu.Run(co, c, t)
	default:
		o.Status = protocol.StatusPreconditionFailed
	}
}

// runNumbered notes what the session of a command has seen, applies a new command if there is room for the answer, and
// keeps the answer.
func (co *Core) runNumbered(c *shard.Command, mu *Mutation, t *Target, o *Outcome) {
	s := co.Sessions.At(t.Session)
	forgotten := 0
	if c.Acked > s.acked {
		co.Snapshots.touchSession(t.Session)
		forgotten = co.Sessions.acknowledge(s, c.Acked)
		if s.bodies != 0 {
			co.Answers.forgetBodies(s, 0, c.Acked)
		}
	}
	if c.Number <= s.applied {
		co.Nodes.Charge(co.Sessions.Node(s), -shard.AnswerBytes*forgotten)
		*o = co.repeat(c, mu, t)
		return
	}
	if len(co.Sessions.answersOf(s)) >= shard.MaxUnacknowledged {
		assert.That(forgotten == 0, "who keeps as many answers as may be kept has forgotten none")
		o.Status = protocol.StatusOverloaded
		return
	}
	// Answers without bodies are bounded by their number.
	if (s.bodies != 0 || mu.MostBody != 0) && !co.Answers.hasRoomForBody(s, mu) {
		co.Nodes.Charge(co.Sessions.Node(s), -shard.AnswerBytes*forgotten)
		o.Status = protocol.StatusOverloaded
		return
	}
	if forgotten != 1 { // mostly one answer goes and another comes
		co.Nodes.Charge(co.Sessions.Node(s), shard.AnswerBytes*(1-forgotten))
	}
	co.Snapshots.touchSession(t.Session)
	before := s.applied
	s.applied = c.Number
	if co.fits(mu, t) {
		*o = mu.Run(co, c, t)
	} else {
		o.Status = protocol.StatusPreconditionFailed
	}
	if o.Status == protocol.StatusOverloaded {
		// There may be room later: the number stands for the same command then.
		s.applied = before
		if left := co.group.Left(co.Clock.Now); left > 0 {
			o.Timeout, o.Body = left, cmp.Or(o.Body, shard.QuietReason)
			s.applied = max(before, c.Acked) // what a lost replica has answered is not carried out again
		}
		co.Nodes.Charge(co.Sessions.Node(s), -shard.AnswerBytes)
		return
	}
	co.Answers.keep(c, mu, t, o)
}

// fits reports whether the command is of the object's kind. It fits a missing object.
func (co *Core) fits(mu *Mutation, t *Target) bool {
	return t.Object == 0 || co.Objects.At(t.Object).Kind == mu.of
}

// admitRemote records an unknown session of another shard as a guest. No limit keeps a guest out: without a guest there
// is no number, and a late copy of a refused command would be carried out once there is room.
func (se *Sessions) admitRemote(c *shard.Command, t *Target) {
	t.Node = se.core.Nodes.see(c.Node)
	t.Session = se.add(c.Session, t.Node)
	e := se.core.Run.Emit(shard.EffectSessionSeen)
	e.Session, e.Node = c.Session, c.Node
}

// repeat answers a command with a number that the session has already used.
func (co *Core) repeat(c *shard.Command, mu *Mutation, t *Target) Outcome {
	s := co.Sessions.At(t.Session)
	a := co.Sessions.answer(s, c.Number)
	if co.Answers.isAnother(c, mu, t, a) {
		return Outcome{Status: protocol.StatusSequenceReused}
	}
	if mu.Resume != nil && t.Object != 0 && co.fits(mu, t) {
		if o, ok := mu.Resume(co, c, t); ok {
			return o
		}
	}
	switch {
	case a != nil:
		co.Run.PlaceResult().Abort = a.abort
		return Outcome{
			Status: a.status, Flags: a.flags, Order: a.order, Revision: a.revision, Quota: a.quota,
			Body: co.Answers.body(s, c.Number),
		}
	case mu.Resume != nil && c.Number <= s.acked:
		return Outcome{}
	}
	return Outcome{Status: protocol.StatusStale}
}
