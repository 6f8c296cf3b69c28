package rollout

import "github.com/signalbox/signalbox/protocol/field"

// ChangeInfo is who does something with a rollout, and why.
type ChangeInfo = field.ChangeInfo

// Put makes a rollout, or gives a rollout another spec.
type Put = field.Put[Spec, *Spec]

// Action is what an operator does with a rollout, in whatever state the rollout is. The rollout keeps the action, with
// who and why.
type Action struct {
	Kind ActionKind `name:"action"`
	// Locations are the locations that the action is about; an empty list stands for all locations.
	Locations []string
	// Seq is the version that the action is about, if the action is about a version.
	Seq uint64 `name:"version"`
	// Fast makes a roll-back reach all its locations at once, without order and delays.
	Fast bool       `name:"all_at_once"`
	By   ChangeInfo `inline:"true"`
}

// Fields implements field.Value.
func (a *Action) Fields(c field.Coder) {
	field.Enum(c, "action", &a.Kind, ActionKinds)
	c.Words("locations", &a.Locations, MaxLocations, MaxWord)
	c.Number("seq", &a.Seq)
	c.Flag("fast", &a.Fast)
	a.By.Fields(c)
}

// Verdict is what a checker says of a target at a gate.
type Verdict struct {
	Result Result `name:"verdict"`
	// Text is what was found, for people.
	Text string `name:"message"`
}

// GateReport is a verdict, and what the verdict is about.
type GateReport struct {
	Location string
	Gate     string
	// Seq is the version that was checked, Generation the target; 0 is the present target of that version.
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

// Publication is a version to be, as a publisher says it.
type Publication struct {
	Payload []byte
	Label   string
	By      ChangeInfo
	// Compare makes the rollout refuse the version unless Expected is the seq of the newest version there ever was.
	Compare  bool
	Expected uint64
	// Fence, if it is not 0, is a fencing token, the order id of an acquire: a version is refused if an earlier version
	// was published under a higher token.
	Fence uint64
}

// Fields implements field.Value. In a log the payload is the data of the command, and Compare stands last.
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

// SourceRole gives a session the role of a source, or takes the role back.
type SourceRole struct {
	Off bool
	// Name is what people know the source by.
	Name string
}

// Fields implements field.Value.
func (s *SourceRole) Fields(c field.Coder) {
	c.Flag("unregister", &s.Off)
	c.Text("source", &s.Name, MaxText)
}

// Offering answers the question to a source, with a version or without.
type Offering struct {
	Ticket uint64
	// Declined: the source has no version now. Text says why.
	Declined bool
	Text     string
	// A version has payload, label and author.
	Payload       []byte
	Label, Author string
}

// Fields implements field.Value. In a log the payload is the data of the command.
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

// Instance is what an instance says of itself when the instance joins.
type Instance struct {
	// Name is unique among the instances of the rollout that have a session.
	Name     string
	Location string
	// Attributes are up to 1 KiB that others can read.
	Attributes []byte
}

// Fields implements field.Value.
func (i *Instance) Fields(c field.Coder) {
	c.Text("instance", &i.Name, MaxText)
	c.Text("location", &i.Location, MaxWord)
	c.Bytes("attributes", &i.Attributes, MaxAttributes)
}
