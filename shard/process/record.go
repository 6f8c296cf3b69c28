package process

import (
	"github.com/signalbox/signalbox/protocol/field"
	kind "github.com/signalbox/signalbox/protocol/process"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// This file converts a process to records for readers, with the types in package protocol/process. All times are shard
// times: timestamps are not converted to ages, and a remaining time is given as the shard time at which it ends.

// Head returns the head for the whole process.
func (p *Process) Head() kind.Overview {
	h := kind.Overview{
		Spec: p.spec, SpecRevision: p.revisions.spec, Epoch: p.epoch, Phase: p.state, Since: field.At(p.since, 0),
		Opened: field.At(p.opened, 0), Opening: p.opens != 0, Opens: field.Duration(p.opens),
		Coordinator: p.coordinator, Members: len(p.members), Of: len(p.view), LastResult: p.lastResult(),
	}
	if n := len(p.audit); n > 0 {
		h.LastAct = p.audit[n-1].Record()
	}
	return h
}

// Record returns the audit entry for readers.
func (a *Audit) Record() kind.ActionRecord {
	return kind.ActionRecord{
		ID: a.Number, Kind: a.Verb, At: field.At(a.At, a.Wall), Epoch: a.Epoch, MemberID: a.Member, Member: a.Name,
		By: a.By,
	}
}

// memberRecord returns a member as watches show it: without the fields that change with every message. session is the
// member's session.
func (p *Process) memberRecord(m *Member, session uint64) kind.MemberState {
	return kind.MemberState{
		Peer: kind.Peer{
			ID: m.ID, Name: m.Name, Attributes: []byte(m.Attributes), Candidate: m.Candidate, SessionID: session,
		},
		Joined: field.At(m.Joined, 0), Of: m.ID < p.epoch, Prepared: m.Prepared, Completed: m.Completed,
	}
}

// Record returns the result for readers, with or without its payload.
func (r *Result) Record(payload bool) kind.ResultRow {
	row := kind.ResultRow{Result: kind.Result{Epoch: r.Epoch, Size: len(r.Payload), At: field.At(r.At, r.Wall)}}
	if payload {
		row.Payload = r.Payload
	}
	return row
}

// Record returns the reason for readers at a time.
func (re *Reason) Record(now uint64) kind.BlockReason {
	out := kind.BlockReason{
		Code: re.Code, Text: codec.Cut(re.Describe(now), kind.MaxReason), Blocked: re.Blocked, Epoch: re.Epoch,
		Exchange: re.Exchange, From: re.From.ID, Waiting: re.Waiting, Of: re.Of, Since: field.At(re.Since, 0),
		Left: field.Duration(re.Until), Late: re.Late,
	}
	for _, n := range re.Members {
		out.Named = append(out.Named, n.ID)
	}
	return out
}

// Summary returns the process as lists show it, without name and revision.
func (p *Process) Summary() kind.SummaryRow {
	out := kind.SummaryRow{Since: field.At(p.since, 0), Summary: kind.Summary{
		Epoch: p.epoch, Phase: p.state, Members: len(p.members), Prepared: p.prepared, LastResult: p.lastResult(),
	}}
	if m := p.Member(p.coordinator); m != nil && p.state != kind.Forming {
		out.Coordinator = m.Name
	}
	return out
}
