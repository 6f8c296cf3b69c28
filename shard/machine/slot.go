package machine

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/internal/assert"
	"github.com/signalbox/signalbox/shard/slots"
)

// A slot moves between two shards as one slot snapshot. Package slots decides; this file changes the tables.
// slot_pack.go saves a slot's content, slot_merge.go merges it.

// slotUpkeep is the row for slot commands, which have their own limits instead of MaxWork.
var slotUpkeep = Upkeep{Form: slots.Fits, Run: (*Core).moveSlot}

// outcomes maps the outcomes of slot commands to statuses.
var outcomes = map[slots.Outcome]protocol.Status{
	slots.Done: protocol.StatusSuccess, slots.Opened: protocol.StatusSuccess,
	slots.Refused: protocol.StatusPreconditionFailed, slots.Void: protocol.StatusStale,
	slots.Later: protocol.StatusOverloaded,
}

// moveSlot applies a slot command. If the command has no effect, the body of its Result is the reason.
func (co *Core) moveSlot(c *shard.Command) Outcome {
	co.Run.PlaceResult()
	effects, changes := len(co.Run.out.List), co.slots.Changes()
	a := co.slots.Apply(c, &slotContent{co: co}, slots.At{
		Now: co.Clock.Now, Level: co.level, Waits: co.group.Waits(co.Clock.Now),
	})
	if co.slots.Changes() != changes {
		co.noteChange(c.Slot, co.Run.out.List[effects:])
	}
	co.Run.Touched = min(co.Run.Touched, co.bounds.Work) // the work after which Apply lets readers in
	return Outcome{Status: outcomes[a.Outcome], Body: a.Reason}
}

// noteChange adds the change count to a slot command's effects.
func (co *Core) noteChange(slot shard.Slot, effects []shard.Effect) {
	for i := range effects {
		if k := effects[i].Kind; k == shard.EffectSlotLeft || k == shard.EffectSlotArrived {
			effects[i].Number = co.slots.Changes()
			return
		}
	}
	e := co.Run.Emit(shard.EffectSlotsChanged)
	e.Slot, e.Number = slot, co.slots.Changes()
}

// slotContent implements slots.Content for one command.
type slotContent struct {
	co      *Core
	checked *unpacked // the slot snapshot that Check has accepted
}

// TakeOut implements slots.Content.
func (sc *slotContent) TakeOut(slot shard.Slot) {
	co := sc.co
	for _, object := range co.Objects.slots[slot].Handles(nil) {
		co.Snapshots.TouchObject(object)
		o := co.Objects.At(object)
		for o.Held > 0 {
			co.Holdings.Remove(co.Holdings.First(o))
		}
		co.Objects.Remove(object)
	}
	for _, h := range co.Sessions.sets.sessionsIn(slot, nil) {
		co.Sessions.leaveSlot(h, slot)
	}
	for _, h := range co.Sessions.slots[slot].Handles(nil) {
		co.Sessions.leaveHome(h)
	}
	co.Run.Emit(shard.EffectSlotLeft).Slot = slot
}

// leaveSlot removes a session's numbers and cached responses in a slot. The holdings have already been removed.
func (se *Sessions) leaveSlot(h arena.Handle, slot shard.Slot) {
	se.core.Snapshots.touchSession(h)
	s := se.At(h)
	before := se.size(h)
	s.noted = 0
	se.sets.remove(h, slot)
	se.core.Answers.removeSlot(s, slot)
	se.core.Nodes.Charge(se.Node(s), se.size(h)-before)
	if !s.home {
		se.dropIfIdle(h)
	}
}

// leaveHome makes a session remote, because the session's slot leaves this shard.
func (se *Sessions) leaveHome(h arena.Handle) {
	se.core.Snapshots.touchSession(h)
	s := se.At(h)
	before := se.size(h)
	s.home, s.timeout, s.created, s.numberSpace = false, 0, 0, 0
	se.remote++
	se.texts.Replace(&s.details, nil)
	se.note(s, &shard.ClientRef{})
	s.keyLen, s.key = 0, [shard.MaxKey]byte{}
	se.core.Nodes.Charge(se.Node(s), se.size(h)-before)
	se.dropIfIdle(h)
}

// dropIfIdle removes a remote session without holdings, losses and slots.
func (se *Sessions) dropIfIdle(h arena.Handle) {
	if s := se.At(h); s.linkCount == 0 && s.losses == 0 && *se.sets.words.At(h) == 0 {
		assert.That(s.answers == 0 || len(se.answersOf(s)) == 0, "a session without numbers has no answers")
		se.drop(h)
	}
}

// removeSlot removes a session's answers in a slot. The caller charges the node.
func (an *Answers) removeSlot(s *session, slot shard.Slot) {
	list := an.core.Sessions.answersOf(s)
	kept := list[:0]
	for _, a := range list {
		if a.slot != numberOf(slot) {
			kept = append(kept, a)
		} else if s.bodies != 0 {
			of := an.bodies.At(s.bodies)
			of.remove(of.after(a.number-1), of.after(a.number))
		}
	}
	if len(kept) == 0 {
		kept = nil
		an.dropBodies(s)
	}
	an.core.Sessions.setAnswers(s, kept)
}
