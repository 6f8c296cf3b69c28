package rollout

import "github.com/signalbox/signalbox/protocol/field"

// By is who does something with a rollout, and why.
type By = field.By

// Put makes a rollout, or gives a rollout another spec.
type Put = field.Put[Spec, *Spec]

// Act is what an operator does with a rollout, in whatever state the rollout is. The rollout keeps the act, with who
// and why.
type Act struct {
	Verb Verb `name:"action"`
	// Locations are the locations that the act is about; an empty list stands for all locations.
	Locations []string
	// Seq is the version that the act is about, if the verb is about a version.
	Seq uint64 `name:"version"`
	// Fast makes a roll-back reach all its locations at once, without order and delays.
	Fast bool `name:"all_at_once"`
	By   By   `inline:"true"`
}

// Fields implements field.Value.
func (a *Act) Fields(c field.Coder) {
	field.Enum(c, "verb", &a.Verb, Verbs)
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

// Judgement is a verdict, and what the verdict is about.
type Judgement struct {
	Location string
	Gate     string
	// Seq is the version that was checked, Generation the target; 0 is the present target of that version.
	Seq        uint64
	Generation uint64
	Verdict    Verdict
	By         string // who checked
}

// Fields implements field.Value.
func (j *Judgement) Fields(c field.Coder) {
	c.Text("location", &j.Location, MaxWord)
	c.Text("gate", &j.Gate, MaxWord)
	c.Number("seq", &j.Seq)
	c.Number("generation", &j.Generation)
	field.Enum(c, "verdict", &j.Verdict.Result, Results)
	c.Text("by", &j.By, MaxText)
	c.Text("text", &j.Verdict.Text, MaxText)
}

// Publication is a version to be, as a publisher says it.
type Publication struct {
	Payload []byte
	Label   string
	By      By
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
	c.Flag("off", &s.Off)
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
