package process

import (
	"slices"
	"strings"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	processkind "github.com/signalbox/signalbox/protocol/process"
	"github.com/signalbox/signalbox/shard"
)

// doesInProcess carries a command out in the model.
type doesInProcess func() Answer

// someone draws a member, mostly a member that the process waits for.
func (r *processRun) someone(mp *modelProcess) *modelParty {
	var waited []*modelParty
	for _, m := range mp.members {
		switch mp.rules.Phase() {
		case processkind.Preparing:
			if m.member.Prepared != mp.rules.Epoch() {
				waited = append(waited, m)
			}
		case processkind.Running:
			if len(r.reader(m).requests) > 0 || m.member.ID == mp.rules.Coordinator() {
				waited = append(waited, m)
			}
		}
	}
	if len(waited) > 0 && r.IntN(4) > 0 {
		return pick(r, waited...)
	}
	return pick(r, mp.members...)
}

// command draws a process command, mostly suitable for the current state, and its effect in the model.
func (r *processRun) command(name string, id shard.SessionID) (shard.Command, doesInProcess) {
	mp := r.model.processes[name]
	switch {
	case mp == nil && r.IntN(3) == 0:
		c := shard.Command{Kind: shard.CmdProcessDelete + shard.CommandKind(2+r.IntN(9)), Order: 1}
		return c, func() Answer { return Answer{Status: protocol.StatusNotFound} }
	case mp == nil && r.IntN(2) == 0 || r.IntN(40) == 0:
		return r.puts(name)
	case r.IntN(60) == 0:
		kind := pick(r, shard.CmdProcessPut, shard.CmdProcessJoin, shard.CmdProcessAct)
		want := Answer{Status: protocol.StatusBadRequest}
		if mp == nil && kind == shard.CmdProcessAct {
			want.Status = protocol.StatusNotFound
		}
		return shard.Command{Kind: kind, Body: []byte{9}}, func() Answer { return want }
	case mp == nil || mp.member(id) == nil && r.IntN(4) > 0 || r.IntN(20) == 0:
		return r.joins(name, id)
	case r.IntN(25) == 0:
		return r.acts(mp)
	case r.IntN(90) == 0:
		c := shard.Command{Kind: shard.CmdProcessDelete}
		if r.IntN(3) == 0 {
			c.Flags = shard.FlagForce
		}
		return c, func() Answer { return r.model.delete(mp, c.Flags != 0) }
	}
	return r.ofMember(mp, id)
}

func (r *processRun) puts(name string) (shard.Command, doesInProcess) {
	mp := r.model.processes[name]
	p := processkind.Put{
		Mode: pick(r, field.PutCreate, field.PutAlter, field.PutEither, field.PutEither),
		Spec: r.spec(), By: processkind.ChangeInfo{Author: "op", Reason: strings.Repeat("r", r.IntN(9))},
	}
	if mp != nil && r.IntN(4) == 0 {
		p.ExpectedRevision = mp.rules.SpecRevision() + uint64(r.IntN(2))
	}
	c := shard.Command{Kind: shard.CmdProcessPut, Body: Append(nil, &p)}
	return c, func() Answer { return r.model.put(name, p) }
}

func (r *processRun) spec() processkind.Spec {
	s := processkind.Spec{
		OpenDelay: 200 * time.Millisecond, MaxOpenDelay: 900 * time.Millisecond, MinMembers: pick(r, 1, 1, 2),
		MaxPayload: 400, KeepResults: 2, ReplyTimeout: pick(r, 0, 5*time.Second, 15*time.Second),
		OnTimeout: pick(r, processkind.TimeoutWait, processkind.TimeoutEvict, processkind.TimeoutFail),
	}
	if s.MinMembers == 2 && s.ReplyTimeout == 0 {
		s.OpenDelay = time.Millisecond // an epoch opens with the second member
	}
	if r.IntN(20) == 0 {
		s.KeepResults = 0 // which is none
	}
	return s
}

func (r *processRun) joins(name string, id shard.SessionID) (shard.Command, doesInProcess) {
	a := processkind.Arrival{Joining: processkind.Joining{
		Name: pick(r, "a", "b", "a", ""), Attributes: []byte(strings.Repeat("x", r.IntN(40))),
		Candidate: r.IntN(3) > 0,
	}}
	if mp := r.model.processes[name]; mp != nil && mp.member(id) != nil && r.IntN(4) > 0 {
		a.Name = mp.member(id).member.Name
	}
	if r.IntN(3) > 0 {
		a.Create, a.Spec = true, r.spec()
	}
	c := shard.Command{Kind: shard.CmdProcessJoin, Body: Append(nil, &a)}
	return c, func() Answer { return r.model.join(name, id, a) }
}

func (r *processRun) acts(mp *modelProcess) (shard.Command, doesInProcess) {
	by := processkind.ChangeInfo{Author: "op", Reason: strings.Repeat("r", r.IntN(30))}
	act := processkind.Action{Kind: processkind.ActionRestart, By: by}
	if r.IntN(2) == 0 {
		act.Kind, act.MemberID = processkind.ActionEvict, uint64(r.model.Order)
		if len(mp.members) > 0 && r.IntN(3) > 0 {
			act.MemberID = pick(r, mp.members...).member.ID
		}
	}
	c := shard.Command{Kind: shard.CmdProcessAct, Body: Append(nil, &act)}
	return c, func() Answer {
		return r.model.do(mp, func(at At) Answer { return mp.rules.Act(at, act) })
	}
}

// ofMember draws a member's command: mostly an existing member's next required command.
func (r *processRun) ofMember(mp *modelProcess, id shard.SessionID) (shard.Command, doesInProcess) {
	c := shard.Command{Order: shard.OrderID(r.IntN(int(r.model.Order) + 1)), Term: mp.rules.Epoch()}
	m := mp.member(id)
	if m != nil && r.IntN(25) > 0 {
		c.Order = m.order
	}
	if r.IntN(20) == 0 {
		c.Term += uint64(r.IntN(3)) - 1
	}
	kinds := []shard.CommandKind{shard.CmdProcessReply, shard.CmdInboxAck, shard.CmdProcessPrepared,
		shard.CmdProcessCompleted}
	switch mp.rules.Phase() {
	case processkind.Preparing:
		kinds = []shard.CommandKind{shard.CmdProcessPrepared, shard.CmdProcessPrepared, shard.CmdProcessPrepared,
			shard.CmdProcessPrepared}
	case processkind.Running:
		kinds = []shard.CommandKind{shard.CmdProcessReply, shard.CmdProcessSend, shard.CmdProcessSend,
			shard.CmdInboxAck}
		if m != nil && len(r.reader(m).requests) > 0 {
			kinds = []shard.CommandKind{shard.CmdProcessReply, shard.CmdProcessReply, shard.CmdProcessReply,
				shard.CmdProcessReply, shard.CmdProcessSend}
		}
		if m != nil && m.member.ID == mp.rules.Coordinator() {
			kinds = append(kinds, shard.CmdProcessComplete, shard.CmdProcessSend)
		}
	case processkind.Complete:
		kinds = []shard.CommandKind{shard.CmdProcessCompleted, shard.CmdProcessCompleted, shard.CmdInboxAck}
	}
	if c.Kind = pick(r, kinds...); r.IntN(12) == 0 {
		c.Kind = shard.CmdProcessLeave + shard.CommandKind(r.IntN(8))
	}
	if c.Kind == shard.CmdProcessLeave {
		return c, func() Answer { return r.model.leave(mp, id, c.Order) }
	}
	does := r.drawNumbers(mp, m, &c)
	return c, func() Answer { return r.model.in(mp, id, c.Order, c.Count, does) }
}

// drawNumbers draws the remaining fields for a member's command.
func (r *processRun) drawNumbers(mp *modelProcess, m *modelParty, c *shard.Command) (
	does func(At, *Member) Answer) {
	rules := mp.rules
	if m != nil { // acknowledges its read items
		for rest := 1; rest > 0; rest = len(rules.Inbox(m.member, r.reader(m).after, 1, nil)) {
			if err := r.readInbox(mp, m, 1<<30); err != nil {
				panic(err)
			}
		}
		if r.IntN(2) == 0 || c.Kind == shard.CmdInboxAck {
			c.Count = r.reader(m).after
		}
	}
	c.Data = []byte(strings.Repeat("d", r.IntN(300)))
	if r.IntN(25) == 0 {
		c.Data = make([]byte, 401)
	}
	switch c.Kind {
	case shard.CmdProcessPrepared:
		return func(at At, m *Member) Answer { return rules.Prepared(at, m, c.Term) }
	case shard.CmdProcessSend:
		return r.sends(mp, c)
	case shard.CmdProcessReply:
		return r.replies(mp, m, c)
	case shard.CmdProcessComplete:
		return func(at At, m *Member) Answer { return rules.Complete(at, m, c.Term, c.Data) }
	case shard.CmdProcessCompleted:
		return func(at At, m *Member) Answer { return rules.Completed(at, m, c.Term) }
	case shard.CmdProcessFail:
		return func(at At, m *Member) Answer {
			return rules.Fail(at, m, c.Term, string(c.Data))
		}
	default:
		c.Data = nil
		if r.IntN(20) == 0 {
			c.Count += 5 // nonexistent
		}
		return func(at At, m *Member) Answer { return rules.Ack(at, m, c.Count) }
	}
}

func (r *processRun) sends(mp *modelProcess, c *shard.Command) func(At, *Member) Answer {
	q := Request{
		Epoch: c.Term, Payload: c.Data,
		Audience: pick(r, processkind.ToAll, processkind.ToOthers, processkind.ToMembers),
		Timeout:  pick[uint64](r, 0, 0, 3000),
	}
	if q.Audience == processkind.ToMembers && len(mp.members) > 0 {
		for range r.IntN(3) {
			q.To = append(q.To, pick(r, mp.members...).member.ID)
		}
	}
	c.Timeout, c.Body = q.Timeout, AppendReceivers(nil, q)
	if r.IntN(30) == 0 {
		c.Body = []byte{9}
		return func(At, *Member) Answer {
			return Answer{Status: protocol.StatusBadRequest}
		}
	}
	return func(at At, m *Member) Answer { return mp.rules.Send(at, m, q) }
}

func (r *processRun) replies(mp *modelProcess, m *modelParty,
	c *shard.Command) func(At, *Member) Answer {
	a := answering{
		Epoch: c.Term, Exchange: uint64(r.IntN(int(r.exchange) + 2)), Failed: r.IntN(4) == 0, Data: c.Data,
	}
	if m != nil {
		if reader := r.reader(m); len(reader.requests) > 0 && r.IntN(8) > 0 {
			k := r.IntN(len(reader.requests))
			if a.Exchange = reader.requests[k]; r.IntN(4) > 0 {
				reader.requests = slices.Delete(reader.requests, k, k+1)
			}
		}
	}
	if c.Timeout = a.Exchange; a.Failed {
		c.Flags = shard.FlagFailed
	}
	return func(at At, m *Member) Answer { return mp.rules.Reply(at, m, a) }
}
