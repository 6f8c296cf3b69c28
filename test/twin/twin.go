package twin

import (
	"maps"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/machine"
)

// Twin is the naive machine. It has the methods of the fast one that tests compare.
type Twin struct {
	slots  shard.SlotSet
	bounds machine.Bounds
	shard  uint64 // its id

	lastOrder    shard.OrderID
	lastRevision shard.Revision
	lastSession  uint64
	term         uint64
	now, base    uint64 // the time of the shard, and what it was when the term began
	level        level.Level
	raised       level.Level // the level from the next batch on

	limits     shard.Limits                  // of the shard, zeros where they were not set
	limited    map[shard.NodeID]shard.Limits // of the nodes for which some were set
	dropping   map[shard.NodeID]bool
	group      shard.Group
	sessions   map[shard.SessionID]*session
	semaphores map[place]*semaphore
	pending    []pending

	// The effects of the batch under way, and the index of the command in it.
	out  *shard.Effects
	op   int32
	left int // how many pieces of work it may still do
	// wall is the time of day of the command.
	wall  uint64
	stamp clock.Stamp // of the batch

	mistake Mistake
	phantom map[shard.NodeID]uint64 // bytes that are counted by mistake
}

// place identifies a semaphore.
type place struct {
	node shard.NodeID
	name string
}

// New returns an empty twin. The slots, the bounds and the id of the shard must all be given.
func New(o machine.Options) *Twin {
	return &Twin{
		slots:      o.Slots,
		bounds:     o.Bounds,
		shard:      o.Shard,
		level:      level.First,
		raised:     level.First,
		limited:    make(map[shard.NodeID]shard.Limits),
		dropping:   make(map[shard.NodeID]bool),
		phantom:    make(map[shard.NodeID]uint64),
		sessions:   make(map[shard.SessionID]*session),
		semaphores: make(map[place]*semaphore),
	}
}

// Apply applies the commands of the batch one after the other and adds their effects to out.
func (t *Twin) Apply(b *shard.Batch, out *shard.Effects) {
	t.out = out
	t.stamp = b.Stamp
	t.advance()
	for i := range b.Commands {
		t.op = int32(i)
		t.applyOne(&b.Commands[i])
	}
	t.level = t.raised
	t.out = nil
}

func (t *Twin) applyOne(c *shard.Command) {
	if c.Level > t.level {
		t.answer(shard.Effect{Status: protocol.StatusUnsupported})
		return
	}
	if c.Kind != shard.CmdLead && t.refusedByStamp(c) {
		return
	}
	t.left, t.wall = t.bounds.Work, c.Time
	switch c.Kind {
	case shard.CmdLead:
		t.lead(c)
	case shard.CmdSessionCreate:
		t.sessionCreate(c)
	case shard.CmdSessionUpdate:
		t.sessionUpdate(c)
	case shard.CmdSessionNumbers:
		t.sessionNumbers(c)
	case shard.CmdSessionEnd:
		t.sessionEnd(c)
	case shard.CmdSessionsExpire:
		t.sessionsExpire(c)
	case shard.CmdSessionsForget:
		t.sessionsForget(c)
	case shard.CmdWaiterWithdraw:
		t.waiterWithdraw(c)
	case shard.CmdNodeDrop:
		t.nodeDrop(c)
	case shard.CmdNodeLimits:
		t.nodeLimits(c)
	case shard.CmdDue:
		t.due(c)
	case shard.CmdGroupWait:
		t.groupWait(c)
	case shard.CmdContinue:
		t.continueWork()
	case shard.CmdLevel:
		t.raise(c)
	case shard.CmdDigestTake, shard.CmdDigestCompare:
		t.answer(shard.Effect{})
	case shard.CmdSemaphoreCreate, shard.CmdSemaphoreUpdate, shard.CmdSemaphoreDelete,
		shard.CmdSemaphoreResize, shard.CmdAcquire, shard.CmdRelease, CmdExchange:
		t.mutate(c)
	default:
		panic("twin: no such command: " + c.Kind.String())
	}
}

// raise lets the level rise with the next batch.
func (t *Twin) raise(c *shard.Command) {
	if c.Count == 0 {
		t.answer(shard.Effect{Status: protocol.StatusBadRequest})
		return
	}
	if to := level.Level(c.Count); to > t.raised {
		t.raised = to
	}
	t.answer(shard.Effect{})
}

// emit adds an effect of the command under way.
func (t *Twin) emit(e shard.Effect) {
	e.Op = t.op
	t.out.List = append(t.out.List, e)
}

// answer yields R. A zero effect is a plain SUCCESS.
func (t *Twin) answer(e shard.Effect) {
	e.Kind = shard.EffectResult
	t.emit(e)
}

// State writes out everything that the twin holds.
func (t *Twin) State() shard.State {
	state := shard.State{
		LastOrder:    t.lastOrder,
		LastRevision: t.lastRevision,
		LastSession:  t.lastSession,
		Term:         t.term,
		Now:          t.now,
		TimeBase:     t.base,
		Level:        t.level,
		Pending:      t.pendingState(),
		ObjectLimit:  t.limits.Objects,
		ByteLimit:    t.limits.Bytes,
		Group:        t.group,
	}
	for _, id := range t.knownNodes() {
		state.Nodes = append(state.Nodes, shard.NodeState{
			ID: id, Dropping: t.dropping[id], ObjectLimit: t.limited[id].Objects, ByteLimit: t.limited[id].Bytes,
		})
	}
	for _, id := range slices.Sorted(maps.Keys(t.sessions)) {
		state.Sessions = append(state.Sessions, t.sessions[id].state())
	}
	for _, node := range t.knownNodes() {
		for _, sem := range t.semaphoresOf(node) {
			state.Semaphores = append(state.Semaphores, sem.state())
		}
	}
	return state
}

// Mistake is something that a twin does wrong on purpose: a test that plants one shows that the comparison with the
// machine would notice it.
type Mistake uint8

const (
	// NoMistake: the twin does all as shard/DESIGN.md says.
	NoMistake Mistake = 0
	// CountsTimedOutWaiters: a waiter that is timed out counts in its node's quota of bytes for good.
	CountsTimedOutWaiters Mistake = 1
	// RefusesReleases: releases in a node that holds more than its quota are refused.
	RefusesReleases Mistake = 2
	// ChargesShrinking: data that gets shorter is refused as data that gets longer is.
	ChargesShrinking Mistake = 4
	// ForgetsBase: a term that begins counts from the base of the term before.
	ForgetsBase Mistake = 5
	// CountsLateStamps: what elapsed in an earlier term moves the time too.
	CountsLateStamps Mistake = 6
	// TimeGoesBack: a stamp that is older than one of before sets the time back.
	TimeGoesBack Mistake = 7
	// RebasesTwice: a term that begins a second time has a new base.
	RebasesTwice Mistake = 8
	// ObeysLateLeaders: a batch of a leader that is over has its effects.
	ObeysLateLeaders Mistake = 9
	// LosesBodies: a restore loses the bodies of kept answers.
	LosesBodies Mistake = 11
	// BoundsAfterTheEffect: a mutation whose answer the session has no room for is refused when it was carried out.
	BoundsAfterTheEffect Mistake = 12
	// RepeatsNewerBodies: a repetition has the body that its command would answer with now.
	RepeatsNewerBodies Mistake = 13
	// CountsSeenBodies: bodies that the session has acknowledged count on in what it may have.
	CountsSeenBodies Mistake = 14
	// DrawsTwice: a session that draws a space of numbers gets the one that it has drawn before.
	DrawsTwice Mistake = 15
	// AnswersOthers: a request under the number of another one is answered as that one was.
	AnswersOthers Mistake = 16
	// AsksForWaits: an acquire that may wait for another time is another request.
	AsksForWaits Mistake = 17
	// ForgetsWhatWasAsked: a restore loses what was asked under the numbers of kept answers.
	ForgetsWhatWasAsked Mistake = 18
	// NoClass: a shard gives every number as an order id, whatever its own id.
	NoClass Mistake = 19
	// CountsNoLosses: a guest that loses a semaphore by a deletion does not count the loss.
	CountsNoLosses Mistake = 21
	// ForgetsSlots: a restore loses the slots of kept answers.
	ForgetsSlots Mistake = 22
	// ForgetsNumbers: a renewal loses what was applied and answered under the numbers of guests.
	ForgetsNumbers Mistake = 23
	// KeepsOwnership: a renewal leaves the answers as they are that gave what is gone.
	KeepsOwnership Mistake = 24
	// BuriesTheLost: a session from before a renewal is dead at once.
	BuriesTheLost Mistake = 25
	// WaitsForNoOwner: the wait after a renewal goes by the leader alone, and not by the longest timeout of before.
	WaitsForNoOwner Mistake = 26
	// GrantsAtOnce: a shard that was made anew grants from the first command on.
	GrantsAtOnce Mistake = 27
	// ServesTheOld: sessions of an earlier group go on as before.
	ServesTheOld Mistake = 28
	// KeepsAlarms: the alarm of a waiter that was granted stays, and takes what it owns away.
	KeepsAlarms Mistake = 29
	// ForgetsDeadlines: a restore loses until when waiters wait.
	ForgetsDeadlines Mistake = 30
	// WaitsAnew: every waiter gets its full time again when a term begins.
	WaitsAnew Mistake = 31
	// TimesOutEarly: a wait that began in a millisecond ends as if it had begun at the beginning of the millisecond.
	TimesOutEarly Mistake = 32
)

// Plant makes the twin make a mistake from now on.
func (t *Twin) Plant(m Mistake) { t.mistake = m }
