package main

import (
	"time"

	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// ages makes times of what was read a while ago those of now.
type ages struct{ elapsed time.Duration }

// since is how long ago something was, nil where it has not been.
func (a ages) since(m rollout.Moment) *int64 {
	if !m.Happened {
		return nil
	}
	ms := cli.Millis(m.Ago + a.elapsed)
	return &ms
}

// left is how long it is to something, nil where there is no end.
func (a ages) left(d time.Duration) *int64 {
	if d == 0 {
		return nil
	}
	ms := cli.Millis(max(0, d-a.elapsed))
	return &ms
}

// newRolloutObject returns a rollout as it is printed, as it is when so much time has passed since it was read and
// nothing else has happened.
func newRolloutObject(path, name string, s *rollout.State, elapsed time.Duration) *rolloutObject {
	a, labels := ages{elapsed}, labelsOf(s.Versions)
	o := &rolloutObject{
		Path: path, Name: name, Exists: s.Exists, Revision: s.Revision, Phase: s.Phase.String(), Newest: s.LastSeq,
		Label: labels[s.LastSeq], Generation: s.Generation, Paused: a.stop(s.Paused), Halted: a.stop(s.Halted),
		Locations: []locationObject{}, Reasons: []reasonObject{}, Sources: emptyNotNull(s.Sources),
		Declined: s.Declined, Spec: newSpecObject(s),
	}
	if s.LastAct.Number != 0 {
		act := a.act(s.LastAct)
		o.LastAct = &act
	}
	for _, r := range s.Reasons {
		o.Reasons = append(o.Reasons, a.reason(r))
	}
	for i := range s.Locations {
		o.Locations = append(o.Locations, a.location(&s.Locations[i], labels, s.Reasons))
	}
	return o
}

// labelsOf are the labels of versions by their number.
func labelsOf(versions []rollout.Version) map[uint64]string {
	labels := make(map[uint64]string, len(versions))
	for _, v := range versions {
		labels[v.Seq] = v.Label
	}
	return labels
}

// emptyNotNull makes a list that is not there an empty one, as JSON has it.
func emptyNotNull(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

func (a ages) stop(s rollout.Stop) *stopObject {
	age := a.since(s.Since)
	if age == nil {
		return nil
	}
	o := &stopObject{AgeMS: *age, Location: s.Location, Author: s.By.Author, Text: s.By.Reason}
	if s.Reason != rollout.NotHalted {
		o.Reason = s.Reason.String()
	}
	return o
}

func (a ages) location(
	l *rollout.LocationState, labels map[uint64]string, reasons []rollout.StopReason,
) locationObject {
	o := locationObject{
		Location: l.Name, Instances: l.Instances, Leaders: l.Leaders, Reached: l.Reached, Failing: l.Failing,
		Gates: []gateObject{}, Back: l.Back, Bypassed: l.Bypassed, Stuck: l.Stuck, Reelections: l.Reelections,
		InheritedMS: cli.Millis(l.Inherited),
	}
	if l.Target.Generation != 0 {
		t := a.target(l.Target, labels)
		o.Target = &t
	}
	for _, g := range l.Gates {
		o.Gates = append(o.Gates, gateObject{g.Name, g.Verdict.Result.String(), g.By, g.Verdict.Text, a.since(g.Since)})
	}
	for _, r := range reasons {
		if r.Location == l.Name && r.Code == rollout.ReasonDelay {
			o.Next, o.NextMS = r.Seq, a.left(r.Left)
		}
	}
	o.State = o.state()
	return o
}

func (a ages) target(r rollout.Row, labels map[uint64]string) targetObject {
	return targetObject{
		Version: r.Seq, Label: labels[r.Seq], Generation: r.Generation, Cause: r.Cause.String(), Waived: r.Waived,
		Note: r.Note, AssignedMS: a.since(r.Assigned), ReachedMS: a.since(r.Reached), GivenUpMS: a.since(r.Abandoned),
		AssignedAt: sinceField(r.Assigned.Wall), ReachedAt: sinceField(r.Reached.Wall),
		GivenUpAt: sinceField(r.Abandoned.Wall),
	}
}

func (a ages) reason(r rollout.StopReason) reasonObject {
	return reasonObject{
		r.Code, r.Text, r.Location, r.Blocked, r.Seq, r.Waiting, r.Of, emptyNotNull(r.Named), a.since(r.Since),
		a.left(r.Left),
	}
}

func (a ages) act(p rollout.PastAct) actObject {
	age := a.since(p.At)
	if age == nil {
		age = new(int64)
	}
	return actObject{
		p.Number, p.Verb.String(), emptyNotNull(p.Locations), p.Seq, p.Fast, p.By.Author, p.By.Reason, *age,
		sinceField(p.At.Wall),
	}
}

func newInstanceObject(location string, i *rollout.InstanceState) instanceObject {
	role := "follower"
	if i.Leader {
		role = "leader"
	}
	r := &i.Report
	return instanceObject{
		location, i.Name, cli.ID(i.SessionID), role, r.Status.String(), r.Current, r.Generation, i.Sent, r.Code, r.Text,
		r.Attempts, ages{}.since(i.Since), cli.NewPayload(i.Attributes),
	}
}

func newVersionObject(v *rollout.Version) versionObject {
	return versionObject{
		v.Seq, v.Label, v.PayloadBytes, v.Withdrawn, emptyNotNull(v.AbandonedIn), v.By.Author, v.By.Reason,
		cli.Millis(v.Published.Ago), sinceField(v.Published.Wall),
	}
}

// newSpecObject returns what an operator has said of a rollout.
func newSpecObject(s *rollout.State) specObject {
	f := newSpecFile(s.Spec)
	o := specObject{
		Revision: s.SpecRevision, Locations: []specLocationObject{}, DelayFrom: f.DelayFrom, Source: f.Source,
		ReelectCodes: emptyNotNull(f.ReelectCodes), ReelectAfterMS: cli.Millis(f.ReelectAfter),
		ReelectAttempts: f.ReelectAttempts, ReelectIntervalMS: cli.Millis(f.ReelectInterval),
		ReelectMost: f.ReelectMost, ProgressMS: cli.Millis(f.Progress), HaltMS: cli.Millis(f.Halt), Keep: f.Keep,
		AskMS: cli.Millis(f.AskInterval),
	}
	for _, l := range f.Locations {
		o.Locations = append(o.Locations, specLocationObject{l.Name, cli.Millis(l.Delay), l.Require, l.MaxFailing,
			emptyNotNull(l.Gates)})
	}
	return o
}

func newSummaryObject(path string, s *rollout.Summary) summaryObject {
	return summaryObject{
		path, s.Name, s.Revision, s.Phase.String(), s.Locations, s.Reached, s.Instances, s.LastSeq, s.Label,
	}
}
