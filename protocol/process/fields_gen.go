// Code generated from the structs with wire tags by: go test ./test/tidy -run Values -update. DO NOT EDIT.

package process

import (
	"github.com/signalbox/signalbox/protocol/field"
)

// Fields implements field.Value.
func (a *Action) Fields(c field.Coder) {
	field.Enum(c, "action", &a.Kind, ActionKinds)
	c.Number("member_id", &a.MemberID)
	a.By.Fields(c)
}

// Fields implements field.Value.
func (j *Joining) Fields(c field.Coder) {
	c.Text("member", &j.Name, MaxText)
	c.Bytes("attributes", &j.Attributes, MaxAttributes)
	c.Flag("candidate", &j.Candidate)
}

// Fields implements field.Value.
func (a *ActionRecord) Fields(c field.Coder) {
	field.Enum(c, "action", &a.Kind, ActionKinds)
	c.Moment("shard_time_ms", &a.At)
	c.Wall("wall_ms", &a.At)
	c.Number("epoch", &a.Epoch)
	c.Number("member_id", &a.MemberID)
	c.Text("member", &a.Member, MaxText)
	a.By.Fields(c)
}

// Fields implements field.Value.
func (b *BlockReason) Fields(c field.Coder) {
	c.Text("code", &b.Code, MaxWord)
	c.Text("text", &b.Text, MaxReason)
	c.Flag("blocked", &b.Blocked)
	c.Number("epoch", &b.Epoch)
	c.Number("exchange", &b.Exchange)
	c.Number("from", &b.From)
	c.Count("waiting", &b.Waiting)
	c.Count("total", &b.Of)
	c.Numbers("waiting_for", &b.Named, MaxNamed)
	c.Moment("since", &b.Since)
	c.Left("until", &b.Left)
	c.Flag("late", &b.Late)
}
