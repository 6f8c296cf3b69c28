package process

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/machine"
)

// work is one command on one process, from the beginning to the report of all changes. At most one is in progress. The
// type implements Caller for the rules.
type work struct {
	*processes
	co      *machine.Core
	node    *machine.Node // nil if not known yet
	session arena.Handle  // zero for a command without a session
	object  arena.Handle
	body    arena.Handle
	hosted  *hostedProcess
	at      At

	// For a process or a member being created: the new objects, and the new bytes besides the bytes the rules ask for.
	objects, fresh int
	exceeded       shard.Quota // by the command

	number  uint64
	touched int          // distinct member holdings touched, without removed holdings
	gone    arena.Handle // holding of the member that has left

	out Effects
}

// start prepares a command. A command that may have changed something must end with finish.
func (pr *processes) start(co *machine.Core, n *machine.Node, session arena.Handle) *work {
	w := &pr.work
	w.out.Reset()
	*w = work{processes: pr, co: co, node: n, session: session, number: w.number + 1, out: w.out}
	w.at = At{
		Now: co.Clock.Now, Wall: co.Run.Wall, Revision: uint64(co.NextRevision()), Caller: w, Out: &w.out,
	}
	return w
}

// begin prepares a command on an existing process, and preserves the process's record first.
func (pr *processes) begin(co *machine.Core, object, session arena.Handle) *work {
	co.Snapshots.TouchObject(object)
	o := co.Objects.At(object)
	w := pr.start(co, co.Objects.Node(o), session)
	w.object, w.body = object, o.State
	w.hosted = pr.At(o.State)
	return w
}

// NextOrder issues an order id, from the same counter as for holdings.
func (w *work) NextOrder() uint64 {
	return uint64(w.co.Holdings.TakeOrder())
}

// touch preserves the record for a member's holding. A new member has no holding yet.
func (w *work) touch(m *Member) {
	if m.Ref == 0 {
		return
	}
	h := arena.Handle(m.Ref)
	w.co.Snapshots.PreserveHolding(h)
	if pm := w.members.At(w.co.Holdings.At(h).State); pm.touched != w.number {
		pm.touched = w.number
		w.touched++
	}
}

// MayGrow reports whether the quotas allow more bytes.
func (w *work) MayGrow(bytes int) bool {
	w.exceeded = w.co.Nodes.Exceeded(w.node, w.objects, bytes+w.fresh)
	return w.exceeded == shard.QuotaNone
}

// conclude finishes the command, and returns the outcome for the rules' answer.
func (w *work) conclude(a Answer) machine.Outcome {
	w.co.Run.PlaceResult()
	w.finish(0)
	return w.outcome(a)
}

// outcome is the outcome for the rules' answer.
func (w *work) outcome(a Answer) machine.Outcome {
	switch a.Status {
	case protocol.StatusQuotaExceeded:
		return machine.OverQuota(w.exceeded)
	case protocol.StatusSuccess:
		return machine.Outcome{}
	}
	return machine.Refuse(a.Status, a.Text)
}

// finish reports what the command has changed: to the quotas, the alarm, the view readers, and the members.
func (w *work) finish(flags shard.EffectFlags) {
	co, p := w.co, w.hosted
	co.Nodes.Charge(w.node, w.out.Grown)
	if due, _ := p.NextDue(); due != p.alarm {
		co.Objects.SetAlarm(w.object, due)
		p.alarm = due
	}
	if w.reportViews() || flags != 0 {
		co.Objects.Changed(w.object, flags|shard.FlagData|shard.FlagOwners)
	}
	for _, member := range w.out.Inbox {
		co.Holdings.Emit(shard.EffectInbox, arena.Handle(member.Ref)).Object = shard.KindProcess
	}
	for k := range w.out.Removed {
		removed := &w.out.Removed[k]
		e := co.Holdings.Emit(shard.EffectLost, arena.Handle(removed.Ref))
		e.Object, e.Body = shard.KindProcess, removed.Text()
		w.unlink(arena.Handle(removed.Ref))
	}
	if w.gone != 0 {
		w.unlink(w.gone)
	}
	co.Run.Touched += w.touched
	w.counts.count(w.out.Events)
	w.out.Reset()
	w.hosted = nil
}

// unlink removes a removed member's holding. The removal counts the holding as touched, so unlink takes it out of the
// command's count.
func (w *work) unlink(h arena.Handle) {
	w.touched--
	w.co.Holdings.Remove(h)
}

// reportViews notes all changed heads and view rows, and reports whether there are any.
func (w *work) reportViews() bool {
	co, p := w.co, w.hosted
	if p.HeadRevision() == w.at.Revision {
		co.History.HeadChanged(&p.whole)
	}
	for _, row := range w.out.Rows {
		co.History.RowChanged(&p.whole, row)
		if row&(1<<RowBits-1) == rowOfResult {
			co.History.RowChanged(&p.results, row)
		}
	}
	return p.WholeRevision() == w.at.Revision
}

// Due handles an alarm. It may touch all members in the process: if the command has done too much to have capacity for
// all of them, the process stays due.
func (pr *processes) Due(co *machine.Core, object, _ arena.Handle) {
	p := pr.At(co.Objects.At(object).State)
	if done := co.Worked() - 1; done > 0 && len(p.Members()) > co.Run.Left+1 {
		co.Objects.SetAlarm(object, p.alarm)
		co.Run.Left = 0
		return
	}
	w := pr.begin(co, object, 0)
	p.alarm = 0
	p.Due(w.at)
	w.finish(0)
	co.Run.Left -= w.touched
}
