package rollout

import "github.com/signalbox/signalbox/protocol/field"

// ChangeInfo is who changes a rollout, and why.
type ChangeInfo = field.ChangeInfo

// Put creates a rollout, or changes its spec.
type Put = field.Put[Spec, *Spec]

// Action is an operator's action on a rollout, in any rollout state. The rollout records the action, with author and
// reason.
type Action struct {
	Kind ActionKind `name:"action" wire:"action ActionKinds"`
	// Locations are the affected locations; an empty list means all locations.
	Locations []string `wire:"locations MaxLocations MaxWord"`
	// Seq is the affected version, for actions on a version.
	Seq uint64 `name:"version"`
	// Fast makes a rollback reach all its locations at once, without order and delays.
	Fast bool       `name:"all_at_once"`
	By   ChangeInfo `inline:"true" wire:"inline"`
}

// Verdict is a checker's verdict on a target at a gate.
type Verdict struct {
	Result Result `name:"verdict"`
	// Text describes the findings, for people.
	Text string `name:"message"`
}

// GateReport is a verdict, with the gate, version and target it concerns.
type GateReport struct {
	Location string
	Gate     string
	// Seq is the checked version, Generation the target; 0 means the version's present target.
	Seq        uint64
	Generation uint64
	Verdict    Verdict
	By         string // who checked
}

// Fields implements field.Value.
func (g *GateReport) Fields(c field.Coder) {
	c.Text("location", &g.Location, MaxWord)
	c.Text("gate", &g.Gate, MaxWord)
	c.Number("seq", &g.Seq)
	c.Number("generation", &g.Generation)
	field.Enum(c, "verdict", &g.Verdict.Result, Results)
	c.Text("author", &g.By, MaxText)
	c.Text("text", &g.Verdict.Text, MaxText)
}

// Publication is a version to be published.
type Publication struct {
	Payload []byte
	Label   string
	By      ChangeInfo
	// Compare makes the rollout refuse the version unless Expected is the newest seq ever published.
	Compare  bool
	Expected uint64
	// Fence, if not 0, is a fencing token, an acquire's order id: a version is refused if an earlier version was
	// published under a higher token.
	Fence uint64
}

// Fields implements field.Value. In a log the payload is the command's data, and Compare comes last.
func (p *Publication) Fields(c field.Coder) {
	wire := c.Form() == field.Wire
	if wire {
		c.Bytes("payload", &p.Payload, MaxPayload)
	}
	c.Text("label", &p.Label, MaxText)
	p.By.Fields(c)
	if wire {
		c.Flag("compare", &p.Compare)
	}
	c.Number("expected_seq", &p.Expected)
	c.Number("fence", &p.Fence)
	if !wire {
		c.Flag("compare", &p.Compare)
	}
}

// SourceRole makes a session a source, or ends that role.
type SourceRole struct {
	Off bool `wire:"unregister"`
	// Name identifies the source for people.
	Name string `wire:"source MaxText"`
}

// Offering answers a request to a source, with or without a version.
type Offering struct {
	Ticket uint64
	// Declined is set if the source has no version now. Text explains why.
	Declined bool
	Text     string
	// A version has payload, label and author.
	Payload       []byte
	Label, Author string
}

// Fields implements field.Value. In a log the payload is the command's data.
func (o *Offering) Fields(c field.Coder) {
	c.Number("ticket", &o.Ticket)
	c.Flag("declined", &o.Declined)
	c.Text("text", &o.Text, MaxText)
	if c.Form() == field.Wire {
		c.Bytes("payload", &o.Payload, MaxPayload)
	}
	c.Text("label", &o.Label, MaxText)
	c.Text("author", &o.Author, MaxText)
}

// Instance is what an instance reports about itself when it joins.
type Instance struct {
	// Name is unique among the rollout's instances that have a session.
	Name     string `wire:"instance MaxText"`
	Location string `wire:"location MaxWord"`
	// Attributes are up to 1 KiB that others can read.
	Attributes []byte `wire:"attributes MaxAttributes"`
}
