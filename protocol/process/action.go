package process

import "github.com/signalbox/signalbox/protocol/field"

// ChangeInfo is who changes a process, and why.
type ChangeInfo = field.ChangeInfo

// Put creates a process, or changes its spec.
type Put = field.Put[Spec, *Spec]

// Action is an operator's action on a process, other than a Put. The process records the action, with author and
// reason.
type Action struct {
	Kind     ActionKind `wire:"action ActionKinds"` // ActionEvict or ActionRestart
	MemberID uint64     // for ActionEvict
	By       ChangeInfo `wire:"inline"`
}

// Joining is what a session reports about itself on joining. A member that joins again under an unchanged name changes
// its attributes and candidacy.
type Joining struct {
	// Name identifies the member for people and need not be unique.
	Name       string `wire:"member MaxText"`
	Attributes []byte `wire:"attributes MaxAttributes"`
	Candidate  bool   // the member may coordinate
}

// Arrival is a Joining that may create the process.
type Arrival struct {
	Joining
	// Create creates the process from the spec if no object with the name exists.
	Create bool
	Spec   Spec
}

// Fields implements field.Value. The log has a spec only if Create is set.
func (a *Arrival) Fields(c field.Coder) {
	a.Joining.Fields(c)
	c.Flag("create", &a.Create)
	if a.Create || c.Form() == field.Wire {
		c.Record("spec", a.Spec.Fields)
	}
}
