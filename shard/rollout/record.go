package rollout

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	kind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// Rollout views. Times are shard times: the views' readers know the present time.

// Head returns the head for the whole rollout. The locations are rows.
func (r *Rollout) Head() kind.State {
	h := kind.State{
		Spec: r.rules, SpecRevision: r.specRevision, LastSeq: r.lastSeq, Generation: r.generation,
		Paused: r.paused.view(), Halted: r.halted.view(), Declined: r.declined,
	}
	for k := range r.sources {
		h.Sources = append(h.Sources, r.sources[k].Name)
	}
	if n := len(r.audit); n > 0 {
		h.LastAct = r.audit[n-1].View()
	}
	return h
}

func (s *Stop) view() kind.Halt {
	return kind.Halt{
		Since: field.At(s.Since, 0), Reason: s.Reason, Location: s.Location,
		By: kind.ChangeInfo{Author: s.By, Reason: s.Why},
	}
}

// View returns the audit entry for readers.
func (a *Audit) View() kind.ActionRecord {
	return kind.ActionRecord{Action: a.Action, ID: a.Number, At: field.At(a.Since, a.Wall)}
}

// View returns the location as a row in the whole rollout.
func (l *Location) View() kind.LocationRow {
	out := kind.LocationRow{Place: l.index, LocationState: kind.LocationState{
		Location: l.Spec, Inherited: field.Duration(l.Inherited), Counts: l.Counts, Bypassed: l.Bypassed, Back: l.Back,
		Stalled: l.Stalled, Reelections: int(l.Reelections),
	}}
	if t := l.Target(); t != nil {
		out.Target = t.View()
	}
	for k := range l.Gates {
		g := &l.Gates[k]
		out.Gates = append(out.Gates, kind.GateState{
			Name: g.Name, Verdict: kind.Verdict{Result: g.Verdict, Text: g.Text}, By: g.By, Since: field.At(g.Since, 0),
		})
	}
	return out
}

// View returns the target as a row in the location's history.
func (row *Row) View() kind.Row {
	return kind.Row{
		Seq: row.Seq, Generation: row.Generation, Assigned: field.At(row.Assigned, row.AssignedWall),
		Reached: field.At(row.Reached, row.ReachedWall), Abandoned: field.At(row.Abandoned, row.AbandonedWall),
		Cause: row.Cause, Waived: row.Waived, Note: row.Note,
	}
}

// VersionView returns a version for readers, without the payload.
func (r *Rollout) VersionView(v *Version) kind.Version {
	out := kind.Version{
		Seq: v.Seq, Label: v.Label, By: kind.ChangeInfo{Author: v.Author, Reason: v.Reason},
		Published: field.At(v.Published, v.Wall), Withdrawn: v.Withdrawn, PayloadBytes: len(v.Payload),
	}
	for _, id := range v.Abandoned {
		if l := r.byID(id); l != nil {
			out.AbandonedIn = append(out.AbandonedIn, l.Spec.Name)
		}
	}
	return out
}

// TargetView returns the target for a location's instances.
func (r *Rollout) TargetView(l *Location) (out protocol.RolloutTarget) {
	t := l.Target()
	if t == nil {
		return out
	}
	out.Generation, out.Seq = t.Generation, t.Seq
	if v := r.Version(t.Seq); v != nil {
		out.Label, out.Payload = protocol.View(v.Label), v.Payload
	}
	return out
}

// View returns the instance for readers. session is the instance's session.
func (i *Instance) View(session uint64) kind.InstanceState {
	return kind.InstanceState{
		Instance:  kind.Instance{Name: i.Name, Attributes: protocol.View(i.Attributes)},
		SessionID: session, Leader: i.Role == Leader,
		Report: kind.Report{
			Current: i.Current, Generation: i.Generation, Status: i.Status, Code: i.Code, Text: i.Text,
			Attempts: int(i.Attempts),
		},
		Since: field.At(i.Since, 0), Sent: i.Sent, Received: field.At(i.Received, 0),
	}
}

// TicketView returns the open request to the source.
func (r *Rollout) TicketView() kind.Ticket {
	return kind.Ticket{Number: r.ticket.Number, Source: r.ticket.Source, Opened: field.At(r.ticket.Opened, 0)}
}

// View returns the reason for readers.
func (re *Reason) View() kind.BlockReason {
	out := kind.BlockReason{
		Code: re.Code, Text: codec.Cut(re.String(), kind.MaxReason), Location: re.Location, Blocked: re.Blocked,
		Seq: re.Seq, Waiting: re.Waiting, Of: re.Of, Since: field.At(re.Since, 0), Left: field.Duration(re.Until),
	}
	for _, la := range re.Named {
		out.Named = append(out.Named, la.Name)
	}
	return out
}

// Summary returns the rollout as lists show it, without name and revision.
func (r *Rollout) Summary(now uint64) kind.Summary {
	out := kind.Summary{
		Phase: r.Phase(now), Locations: len(r.locations), Instances: len(r.byName), LastSeq: r.lastSeq,
	}
	for _, l := range r.locations {
		if t := l.Target(); t != nil && t.Reached != 0 && t.Seq == r.lastSeq && (!t.Waived || l.satisfied()) {
			out.Reached++
		}
	}
	if v := r.Version(r.lastSeq); v != nil {
		out.Label = v.Label
	}
	return out
}
