package rollout

import "github.com/signalbox/signalbox/shard/internal/form"

// This file has the forms in which commands stand in a log, and in which an Ask is answered. Each begins with the
// number of its form, as saved bytes do, and what is read has exactly one form. A form of a later number comes with a
// level of its own, so that no build reads one that it does not know.

// Put is the command that makes a rollout, or gives one another spec.
type Put struct {
	Mode PutMode
	// ExpectedRevision, if it is not 0, is that of the spec in force: where another is, the command is refused.
	ExpectedRevision uint64
	Spec             Spec
	Author, Reason   string
}

// PutMode says what a Put does with a rollout that is there, and without one.
type PutMode uint8

// The modes: make a rollout, alter the one that is there, or whichever of the two is possible.
const (
	PutCreate PutMode = iota
	PutAlter
	PutEither
	putModes
)

// SourceRole is the command that gives a session the role of a source, or takes it back.
type SourceRole struct {
	Off  bool
	Name string
}

// Offering is the command that answers the question to a source.
type Offering struct {
	Ticket uint64
	// Declined: there is no version now. Text says why.
	Declined bool
	Text     string
	// Version is the answer otherwise; it compares nothing, and is under no fence.
	Version Publication
}

// Joining is the command that lets a session take part as an instance.
type Joining struct {
	Instance, Location, Attributes string
}

// AppendPut appends the form of a Put. It is read with ParsePut, as each of the forms below with its own function.
func AppendPut(dst []byte, p Put) []byte { return appendForm(dst, p.code) }

// ParsePut reads a Put.
func ParsePut(src []byte) (p Put, err error) {
	err = parseForm(src, "put", p.code)
	return p, err
}

// AppendPublication appends the form of a publication without its payload, which stands beside it.
func AppendPublication(dst []byte, p Publication) []byte { return appendForm(dst, p.code) }

// ParsePublication reads a publication, which gets the payload.
func ParsePublication(src, payload []byte) (p Publication, err error) {
	err = parseForm(src, "publication", p.code)
	p.Payload = payload
	return p, err
}

// AppendSourceRole appends the form of a SourceRole.
func AppendSourceRole(dst []byte, s SourceRole) []byte { return appendForm(dst, s.code) }

// ParseSourceRole reads a SourceRole.
func ParseSourceRole(src []byte) (s SourceRole, err error) {
	err = parseForm(src, "role of a source", s.code)
	return s, err
}

// AppendOffering appends the form of an Offering without the payload, which stands beside it.
func AppendOffering(dst []byte, o Offering) []byte { return appendForm(dst, o.code) }

// ParseOffering reads an Offering, whose version gets the payload.
func ParseOffering(src, payload []byte) (o Offering, err error) {
	err = parseForm(src, "offering", o.code)
	o.Version.Payload = payload
	return o, err
}

// AppendJoining appends the form of a Joining.
func AppendJoining(dst []byte, j Joining) []byte { return appendForm(dst, j.code) }

// ParseJoining reads a Joining.
func ParseJoining(src []byte) (j Joining, err error) {
	err = parseForm(src, "joining", j.code)
	return j, err
}

// AppendReport appends the form of a Report, which is that of an Ask too.
func AppendReport(dst []byte, r Report) []byte { return appendForm(dst, r.code) }

// ParseReport reads a Report.
func ParseReport(src []byte) (r Report, err error) {
	c := form.Reader(src) // without a closure: this is read most often
	c.Form(formNumber)
	r.code(c)
	err = c.Finish("rollout: read a report")
	return r, err
}

// AppendAct appends the form of an Act.
func AppendAct(dst []byte, a Act) []byte { return appendForm(dst, a.code) }

// ParseAct reads an Act.
func ParseAct(src []byte) (a Act, err error) {
	err = parseForm(src, "act", a.code)
	return a, err
}

// AppendVerdict appends the form of a GateVerdict.
func AppendVerdict(dst []byte, g GateVerdict) []byte { return appendForm(dst, g.code) }

// ParseVerdict reads a GateVerdict.
func ParseVerdict(src []byte) (g GateVerdict, err error) {
	err = parseForm(src, "verdict", g.code)
	return g, err
}

// AppendTarget appends the form in which an Ask is answered: the target without label and payload, which are those of
// its version.
func AppendTarget(dst []byte, t Target) []byte { return appendForm(dst, t.code) }

// ParseTarget reads the answer of an Ask.
func ParseTarget(src []byte) (t Target, err error) {
	err = parseForm(src, "target", t.code)
	return t, err
}

func appendForm(dst []byte, code func(*form.Coder)) []byte {
	c := form.Writer(dst)
	c.Form(formNumber)
	code(c)
	return c.Data()
}

func parseForm(src []byte, name string, code func(*form.Coder)) error {
	c := form.Reader(src)
	c.Form(formNumber)
	code(c)
	return c.Finish("rollout: read a " + name)
}

func (p *Put) code(c *form.Coder) {
	form.Enum(c, &p.Mode, putModes)
	c.Number(&p.ExpectedRevision)
	p.Spec.Rules.code(c)
	form.List(c, &p.Spec.Locations, MaxLocations, func(ls *LocationSpec) { ls.code(c) })
	c.Text(&p.Author, MaxText)
	c.Text(&p.Reason, MaxText)
}

func (p *Publication) code(c *form.Coder) {
	c.Text(&p.Label, MaxText)
	c.Text(&p.Author, MaxText)
	c.Text(&p.Reason, MaxText)
	c.Numbers(&p.Expected, &p.Fence)
	c.Flag(&p.Compare)
}

func (s *SourceRole) code(c *form.Coder) {
	c.Flag(&s.Off)
	c.Text(&s.Name, MaxText)
}

func (o *Offering) code(c *form.Coder) {
	c.Number(&o.Ticket)
	c.Flag(&o.Declined)
	c.Text(&o.Text, MaxText)
	c.Text(&o.Version.Label, MaxText)
	c.Text(&o.Version.Author, MaxText)
}

func (j *Joining) code(c *form.Coder) {
	c.Text(&j.Instance, MaxText)
	c.Text(&j.Location, MaxWord)
	c.Text(&j.Attributes, MaxAttributes)
}

func (re *Report) code(c *form.Coder) {
	c.Number(&re.Current)
	c.Number(&re.Generation)
	form.Enum(c, &re.Status, statuses)
	c.Text(&re.Code, MaxWord)
	c.Text(&re.Text, MaxText)
	c.Number(&re.Attempts)
}

func (a *Act) code(c *form.Coder) {
	form.Enum(c, &a.Verb, verbs)
	form.List(c, &a.Locations, MaxLocations, func(name *string) { c.Text(name, MaxWord) })
	c.Number(&a.Seq)
	c.Flag(&a.Fast)
	c.Text(&a.Author, MaxText)
	c.Text(&a.Reason, MaxText)
}

func (g *GateVerdict) code(c *form.Coder) {
	c.Text(&g.Location, MaxWord)
	c.Text(&g.Gate, MaxWord)
	c.Numbers(&g.Seq, &g.Generation)
	form.Enum(c, &g.Verdict, verdicts)
	c.Text(&g.By, MaxText)
	c.Text(&g.Text, MaxText)
}

func (t *Target) code(c *form.Coder) { c.Numbers(&t.Generation, &t.Seq, &t.NextIn) }
