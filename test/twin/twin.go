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

// Twin is the naive machine. It has the fast machine's methods that tests compare.
type Twin struct {
	slots  shard.SlotSet
	bounds machine.Bounds
	shard  uint64 // its id

	lastOrder    shard.OrderID
	lastRevision shard.Revision
	lastSession  uint64
	term         uint64
	now, base    uint64 // shard time, and its value at the start of the term
	level        level.Level
	raised       level.Level // the level from the next batch on

	limits     shard.Limits                  // shard limits, zero if not set
	limited    map[shard.NodeID]shard.Limits // node limits, if set
	dropping   map[shard.NodeID]bool
	group      shard.Group
	sessions   map[shard.SessionID]*session
	semaphores map[place]*semaphore
	pending    []pending

	// Effects of the current batch, and the current command's index.
	out  *shard.Effects
	op   int32
	left int // remaining units of work
	// wall is the command's wall clock time.
	wall  uint64
	stamp clock.Stamp // of the batch

	moved       map[shard.Slot]*slotRecord // slots that some slot command has changed
	slotChanges uint64
	offers      map[attempt]*content

	mistake Mistake
	phantom map[shard.NodeID]uint64 // bytes counted by mistake
}

// place identifies a semaphore.
type place struct {
	node shard.NodeID
	name string
}

// New returns an empty twin. Slots, bounds and shard id are required.
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
		moved:      make(map[shard.Slot]*slotRecord),
		offers:     make(map[attempt]*content),
	}
}

// Apply applies the batch's commands in order and appends their effects to out.
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
	case shard.CmdSlotSeal, shard.CmdSlotOpen, shard.CmdSlotRefuse, shard.CmdSlotCancel, shard.CmdSlotRelease,
		shard.CmdSlotReturn, shard.CmdSlotSupersede:
		t.slotCommand(c)
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

// emit adds an effect of the current command.
func (t *Twin) emit(e shard.Effect) {
	e.Op = t.op
	t.out.List = append(t.out.List, e)
}

// answer yields R. A zero effect is a plain SUCCESS.
func (t *Twin) answer(e shard.Effect) {
	e.Kind = shard.EffectResult
	t.emit(e)
}

// State exports the twin's complete state.
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
		Slots:        t.slotStates(),
		SlotChanges:  t.slotChanges,
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

// Mistake is a deliberate bug in a twin, to test that the comparison with the machine detects it.
type Mistake uint8

const (
	// NoMistake: the twin does all as shard/DESIGN.md says.
	NoMistake Mistake = 0
	// CountsTimedOutWaiters: a timed-out waiter counts in its node's byte quota forever.
	CountsTimedOutWaiters Mistake = 1
	// RefusesReleases: releases in a node above its quota are refused.
	RefusesReleases Mistake = 2
	// ChargesShrinking: shrinking data is refused like growing data.
	ChargesShrinking Mistake = 4
	// ForgetsBase: a new term counts from the previous term's base.
	ForgetsBase Mistake = 5
	// CountsLateStamps: time elapsed in an earlier term advances the time too.
	CountsLateStamps Mistake = 6
	// TimeGoesBack: an older stamp sets the time back.
	TimeGoesBack Mistake = 7
	// RebasesTwice: a term that begins a second time gets a new base.
	RebasesTwice Mistake = 8
	// ObeysLateLeaders: a former leader's batch takes effect.
	ObeysLateLeaders Mistake = 9
	// LosesBodies: a restore loses the bodies of cached answers.
	LosesBodies Mistake = 11
	// BoundsAfterTheEffect: a mutation whose answer exceeds the session's capacity is refused after its effect.
	BoundsAfterTheEffect Mistake = 12
	// RepeatsNewerBodies: a repetition returns the body that its command would have now.
	RepeatsNewerBodies Mistake = 13
	// CountsSeenBodies: acknowledged bodies keep counting against the session's limit.
	CountsSeenBodies Mistake = 14
	// DrawsTwice: a session that draws a number space gets its previous space again.
	DrawsTwice Mistake = 15
	// AnswersOthers: a request with the number of another request gets the other's answer.
	AnswersOthers Mistake = 16
	// AsksForWaits: an acquire with a different wait time counts as a different request.
	AsksForWaits Mistake = 17
	// ForgetsWhatWasAsked: a restore loses the requests of cached answers.
	ForgetsWhatWasAsked Mistake = 18
	// NoClass: a shard assigns every number as an order id, regardless of its own id.
	NoClass Mistake = 19
	// CountsNoLosses: a remote session does not count semaphores lost by deletion.
	CountsNoLosses Mistake = 21
	// ForgetsSlots: a restore loses the slots of cached answers.
	ForgetsSlots Mistake = 22
	// ForgetsNumbers: a rebuild loses the applied numbers and answers of remote sessions.
	ForgetsNumbers Mistake = 23
	// KeepsOwnership: a rebuild keeps answers that granted lost links.
	KeepsOwnership Mistake = 24
	// BuriesTheLost: a session from before a renewal is dead at once.
	BuriesTheLost Mistake = 25
	// WaitsForNoOwner: the wait after a rebuild follows only the leader, not the longest earlier timeout.
	WaitsForNoOwner Mistake = 26
	// GrantsAtOnce: a rebuilt shard grants from the first command.
	GrantsAtOnce Mistake = 27
	// ServesTheOld: sessions of an earlier group continue as before.
	ServesTheOld Mistake = 28
	// KeepsAlarms: the alarm of a granted waiter remains, and takes its ownership away.
	KeepsAlarms Mistake = 29
	// ForgetsDeadlines: a restore loses until when waiters wait.
	ForgetsDeadlines Mistake = 30
	// WaitsAnew: every waiter gets its full wait time again when a term begins.
	WaitsAnew Mistake = 31
	// TimesOutEarly: a wait starting within a millisecond ends as if started at the beginning of the millisecond.
	TimesOutEarly Mistake = 32
)

// Plant makes the twin make a mistake from now on.
func (t *Twin) Plant(m Mistake) { t.mistake = m }
