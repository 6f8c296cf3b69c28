package rollout

import (
	"strings"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	rolloutkind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/shard"
)

// does carries a command out in the model.
type does func() Answer

// command draws a command on a rollout, and its effect in the model, mostly suitable for the current state.
func (r *rolloutRun) command(name string, id shard.SessionID) (c shard.Command, _ does) {
	mr := r.model.rollouts[name]
	if mr == nil || r.IntN(25) == 0 {
		p := rolloutkind.Put{
			Mode: pick(r, field.PutCreate, field.PutAlter, field.PutEither, field.PutEither),
			Spec: r.randomSpec(), By: rolloutkind.ChangeInfo{Author: "op", Reason: strings.Repeat("r", r.IntN(9))},
		}
		if mr != nil && r.IntN(4) == 0 {
			p.ExpectedRevision = mr.rules.SpecRevision() + uint64(r.IntN(2))
		}
		c := shard.Command{Kind: shard.CmdRolloutPut, Body: Append(nil, &p)}
		if mr == nil && r.IntN(3) == 0 {
			c = shard.Command{Kind: shard.CmdRolloutPublish + shard.CommandKind(r.IntN(10)), Body: []byte{1}}
			return c, func() Answer { return Answer{Status: protocol.StatusNotFound} }
		}
		return c, func() Answer { return r.model.put(name, p) }
	}
	if r.IntN(60) == 0 { // an invalid body
		kind := pick(r, shard.CmdRolloutPublish, shard.CmdRolloutSource, shard.CmdRolloutOffer,
			shard.CmdRolloutJoin, shard.CmdRolloutReport, shard.CmdRolloutAsk, shard.CmdRolloutAct,
			shard.CmdRolloutGate)
		c := shard.Command{Kind: kind, Body: []byte{9}}
		return c, func() Answer { return Answer{Status: protocol.StatusBadRequest} }
	}
	draws := []func(*modelRollout, shard.SessionID) (shard.Command, does){
		r.publish, r.joins, r.joins, r.leaves, r.leads, r.leads, r.reports, r.reports, r.reports, r.reports, r.asks,
		r.asks, r.sources, r.offers, r.acts, r.judges, r.publish,
	}
	if r.IntN(30) == 0 {
		draws = []func(*modelRollout, shard.SessionID) (shard.Command, does){r.deletes}
	}
	return pick(r, draws...)(mr, id)
}

func (r *rolloutRun) publish(mr *modelRollout, _ shard.SessionID) (shard.Command, does) {
	p := rolloutkind.Publication{
		Payload: make([]byte, r.IntN(300)), Label: strings.Repeat("l", r.IntN(30)),
		By:    rolloutkind.ChangeInfo{Author: "op"},
		Fence: uint64(r.IntN(4)), Compare: r.IntN(4) == 0, Expected: mr.rules.LastSeq(),
	}
	if r.IntN(20) == 0 {
		p.Payload = make([]byte, rolloutkind.MaxPayload+1)
	}
	c := shard.Command{Kind: shard.CmdRolloutPublish, Body: Append(nil, &p), Data: p.Payload}
	return c, func() Answer {
		a := mr.rules.Publish(r.model.at(), p)
		a.Number = a.Seq
		return a
	}
}

func (r *rolloutRun) joins(mr *modelRollout, id shard.SessionID) (shard.Command, does) {
	j := rolloutkind.Instance{
		Name: pick(r, "i", "j", "k", "l", "m", "n"), Location: pick(r, "a", "a", "b", "c"),
		Attributes: []byte(strings.Repeat("x", r.IntN(40))),
	}
	c := shard.Command{Kind: shard.CmdRolloutJoin, Body: Append(nil, &j)}
	return c, func() Answer {
		return r.model.with(mr, id, r.model.Sessions[id].Number, func(p *modelPart) Answer {
			a := mr.rules.Join(r.model.at(), &p.instance, j.Name, j.Location, string(j.Attributes))
			a.Number = 0
			if a.Status == protocol.StatusSuccess {
				a.Number = p.instance.ID
			}
			return a
		})
	}
}

func (r *rolloutRun) leaves(mr *modelRollout, id shard.SessionID) (shard.Command, does) {
	return shard.Command{Kind: shard.CmdRolloutLeave}, func() Answer { return r.model.leave(mr, mr.part(id)) }
}

func (r *rolloutRun) leads(mr *modelRollout, id shard.SessionID) (shard.Command, does) {
	role := pick[uint64](r, 1, 1, 1, 0)
	return shard.Command{Kind: shard.CmdRolloutRole, Count: role}, func() Answer {
		return mr.rules.SetRole(r.model.at(), mr.instanceOf(id), Role(role))
	}
}

// instanceOf returns a session's instance, or one that has not joined.
func (mr *modelRollout) instanceOf(id shard.SessionID) *Instance {
	if p := mr.part(id); p != nil {
		return &p.instance
	}
	return &Instance{}
}

// drawReport draws an instance's report, mostly on its current target.
func (r *rolloutRun) drawReport(mr *modelRollout, id shard.SessionID) Report {
	i := mr.instanceOf(id)
	report := Report{Current: i.Current, Generation: i.Generation, Attempts: uint64(r.IntN(6))}
	if l := mr.rules.LocationOf(i); l != nil && l.Target() != nil && r.IntN(8) > 0 {
		report.Generation = l.Target().Generation
		if r.IntN(3) > 0 {
			report.Current = l.Target().Seq
		}
	} else if r.IntN(4) == 0 {
		report.Generation = uint64(r.IntN(int(mr.rules.Generation()) + 2))
	}
	if r.IntN(3) == 0 {
		report.Status, report.Code = rolloutkind.Failed, pick(r, "bad", "", "other")
		report.Text = strings.Repeat("t", r.IntN(60))
	}
	return report
}

func (r *rolloutRun) reports(mr *modelRollout, id shard.SessionID) (shard.Command, does) {
	report := r.drawReport(mr, id)
	c := shard.Command{Kind: shard.CmdRolloutReport, Body: AppendReport(nil, report)}
	return c, func() Answer { return mr.rules.Report(r.model.at(), mr.instanceOf(id), report) }
}

func (r *rolloutRun) asks(mr *modelRollout, id shard.SessionID) (shard.Command, does) {
	report := r.drawReport(mr, id)
	c := shard.Command{Kind: shard.CmdRolloutAsk, Body: AppendReport(nil, report)}
	return c, func() Answer {
		a, t := mr.rules.Ask(r.model.at(), mr.instanceOf(id), report)
		if a.Status == protocol.StatusSuccess {
			a.Text = string(appendTarget(nil, t))
		}
		return a
	}
}

func (r *rolloutRun) sources(mr *modelRollout, id shard.SessionID) (shard.Command, does) {
	s := rolloutkind.SourceRole{Off: r.IntN(4) == 0, Name: strings.Repeat("s", r.IntN(20))}
	c := shard.Command{Kind: shard.CmdRolloutSource, Body: Append(nil, &s)}
	return c, func() Answer {
		if s.Off {
			return r.model.endSource(mr, mr.part(id))
		}
		return r.model.with(mr, id, r.model.Sessions[id].Number, func(p *modelPart) Answer {
			a := mr.rules.addSource(r.model.at(), Source{ID: p.instance.ID, Name: s.Name})
			p.source = p.source || a.Status == protocol.StatusSuccess
			return a
		})
	}
}

func (r *rolloutRun) offers(mr *modelRollout, id shard.SessionID) (shard.Command, does) {
	o := rolloutkind.Offering{Ticket: mr.rules.Ticket().Number, Label: "offered"}
	if r.IntN(4) == 0 {
		o.Declined, o.Text = true, strings.Repeat("d", r.IntN(20))
	} else {
		o.Payload = make([]byte, r.IntN(50))
	}
	c := shard.Command{Kind: shard.CmdRolloutOffer, Body: Append(nil, &o), Data: o.Payload}
	return c, func() Answer {
		number := uint64(0)
		if p := mr.part(id); p != nil {
			number = p.instance.ID
		}
		if o.Declined {
			return mr.rules.decline(r.model.at(), number, o.Ticket, o.Text)
		}
		return mr.rules.Offer(r.model.at(), number, o.Ticket,
			rolloutkind.Publication{Payload: o.Payload, Label: o.Label})
	}
}

func (r *rolloutRun) acts(mr *modelRollout, _ shard.SessionID) (shard.Command, does) {
	a := rolloutkind.Action{
		Kind: rolloutkind.Pause + rolloutkind.ActionKind(r.IntN(9)), Seq: uint64(r.IntN(int(mr.rules.LastSeq()) + 2)),
		Fast: r.IntN(2) == 0, By: rolloutkind.ChangeInfo{Author: "op", Reason: strings.Repeat("r", r.IntN(30))},
	}
	if stopped := mr.rules.Paused().Since + mr.rules.Halted().Since; stopped > 0 && r.IntN(2) == 0 {
		a.Kind = rolloutkind.Resume
	}
	if r.IntN(2) == 0 {
		a.Locations = []string{pick(r, "a", "b", "c", "unknown")}
	}
	c := shard.Command{Kind: shard.CmdRolloutAct, Body: Append(nil, &a)}
	return c, func() Answer { return mr.rules.Act(r.model.at(), a) }
}

func (r *rolloutRun) judges(mr *modelRollout, _ shard.SessionID) (shard.Command, does) {
	g := rolloutkind.GateReport{
		Location: pick(r, "a", "b", "c"), Gate: "g",
		Verdict: rolloutkind.Verdict{
			Result: pick(r, rolloutkind.GatePassed, rolloutkind.GatePassed, rolloutkind.GateFailed),
			Text:   strings.Repeat("t", r.IntN(30)),
		},
		By: "checker",
	}
	if l := mr.rules.Find(g.Location); l != nil && l.Target() != nil && r.IntN(5) > 0 {
		g.Seq = l.Target().Seq
	}
	c := shard.Command{Kind: shard.CmdRolloutGate, Body: Append(nil, &g)}
	return c, func() Answer { return mr.rules.Judge(r.model.at(), g) }
}

func (r *rolloutRun) deletes(mr *modelRollout, _ shard.SessionID) (shard.Command, does) {
	c := shard.Command{Kind: shard.CmdRolloutDelete}
	if r.IntN(4) == 0 {
		c.Flags = shard.FlagForce
	}
	return c, func() Answer { return r.model.delete(mr, c.Flags != 0) }
}
