package process

import "github.com/signalbox/signalbox/shard/internal/form"

// This file has the forms in which commands stand in a log. Each begins with the number of its form, as saved bytes do,
// and what is read has exactly one form. A form of a later number comes with a level of its own, so that no build reads
// one that it does not know. Payloads, data of replies, results and texts of failures stand beside the forms.

// Put is the command that makes a process, or gives one another spec.
type Put struct {
	Mode PutMode
	// ExpectedRevision, if it is not 0, is that of the spec in force: where another is, the command is refused.
	ExpectedRevision uint64
	Spec             Spec
	Author, Reason   string
}

// PutMode says what a Put does with a process that is there, and without one.
type PutMode uint8

// The modes: make a process, alter the one that is there, or whichever of the two is possible.
const (
	PutCreate PutMode = iota
	PutAlter
	PutEither
	putModes
)

// AppendPut appends the form of a Put. It is read with ParsePut, as each of the forms below with its own function.
func AppendPut(dst []byte, p Put) []byte { return appendForm(dst, p.code) }

// ParsePut reads a Put.
func ParsePut(src []byte) (p Put, err error) {
	err = parseForm(src, "a put", p.code)
	return p, err
}

// Arrival is the command by which a session joins a process, or makes one by joining where there is none of the name.
type Arrival struct {
	Joining
	Create bool
	Spec   Spec // of the process that it makes
}

// AppendArrival appends the form of an Arrival.
func AppendArrival(dst []byte, a Arrival) []byte { return appendForm(dst, a.code) }

// ParseArrival reads an Arrival.
func ParseArrival(src []byte) (a Arrival, err error) {
	err = parseForm(src, "a joining", a.code)
	return a, err
}

// AppendReceivers appends the form of what a request says of those that it is for.
func AppendReceivers(dst []byte, r Request) []byte { return appendForm(dst, r.codeReceivers) }

// ParseReceivers reads a request, of which the form has no more than that.
func ParseReceivers(src []byte) (r Request, err error) {
	err = parseForm(src, "a request", r.codeReceivers)
	return r, err
}

// AppendAct appends the form of an operator's act.
func AppendAct(dst []byte, a Act) []byte { return appendForm(dst, a.code) }

// ParseAct reads an operator's act.
func ParseAct(src []byte) (a Act, err error) {
	err = parseForm(src, "an act", a.code)
	return a, err
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
	return c.Finish("process: read " + name)
}

func (p *Put) code(c *form.Coder) {
	form.Enum(c, &p.Mode, putModes)
	c.Number(&p.ExpectedRevision)
	p.Spec.code(c)
	c.Text(&p.Author, MaxText)
	c.Text(&p.Reason, MaxText)
}

func (a *Arrival) code(c *form.Coder) {
	c.Text(&a.Name, MaxText)
	c.Text(&a.Attributes, MaxAttributes)
	c.Flag(&a.Candidate)
	c.Flag(&a.Create)
	if a.Create {
		a.Spec.code(c)
	}
}

func (r *Request) codeReceivers(c *form.Coder) {
	form.Enum(c, &r.Audience, audiences)
	form.List(c, &r.To, MaxMembers, func(id *uint64) { c.Number(id) })
}

func (a *Act) code(c *form.Coder) {
	form.Enum(c, &a.Verb, verbs)
	c.Number(&a.Member)
	c.Text(&a.Author, MaxText)
	c.Text(&a.Reason, MaxText)
}
