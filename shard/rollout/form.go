package rollout

import (
	"github.com/signalbox/signalbox/protocol/field"
	kind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// The log encodes a command as a form: the form number, then the fields in the order given by the command's type in
// package protocol/rollout. Every value has exactly one encoding. A new form number needs a new feature level, so no
// build reads an unknown form.

// Append appends a command's form: a Put, a Publication or an Offering without the payload, an Act, and so on. The
// command carries the payload as its data.
func Append(dst []byte, v field.Value) []byte { return codec.Append(dst, formNumber, v) }

// Parse reads a command's form. The error names the command; a shard keeps the text as its answer, so the text never
// changes.
func Parse[T any, P interface {
	*T
	field.Value
}](src []byte, command string) (v T, err error) {
	err = codec.Parse(src, formNumber, "rollout: read "+command, P(&v))
	return v, err
}

// AppendReport appends a Report's form. An Ask has the same form.
func AppendReport(dst []byte, r Report) []byte {
	c := codec.Writer(dst)
	c.Form(formNumber)
	r.code(c)
	return c.Data()
}

// appendTarget appends the form for the answer to an Ask: the target without label and payload. Both belong to the
// version, so the form does not repeat them.
func appendTarget(dst []byte, t Target) []byte {
	c := codec.Writer(dst)
	c.Form(formNumber)
	t.code(c)
	return c.Data()
}

// ParseTarget reads the answer to an Ask.
func ParseTarget(src []byte) (t Target, err error) {
	c := codec.Reader(src)
	c.Form(formNumber)
	t.code(c)
	return t, c.Finish("rollout: read a target")
}

// ParseReport reads a Report.
func ParseReport(src []byte) (r Report, err error) {
	c := codec.Reader(src) // no closure: this is read most often
	c.Form(formNumber)
	r.code(c)
	err = c.Finish("rollout: read a report")
	return r, err
}

func (re *Report) code(c *codec.Coder) {
	c.Number(&re.Current)
	c.Number(&re.Generation)
	codec.Enum(c, &re.Status, kind.Statuses)
	c.Text(&re.Code, kind.MaxWord)
	c.Text(&re.Text, kind.MaxText)
	c.Number(&re.Attempts)
}

func (t *Target) code(c *codec.Coder) { c.Numbers(&t.Generation, &t.Seq, &t.NextIn) }
