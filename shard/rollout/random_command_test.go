package rollout

import (
	"fmt"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/rollout"
)

// command sends a random command to both. resumed reports a resumed rollout, voided a closed ticket.
func (ra *random) command() (got, want protocol.Status, resumed, voided bool) {
	if ra.rollout.stopped() && ra.IntN(6) == 0 {
		ra.last = "resume"
		act := kind.Action{Kind: kind.Resume}
		return ra.rollout.Act(ra.at(), act).Status, ra.model.act(act), true, false
	}
	switch n := ra.IntN(100); {
	case n < 10:
		ra.last = "publish"
		p := kind.Publication{Payload: make([]byte, ra.IntN(9)), Fence: ra.fence()}
		got = ra.rollout.Publish(ra.at(), p).Status
		want = ra.model.publish(0, p.Fence)
	case n < 11:
		spec := ra.spec()
		if ra.IntN(2) == 0 && len(spec.Locations) > 1 { // one location less, or more
			spec = ra.rollout.Spec()
			if k := ra.IntN(len(spec.Locations)); k > 0 {
				spec.Locations = append(spec.Locations[:k], spec.Locations[k+1:]...)
			}
		}
		ra.last = fmt.Sprintf("alter %+v", spec)
		got, want = ra.rollout.Alter(ra.at(), spec, kind.ChangeInfo{Author: "op", Reason: ""}).Status,
			ra.model.alter(spec)
		voided = true
	case n < 15:
		ra.last = "act"
		got, want, resumed = ra.randomAct()
	case n < 22:
		got, want = ra.randomVerdict()
	case n < 26:
		got, want, voided = ra.randomSource()
	default:
		got, want = ra.instanceCommand()
	}
	return got, want, resumed, voided
}

// fence is a fencing token: mostly the highest so far, sometimes an older token, or none.
func (ra *random) fence() uint64 {
	switch {
	case ra.revision%3 == 0:
		return 0
	case ra.revision%5 == 0:
		return ra.revision / 2
	}
	return ra.revision
}

func (ra *random) seq() uint64 {
	last := ra.rollout.lastSeq
	return last - min(last, uint64(ra.IntN(5)))
}

func (ra *random) randomAct() (got, want protocol.Status, resumed bool) {
	act := kind.Action{
		Kind: pick(ra, kind.Pause, kind.Resume, kind.Resume, kind.Resume, kind.Promote, kind.Abort, kind.Rollback,
			kind.Rollback,
			kind.Bypass, kind.Unbypass, kind.Unbypass, kind.Withdraw, kind.Retry, kind.Retry),
		Fast: ra.IntN(2) == 0, By: kind.ChangeInfo{Author: "op"},
	}
	if ra.IntN(3) > 0 {
		act.Locations = append(act.Locations, pick(ra, names...))
	}
	if act.Kind != kind.Promote || ra.IntN(2) == 0 {
		act.Seq = ra.seq()
	}
	ra.last = fmt.Sprintf("%v %+v", act.Kind, act)
	got, want = ra.rollout.Act(ra.at(), act).Status, ra.model.act(act)
	return got, want, act.Kind == kind.Resume || act.Kind == kind.Retry
}

func (ra *random) randomVerdict() (got, want protocol.Status) {
	g := kind.GateReport{
		Location: pick(ra, names...), Gate: pick(ra, "errors", "load"), Seq: ra.seq(),
		Verdict: kind.Verdict{Result: pick(ra, kind.GatePassed, kind.GatePassed, kind.GatePassed, kind.GatePassed,
			kind.GatePassed, kind.GateFailed, kind.GateInconclusive, kind.GatePending)},
	}
	if l := ra.rollout.Find(g.Location); l != nil && ra.IntN(4) > 0 {
		g.Seq = l.present()
		for _, gate := range l.Gates {
			if gate.Verdict != kind.GatePassed || ra.IntN(4) == 0 {
				g.Gate = gate.Name
			}
		}
	}
	for _, l := range ra.rollout.locations { // a checker that revokes its verdict
		if t := l.Target(); t != nil && t.Reached != 0 && len(l.Gates) > 0 && ra.IntN(3) == 0 {
			g = kind.GateReport{Location: l.Spec.Name, Gate: l.Gates[0].Name, Seq: t.Seq}
			g.Verdict.Result = kind.GateFailed
		}
	}
	ra.last = fmt.Sprintf("gate %+v", g)
	return ra.rollout.Judge(ra.at(), g).Status, ra.model.judge(g)
}

func (ra *random) randomSource() (got, want protocol.Status, voided bool) {
	id := uint64(1 + ra.IntN(3))
	switch ra.IntN(4) {
	case 0:
		ra.last = fmt.Sprint("source ", id)
		got = ra.rollout.addSource(ra.at(), Source{ID: id}).Status
		known := false
		for _, s := range ra.model.sources {
			known = known || s == id
		}
		if !known {
			ra.model.sources = append(ra.model.sources, id)
		}
		return got, protocol.StatusSuccess, false
	case 1:
		ra.last = fmt.Sprint("unsource ", id)
		return ra.rollout.removeSource(ra.at(), id).Status, ra.model.unsource(id), true
	}
	source, ticket, with := ra.rollout.ticket.Source, ra.rollout.ticket.Number, ra.IntN(4) > 0
	if ra.IntN(6) == 0 {
		source = id
	}
	ra.last = fmt.Sprint("offer ", source, ticket, with)
	want = ra.model.offer(source, ticket, with)
	if with {
		return ra.rollout.Offer(ra.at(), source, ticket, kind.Publication{}).Status, want, true
	}
	return ra.rollout.decline(ra.at(), source, ticket, "down").Status, want, true
}

func (ra *random) instanceCommand() (got, want protocol.Status) {
	i := pick(ra, ra.instances...)
	switch n := ra.IntN(70); {
	case n < 10:
		name, location := fmt.Sprint("i", ra.IntN(7)), pick(ra, names...)
		if ra.IntN(3) > 0 { // mostly it moves
			location = names[i.ID%uint64(len(names))]
		}
		ra.last = fmt.Sprint("join ", i.ID, name, location)
		return ra.rollout.Join(ra.at(), i, name, location, "").Status, ra.model.join(i.ID, name, location)
	case n < 12:
		ra.last = fmt.Sprint("leave ", i.ID)
		return ra.rollout.Leave(ra.at(), i).Status, ra.model.leave(i.ID)
	case n < 18:
		role := pick(ra, Leader, Leader, Leader, Leader, Follower)
		ra.last = fmt.Sprint("role ", i.ID, role)
		return ra.rollout.SetRole(ra.at(), i, role).Status, ra.model.role(i.ID, role)
	}
	if l := ra.rollout.Find(i.Location); l != nil && l.generation() == i.Generation {
		i = pick(ra, ra.instances...) // preferably an instance with something to report
	}
	report := ra.report(i)
	ask := ra.IntN(3) == 0
	ra.last = fmt.Sprintf("report %d ask %v %+v", i.ID, ask, report)
	nothing := ra.rollout.changesNothing(ra.now, i, &report, ask)
	if ask {
		a, target := ra.rollout.Ask(ra.at(), i, report)
		got, want = a.Status, ra.model.ask(i.ID, report)
		if got == protocol.StatusSuccess && a.Generation != target.Generation {
			ra.last += ": answers another target"
			got = protocol.StatusInternal
		}
	} else {
		got, want = ra.rollout.Report(ra.at(), i, report).Status, ra.model.report(i.ID, report)
	}
	if nothing && (ra.out.Changed || len(ra.out.Events)+len(ra.out.Rows) > 0 || got != protocol.StatusSuccess) {
		ra.last += ": it changes something"
		got = protocol.StatusInternal
	}
	return got, want
}

func (ra *random) report(i *Instance) Report {
	l := ra.rollout.Find(i.Location)
	var t Row
	if l != nil && l.Target() != nil {
		t = *l.Target()
	}
	report := Report{Current: t.Seq, Generation: t.Generation}
	switch n := ra.IntN(30); {
	case n < 21:
	case n < 23: // an earlier target, or unchanged
		report = i.Report
	case n < 24:
		report.Generation -= min(report.Generation, uint64(ra.IntN(3)))
	case n < 25:
		ra.tally["foreign"]++
		report.Current = 1_000_000
	case n < 26:
		report.Status = kind.Updating
	case n < 27:
		report.Status, report.Code = kind.Failed, "expired"
	default:
		report.Status, report.Attempts = kind.Failed, uint64(1+ra.IntN(5))
	}
	return report
}
