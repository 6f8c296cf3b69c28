package machine

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/process"
)

// processWork is one command on one process, from the beginning to the report of all changes. At most one is under
// way. The type is the Caller of the rules.
type processWork struct {
	*processes
	m       *Core
	node    *Node        // nil if not known yet
	session arena.Handle // zero for a command without a session
	object  arena.Handle
	body    arena.Handle
	hosted  *hostedProcess
	at      process.At

	// The new objects, and the new bytes besides the bytes that the rules ask for, of a process or a member in the
	// making.
	objects, fresh int

	number  uint64
	touched int          // distinct links of members that were touched, without removed links
	gone    arena.Handle // link of the member that has left

	out process.Effects
}

// start prepares a command. A command that may have changed something must be ended by finish.
func (pr *processes) start(m *Core, n *Node, session arena.Handle) *processWork {
	w := &pr.work
	w.out.Reset()
	*w = processWork{processes: pr, m: m, node: n, session: session, number: w.number + 1, out: w.out}
	w.at = process.At{
		Now: m.Clock.Now, Wall: m.Run.Wall, Revision: uint64(m.NextRevision()), Caller: w, Out: &w.out,
	}
	return w
}

// begin prepares a command on an existing process, and preserves the process's record first.
func (pr *processes) begin(m *Core, object, session arena.Handle) *processWork {
	m.Snapshots.TouchObject(object)
	o := m.Objects.At(object)
	w := pr.start(m, m.Objects.Node(o), session)
	w.object, w.body = object, o.State
	w.hosted = pr.At(o.State)
	return w
}

// NextOrder gives an order id, from the same counter as links.
func (w *processWork) NextOrder() uint64 {
	return uint64(w.m.Holdings.TakeOrder())
}

// Touch preserves the record of a member's link. A new member has no link yet.
func (w *processWork) Touch(m *process.Member) {
	if m.Ref == 0 {
		return
	}
	h := arena.Handle(m.Ref)
	w.m.Snapshots.PreserveHolding(h)
	if pm := w.members.At(w.m.Holdings.At(h).State); pm.touched != w.number {
		pm.touched = w.number
		w.touched++
	}
}

// MayGrow reports whether the quotas have room for more bytes. If not, MayGrow answers the command.
func (w *processWork) MayGrow(bytes int) bool {
	return w.m.Nodes.MayGrow(w.node, w.objects, bytes+w.fresh)
}

// answer answers the command, unless MayGrow has refused and answered already.
func (w *processWork) answer(a process.Answer) *shard.Effect {
	switch a.Status {
	case protocol.StatusQuotaExceeded:
		return nil
	case protocol.StatusSuccess:
		return w.m.Run.Answer(protocol.StatusSuccess)
	default:
		return w.m.Run.Refuse(a.Status, a.Text)
	}
}

// finish reports what the command has changed: to the quotas, to the alarm, to the readers of views, and to members.
func (w *processWork) finish(flags shard.EffectFlags) {
	m, p := w.m, w.hosted
	m.Nodes.Charge(w.node, w.out.Grown)
	if due, _ := p.NextDue(); due != p.alarm {
		m.Objects.SetAlarm(w.object, due)
		p.alarm = due
	}
	if w.reportViews() || flags != 0 {
		m.Objects.Changed(w.object, flags|shard.FlagData|shard.FlagOwners)
	}
	for _, member := range w.out.Inbox {
		m.Holdings.Emit(shard.EffectInbox, arena.Handle(member.Ref)).Object = shard.KindProcess
	}
	for k := range w.out.Removed {
		removed := &w.out.Removed[k]
		e := m.Holdings.Emit(shard.EffectLost, arena.Handle(removed.Ref))
		e.Object, e.Body = shard.KindProcess, removed.Text()
		w.unlink(arena.Handle(removed.Ref))
	}
	if w.gone != 0 {
		w.unlink(w.gone)
	}
	m.Run.Touched += w.touched
	w.counts.count(w.out.Events)
	w.out.Reset()
	w.hosted = nil
}

// unlink removes the link of a removed member. The removal counts the link as touched, so unlink takes it out of the
// count of the command.
func (w *processWork) unlink(h arena.Handle) {
	w.touched--
	w.m.Holdings.Remove(h)
}

// reportViews notes all changed heads and rows of views, and reports whether there are any.
func (w *processWork) reportViews() bool {
	m, p := w.m, w.hosted
	if p.HeadRevision() == w.at.Revision {
		m.History.HeadChanged(&p.whole)
	}
	for _, row := range w.out.Rows {
		m.History.RowChanged(&p.whole, row)
		if row&(1<<process.RowBits-1) == process.RowOfResult {
			m.History.RowChanged(&p.results, row)
		}
	}
	return p.WholeRevision() == w.at.Revision
}

// Due does the work that time has made Due. It may touch all members of the process: if the command has done too much
// to have room for all of them, the process stays Due.
func (pr *processes) Due(m *Core, object arena.Handle) {
	p := pr.At(m.Objects.At(object).State)
	if done := m.Worked() - 1; done > 0 && len(p.Members()) > m.Run.Left+1 {
		m.Objects.SetAlarm(object, p.alarm)
		m.Run.Left = 0
		return
	}
	w := pr.begin(m, object, 0)
	p.alarm = 0
	p.Due(w.at)
	w.finish(0)
	m.Run.Left -= w.touched
}
