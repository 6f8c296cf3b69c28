package rollout

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard/internal/form"
)

// This file has what readers see of a rollout, in the records of the protocol.

// Head returns the head of the whole rollout. The locations are rows.
func (r *Rollout) Head() protocol.RolloutHead {
	h := protocol.RolloutHead{
		Spec: r.rules.record(), SpecRevision: r.specRevision, LastSeq: r.lastSeq, Generation: r.generation,
		Paused: r.paused.record(), Halted: r.halted.record(), Declined: []byte(r.declined),
	}
	for k := range r.sources {
		h.Sources.Append(protocol.Label(r.sources[k].Name))
	}
	if n := len(r.audit); n > 0 {
		h.LastAct = r.audit[n-1].Record()
	}
	return h
}

func (ru *Rules) record() protocol.RolloutSpec {
	re := &ru.Reelect
	return protocol.RolloutSpec{
		DelayFrom: protocol.DelayFrom(ru.DelayFrom), Versions: protocol.VersionSource(ru.Source),
		Reelect: protocol.ReelectSpec{
			Codes: words(re.Codes), AfterMillis: re.After, Attempts: re.Attempts, IntervalMillis: re.MinInterval,
			Most: re.Max,
		},
		ProgressMillis: ru.ProgressDeadline, HaltMillis: ru.HaltDeadline, KeepVersions: ru.KeepVersions,
		AskMillis: ru.AskInterval,
	}
}

func words(list []string) (w protocol.Words) {
	for _, s := range list {
		w.Append(protocol.Word(s))
	}
	return w
}

func (s *Stop) record() protocol.RolloutStop {
	return protocol.RolloutStop{
		Since: s.Since, Reason: protocol.HaltReason(s.Reason), Location: []byte(s.Location), Author: []byte(s.By),
		Text: []byte(s.Why),
	}
}

// Record returns the act as readers see it.
func (a *Audit) Record() protocol.RolloutActRow {
	return protocol.RolloutActRow{
		Number: a.Number, Moment: a.Since, WallMillis: a.Wall,
		Act: protocol.Act{
			Verb: protocol.RolloutVerb(a.Verb), Locations: words(a.Locations), Seq: a.Seq, Fast: a.Fast,
			Author: []byte(a.Author), Reason: []byte(a.Reason),
		},
	}
}

// Record returns the location as a row of the whole rollout.
func (l *Location) Record() protocol.RolloutLocation {
	out := protocol.RolloutLocation{
		Place: uint64(l.index),
		Spec: protocol.LocationSpec{
			Name: []byte(l.Spec.Name), DelayMillis: l.Spec.Delay, Require: l.Spec.Require,
			MaxFailing: l.Spec.MaxFailing, Gates: words(l.Spec.Gates),
		},
		InheritedMillis: l.Inherited, Counts: l.Counts.Record(), Bypassed: l.Bypassed, Back: l.Back, Stuck: l.Stuck,
		Reelections: l.Reelections,
	}
	if t := l.Target(); t != nil {
		out.Target = t.Record()
	}
	for k := range l.Gates {
		g := &l.Gates[k]
		out.Gates.Append(protocol.GateState{
			Name: []byte(g.Name), Verdict: protocol.Verdict(g.Verdict), By: []byte(g.By), Text: []byte(g.Text),
			Since: g.Since,
		})
	}
	return out
}

// Record returns the counts as readers see them.
func (co Counts) Record() protocol.InstanceCounts {
	return protocol.InstanceCounts{
		Instances: uint64(co.Instances), Leaders: uint64(co.Leaders), Reached: uint64(co.Reached),
		Failing: uint64(co.Failing),
	}
}

// Record returns the target as a row of its location's history.
func (row *Row) Record() protocol.TargetRow {
	return protocol.TargetRow{
		Seq: row.Seq, Generation: row.Generation, Assigned: row.Assigned, Reached: row.Reached,
		Abandoned: row.Abandoned, Cause: protocol.TargetCause(row.Cause), Waived: row.Waived, Note: []byte(row.Note),
		AssignedWallMillis: row.AssignedWall, ReachedWallMillis: row.ReachedWall,
		AbandonedWallMillis: row.AbandonedWall,
	}
}

// VersionRecord returns a version as readers see it, without its payload.
func (r *Rollout) VersionRecord(v *Version) protocol.RolloutVersion {
	out := protocol.RolloutVersion{
		Seq: v.Seq, Published: v.Published, WallMillis: v.Wall, Withdrawn: v.Withdrawn,
		PayloadBytes: uint64(len(v.Payload)), Label: []byte(v.Label), Author: []byte(v.Author),
		Reason: []byte(v.Reason),
	}
	for _, id := range v.Abandoned {
		if l := r.byID(id); l != nil {
			out.AbandonedIn.Append(protocol.Word(l.Spec.Name))
		}
	}
	return out
}

// TargetRecord returns what the instances of a location are to bring into use.
func (r *Rollout) TargetRecord(l *Location) (out protocol.RolloutTarget) {
	t := l.Target()
	if t == nil {
		return out
	}
	out.Generation, out.Seq = t.Generation, t.Seq
	if v := r.Version(t.Seq); v != nil {
		out.Label, out.Payload = []byte(v.Label), v.Payload
	}
	return out
}

// Record returns the instance as readers see it. The session is that which it belongs to.
func (i *Instance) Record(session uint64) protocol.RolloutInstance {
	return protocol.RolloutInstance{
		Name: []byte(i.Name), SessionID: session, Leader: i.Role == Leader,
		Report: protocol.InstanceReport{
			Current: i.Current, Generation: i.Generation, Status: protocol.InstanceStatus(i.Status),
			Code: []byte(i.Code), Text: []byte(i.Text), Attempts: i.Attempts,
		},
		Since: i.Since, Sent: i.Sent, Received: i.Received, Attributes: []byte(i.Attributes),
	}
}

// TicketRecord returns the question that is open to the source.
func (r *Rollout) TicketRecord() protocol.SourceTicket {
	return protocol.SourceTicket{Ticket: r.ticket.Number, SourceID: r.ticket.Source, Opened: r.ticket.Opened}
}

// Record returns the reason as readers see it.
func (re *Reason) Record() protocol.Reason {
	out := protocol.Reason{
		Code: []byte(re.Code), Text: []byte(form.Cut(re.String(), protocol.MaxReasonBytes)),
		Location: []byte(re.Location), Blocked: re.Blocked, Seq: re.Seq, Waiting: uint64(re.Waiting),
		Of: uint64(re.Of), Since: re.Since, Until: re.Until,
	}
	for _, la := range re.Named {
		out.Named.Append(protocol.Label(la.Name))
	}
	return out
}

// Summary returns the rollout as lists show it, without name and revision.
func (r *Rollout) Summary(now uint64) protocol.RolloutSummary {
	out := protocol.RolloutSummary{
		Phase: protocol.RolloutPhase(r.Phase(now)), Locations: uint64(len(r.locations)),
		Instances: uint64(len(r.byName)), LastSeq: r.lastSeq,
	}
	for _, l := range r.locations {
		if t := l.Target(); t != nil && t.Reached != 0 && t.Seq == r.lastSeq {
			out.Reached++
		}
	}
	if v := r.Version(r.lastSeq); v != nil {
		out.Label = []byte(v.Label)
	}
	return out
}
