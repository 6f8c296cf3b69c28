package process

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard/internal/form"
)

// This file has what readers see of a process, in the records of the protocol.

// Record returns the head as readers see it.
func (h *Head) Record() protocol.ProcessHead {
	return protocol.ProcessHead{
		Spec: h.Spec.record(), SpecRevision: h.SpecRevision, Epoch: h.Epoch, State: protocol.ProcessState(h.State),
		Since: h.Since, Opened: h.Opened, OpensMillis: h.Opens, Coordinator: h.Coordinator,
		Members: uint64(h.Members), Of: uint64(h.Of), LastResult: h.LastResult, LastAct: h.LastAct.Record(),
	}
}

func (s *Spec) record() protocol.ProcessSpec {
	return protocol.ProcessSpec{
		OpenMillis: s.OpenDelay, OpenMostMillis: s.MaxOpenDelay, MinMembers: s.MinMembers, ReplyMillis: s.ReplyTimeout,
		OnTimeout: protocol.OnTimeout(s.OnTimeout), PayloadBytes: s.Payload, KeepResults: s.KeepResults,
	}
}

// Record returns the act as readers see it.
func (a *Audit) Record() protocol.ProcessActRow {
	return protocol.ProcessActRow{
		Verb: protocol.ProcessVerb(a.Verb), Moment: a.At, WallMillis: a.Wall, Epoch: a.Epoch, MemberID: a.Member,
		Member: []byte(a.Name), Author: []byte(a.Author), Reason: []byte(a.Reason),
	}
}

// MemberRecord returns a member as watches see it: without what changes with every message. The session is the one that
// has joined.
func (p *Process) MemberRecord(m *Member, session uint64) protocol.ProcessMember {
	return protocol.ProcessMember{
		Name: []byte(m.Name), SessionID: session, Candidate: m.Candidate, Joined: m.Joined, Of: m.ID < p.epoch,
		Prepared: m.Prepared, Completed: m.Completed, Attributes: []byte(m.Attributes),
	}
}

// Record returns the result as readers see it, with its payload or without.
func (r *Result) Record(payload bool) protocol.ProcessResult {
	out := protocol.ProcessResult{
		Epoch: r.Epoch, Moment: r.At, WallMillis: r.Wall, PayloadBytes: uint64(len(r.Payload)),
	}
	if payload {
		out.Payload = r.Payload
	}
	return out
}

// Record returns the reason as readers see it at a time.
func (re *Reason) Record(now uint64) protocol.ProcessReason {
	out := protocol.ProcessReason{
		Code: []byte(re.Code), Text: []byte(form.Cut(re.Describe(now), protocol.MaxReasonBytes)), Blocked: re.Blocked,
		Epoch: re.Epoch, Exchange: re.Exchange, From: re.From.ID, Waiting: uint64(re.Waiting), Of: uint64(re.Of),
		Since: re.Since, Until: re.Until, Late: re.Late,
	}
	for _, n := range re.Members {
		out.Named.Append(protocol.OrderID(n.ID))
	}
	return out
}

// Summary returns the process as lists show it, without name and revision.
func (p *Process) Summary() protocol.ProcessSummary {
	out := protocol.ProcessSummary{
		Epoch: p.epoch, State: protocol.ProcessState(p.state), Members: uint64(len(p.members)),
		Prepared: uint64(p.prepared), LastResult: p.lastResult(), Since: p.since,
	}
	if m := p.Member(p.coordinator); m != nil && p.state != StateForming {
		out.Coordinator = []byte(m.Name)
	}
	return out
}

// Record returns the item as its member gets it. It shares its bytes with the delivery.
func (d *Delivery) Record() protocol.Item {
	out := protocol.Item{
		Seq: d.Seq, Kind: protocol.ItemKind(d.Kind), Epoch: d.Epoch, Members: uint64(d.Members),
		Coordinator: d.Coordinator, Exchange: d.Exchange, From: d.From, Payload: d.Payload,
		Outcome: protocol.Outcome(d.Outcome), Last: d.Last, Missing: uint64(d.Missing),
	}
	for k := range d.Replies {
		r := &d.Replies[k]
		out.Replies.Append(protocol.Reply{From: r.From, Failed: r.Failed, Data: r.Data})
	}
	for _, id := range d.Missed {
		out.Missed.Append(protocol.OrderID(id))
	}
	return out
}
