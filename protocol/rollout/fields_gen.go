// Code generated from the structs with wire tags by: go test ./test/tidy -run Values -update. DO NOT EDIT.

package rollout

import (
	"github.com/signalbox/signalbox/protocol/field"
)

// Fields implements field.Value.
func (a *Action) Fields(c field.Coder) {
	field.Enum(c, "action", &a.Kind, ActionKinds)
	c.Words("locations", &a.Locations, MaxLocations, MaxWord)
	c.Number("seq", &a.Seq)
	c.Flag("fast", &a.Fast)
	a.By.Fields(c)
}

// Fields implements field.Value.
func (s *SourceRole) Fields(c field.Coder) {
	c.Flag("unregister", &s.Off)
	c.Text("source", &s.Name, MaxText)
}

// Fields implements field.Value.
func (i *Instance) Fields(c field.Coder) {
	c.Text("instance", &i.Name, MaxText)
	c.Text("location", &i.Location, MaxWord)
	c.Bytes("attributes", &i.Attributes, MaxAttributes)
}

// Fields implements field.Value.
func (s *Step) Fields(c field.Coder) {
	c.Left("at_ms", &s.After)
	c.Text("location", &s.Location, MaxWord)
	c.Number("seq", &s.Seq)
	field.Enum(c, "cause", &s.Cause, Causes)
}

// Fields implements field.Value.
func (s *Summary) Fields(c field.Coder) {
	c.Text("name", &s.Name, field.MaxName)
	c.Number("revision", &s.Revision)
	field.Enum(c, "phase", &s.Phase, Phases)
	c.Count("locations", &s.Locations)
	c.Count("reached", &s.Reached)
	c.Count("instances", &s.Instances)
	c.Number("last_seq", &s.LastSeq)
	c.Text("label", &s.Label, MaxText)
}

// Fields implements field.Value.
func (r *Report) Fields(c field.Coder) {
	c.Number("current", &r.Current)
	c.Number("generation", &r.Generation)
	field.Enum(c, "status", &r.Status, Statuses)
	c.Text("code", &r.Code, MaxWord)
	c.Text("text", &r.Text, MaxText)
	c.Count("attempts", &r.Attempts)
}

// Fields implements field.Value.
func (t *Ticket) Fields(c field.Coder) {
	c.Number("ticket", &t.Number)
	c.Number("source_id", &t.Source)
	c.Moment("opened", &t.Opened)
}

// Fields implements field.Value.
func (l *Location) Fields(c field.Coder) {
	c.Text("name", &l.Name, MaxWord)
	c.Millis("delay_ms", &l.Delay)
	c.Count("require", &l.Require)
	c.Count("max_failing", &l.MaxFailing)
	c.Words("gates", &l.Gates, MaxGates, MaxWord)
}

// Fields implements field.Value.
func (s *State) Fields(c field.Coder) {
	c.Record("spec", s.Spec.Fields)
	c.Number("spec_revision", &s.SpecRevision)
	c.Number("last_seq", &s.LastSeq)
	c.Number("generation", &s.Generation)
	c.Record("paused", s.Paused.Fields)
	c.Record("halted", s.Halted.Fields)
	c.Words("sources", &s.Sources, MaxSources, MaxText)
	c.Text("declined", &s.Declined, MaxText)
	c.Record("last_action", s.LastAct.Fields)
}

// Fields implements field.Value.
func (co *Counts) Fields(c field.Coder) {
	c.Count("instances", &co.Instances)
	c.Count("leaders", &co.Leaders)
	c.Count("reached", &co.Reached)
	c.Count("failing", &co.Failing)
}

// Fields implements field.Value.
func (b *BlockReason) Fields(c field.Coder) {
	c.Text("code", &b.Code, MaxWord)
	c.Text("text", &b.Text, MaxReason)
	c.Text("location", &b.Location, MaxWord)
	c.Flag("blocked", &b.Blocked)
	c.Number("seq", &b.Seq)
	c.Count("waiting", &b.Waiting)
	c.Count("total", &b.Of)
	c.Words("waiting_for", &b.Named, MaxNamed, MaxText)
	c.Moment("since", &b.Since)
	c.Left("until", &b.Left)
}
