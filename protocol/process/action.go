package process

import "github.com/signalbox/signalbox/protocol/field"

// ChangeInfo is who does something with a process, and why.
type ChangeInfo = field.ChangeInfo

// Put makes a process, or gives a process another spec.
type Put = field.Put[Spec, *Spec]

// Action is what an operator does with a process, besides a Put. The process keeps the action, with who and why.
type Action struct {
	Kind     ActionKind // ActionEvict or ActionRestart
	MemberID uint64     // of ActionEvict
	By       ChangeInfo
}

// Fields implements field.Value.
func (a *Action) Fields(c field.Coder) {
	field.Enum(c, "action", &a.Kind, ActionKinds)
	c.Number("member_id", &a.MemberID)
	a.By.Fields(c)
}

// Joining is what a session says of itself when the session joins. A member that joins again under the same name
// changes the attributes, and whether the member is a candidate.
type Joining struct {
	// Name is what people know the member by; other members may have the same name.
	Name       string
	Attributes []byte
	Candidate  bool // the member may coordinate
}

// Fields implements field.Value.
func (j *Joining) Fields(c field.Coder) {
	c.Text("member", &j.Name, MaxText)
	c.Bytes("attributes", &j.Attributes, MaxAttributes)
	c.Flag("candidate", &j.Candidate)
}

// Arrival is a Joining that may make the process.
type Arrival struct {
	Joining
	// Create makes the process by the spec if no object of the name exists.
	Create bool
	Spec   Spec
}

// Fields implements field.Value. The log has a spec only behind a Create.
func (a *Arrival) Fields(c field.Coder) {
	a.Joining.Fields(c)
	c.Flag("create", &a.Create)
	if a.Create || c.Form() == field.Wire {
		c.Record("spec", a.Spec.Fields)
	}
}
