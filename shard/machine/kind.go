package machine

import (
	"cmp"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/internal/assert"
)

// A shard holds named objects of several kinds; semaphores are one kind. Files object.go and holding.go have what all
// kinds share: a name in a node, a slot, a revision, and sessions that own the object or wait for it. A kind adds a
// store for its own state, its rules, and its commands. DESIGN.md, section 8, describes how to add a kind.

// KindRow describes a kind to NewKinds.
type KindRow struct {
	Number   shard.ObjectKind
	New      func() Kind // makes an empty store
	Commands []CommandRow
}

// CommandRow is a command a kind defines: either a numbered client command, or a command the leader proposes.
type CommandRow struct {
	Kind shard.CommandKind
	Mutation
	Upkeep Upkeep
}

// Kinds are the object kinds a machine can hold, with their commands. Package kinds lists the kinds in this build.
type Kinds struct {
	rows      [shard.MaxKinds]KindRow
	mutations [256]Mutation
	upkeeps   [256]Upkeep
}

// NewKinds returns the kinds in the rows.
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

// Kind is the interface between an object kind and the machine: the store for the kind's own state, and its rules. The
// state of an object, and of a holding if the kind keeps any, has a handle in the store.
type Kind interface {
	// ReleaseHolding removes a holding whose session has ended, grants what becomes free, and notifies watchers and
	// waiters.
	ReleaseHolding(co *Core, holding arena.Handle)

	// Remove deletes an object with all its holdings, as a forced delete does. Work beyond the command's limit is left
	// to the next call.
	Remove(co *Core, object arena.Handle)

	// Resume continues work an earlier command left unfinished. The object is not deleted.
	Resume(co *Core, object arena.Handle)

	// Due handles an alarm that has fired and is cleared. The alarm belongs to an object or to one of its waiters;
	// waiter is zero for the object's own alarm. The object is not deleted.
	Due(co *Core, object, waiter arena.Handle)

	// StateSize returns the bytes the state adds to the object's size in the node quota.
	StateSize(state arena.Handle) int

	// FreeState releases an object's state.
	FreeState(state arena.Handle)

	// HoldingSize, FreeHolding, SaveHolding and LoadHolding are for holding state what StateSize, FreeState, Save and
	// Load are for object state. The machine calls them only for holdings with a state.
	HoldingSize(state arena.Handle) int
	FreeHolding(state arena.Handle)
	SaveHolding(dst []byte, state arena.Handle) []byte
	LoadHolding(src []byte) (state arena.Handle, ok bool)

	// Freeze captures the bytes that Save would append now, and FreezeHolding those that SaveHolding would append, for
	// states that may be large; the cost does not grow with the size. If a snapshot needs the old state, the machine
	// calls both before a change. A nil result means that the state is small, so the machine saves it at once.
	Freeze(state arena.Handle) Frozen
	FreezeHolding(state arena.Handle) Frozen

	// Role is the session's relation to the object, in a word for people.
	Role(l *Holding) string

	// Save appends an object's state. Load recreates the state when a snapshot is restored, and reports whether the
	// bytes are valid. Linked is called once all holdings on the object are back in order; it sets the object's alarm
	// again. Linked depends only on the object, its holdings, and the shard's counters.
	Save(dst []byte, state arena.Handle) []byte
	Load(src []byte) (state arena.Handle, ok bool)
	Linked(co *Core, object arena.Handle) error

	// Shift and ShiftHolding convert all timestamps in a state that was just loaded, before Linked is called: the state
	// comes from another shard, with another time.
	Shift(state arena.Handle, moment func(at uint64) uint64)
	ShiftHolding(state arena.Handle, moment func(at uint64) uint64)

	// Renew returns the saved form the object has in a new cluster, without holdings. It returns false if the object
	// ends with its holdings. The object itself is unchanged.
	Renew(state arena.Handle, n *StateRenewal) (saved []byte, stays bool)

	// View finds an object's view by name: "" is the whole object. A reader of a missing view gets the same answer as
	// for a missing object. Describe fills in a view description, Changes fills in a view delta. On entry d.Gone has
	// all rows that changed; Changes leaves only the deleted rows in it, and returns false if one delta cannot hold the
	// changes.
	View(co *Core, object arena.Handle, name string) (View, bool)
	Describe(co *Core, object arena.Handle, v View, o Described, d *shard.Description)
	Changes(co *Core, object arena.Handle, v View, since shard.Revision, d *shard.Delta) bool

	// AppendState appends the object to a plain State.
	AppendState(co *Core, object arena.Handle, s *shard.State)
}

// Frozen appends the captured bytes. It may run without the machine's lock, even after the object or holding has
// changed.
type Frozen func(dst []byte) []byte

// SmallStates is embedded by a kind with objects and holdings so small that the machine saves them at once.
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

// ShiftHolding implements Kind.
func (PlainHoldings) ShiftHolding(arena.Handle, func(uint64) uint64) {}

// LoadHolding implements Kind.
func (PlainHoldings) LoadHolding([]byte) (arena.Handle, bool) { return 0, false }

// Mutation describes a numbered command on a named object.
type Mutation struct {
	// of is the object kind the command works on.
	of shard.ObjectKind
	// Form validates the command on its own, without the state.
	Form func(c *shard.Command) bool
	// Run applies the command. Session is zero for a command without a session; Object is zero if no object has the
	// name.
	Run func(m *Core, c *shard.Command, t *Target) Outcome
	// Resume answers a retry from the state, and returns false if the state has no answer.
	Resume func(m *Core, c *shard.Command, t *Target) (Outcome, bool)
	// Anonymous commands may come without a session.
	Anonymous bool
	// Makes reports whether the command creates a missing object.
	Makes func(c *shard.Command) bool
	// Waits is set if the command's Timeout is the maximum wait time, which the request hash leaves out.
	Waits bool
	// MostBody is the maximum size of the answer body, in bytes.
	MostBody int
}

// Target locates the object for a mutation.
type Target struct {
	hash    uint64
	slot    shard.Slot
	Node    *Node // nil if the shard holds nothing for the node yet
	Session arena.Handle
	Object  arena.Handle
}

// mutate performs the checks that all mutations share, in the order that the package's DESIGN.md lists, and runs the
// command.
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
		// The object counts as missing, but the name stays taken until the last holding is gone: a command that would
		// create a new object with the name is refused for now, and nothing is recorded.
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

// runNumbered notes which answers the session has seen, applies a new command if there is capacity for the answer, and
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
		co.Sessions.noteSlot(t.Session, t.slot)
		*o = co.repeat(c, mu, t)
		return
	}
	if len(co.Sessions.answersOf(s)) >= shard.MaxUnacknowledged {
		co.Nodes.Charge(co.Sessions.Node(s), -shard.AnswerBytes*forgotten)
		o.Status = protocol.StatusOverloaded
		return
	}
	// Answers without bodies are bounded by their count.
	if (s.bodies != 0 || mu.MostBody != 0) && !co.Answers.hasRoomForBody(s, mu) {
		co.Nodes.Charge(co.Sessions.Node(s), -shard.AnswerBytes*forgotten)
		o.Status = protocol.StatusOverloaded
		return
	}
	if forgotten != 1 { // usually one answer goes and one comes
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
		// There may be capacity later: the number then still identifies the same command.
		s.applied = before
		if left := co.group.Left(co.Clock.Now); left > 0 {
			o.Timeout, o.Body = left, cmp.Or(o.Body, shard.QuietReason)
			s.applied = max(before, c.Acked) // what a lost replica has answered is not applied again
			co.Sessions.noteSlot(t.Session, t.slot)
		}
		co.Nodes.Charge(co.Sessions.Node(s), -shard.AnswerBytes)
		return
	}
	if s.noted != numberOf(t.slot) {
		co.Sessions.noteSlot(t.Session, t.slot)
	}
	co.Answers.keep(c, mu, t, o)
}

// fits reports whether the object has the command's kind. A missing object fits.
func (co *Core) fits(mu *Mutation, t *Target) bool {
	return t.Object == 0 || co.Objects.At(t.Object).Kind == mu.of
}

// admitRemote records an unknown session as a remote session: its home is a different shard. No limit rejects a remote
// session: without a record there is no number, and a delayed copy of a refused command would be applied once there is
// capacity.
func (se *Sessions) admitRemote(c *shard.Command, t *Target) {
	t.Node = se.core.Nodes.see(c.Node)
	t.Session = se.add(c.Session, t.Node)
	e := se.core.Run.Emit(shard.EffectSessionSeen)
	e.Session, e.Node = c.Session, c.Node
}

// repeat answers a command with a number the session has already used.
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
