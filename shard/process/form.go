package process

import (
	"github.com/signalbox/signalbox/protocol/field"
	kind "github.com/signalbox/signalbox/protocol/process"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// The log encodes a command as a form: the form number, then the fields listed by the type in package protocol/process.
// Each value has exactly one encoding. A new form number needs a new feature level, so no build reads an unknown form.
// Payloads, reply data, results and failure texts are stored beside the forms.

// Append appends a command's form: a Put, an Arrival or an Act.
func Append(dst []byte, v field.Value) []byte { return codec.Append(dst, formNumber, v) }

// Parse reads a command's form. The error names the command; a shard keeps the text as its answer, so the text never
// changes.
func Parse[T any, P interface {
	*T
	field.Value
}](src []byte, command string) (v T, err error) {
	err = codec.Parse(src, formNumber, "process: read "+command, P(&v))
	return v, err
}

// AppendReceivers appends the form for a request's receivers.
func AppendReceivers(dst []byte, r Request) []byte {
	c := codec.Writer(dst)
	c.Form(formNumber)
	r.codeReceivers(c)
	return c.Data()
}

// parseReceivers reads a request; the form contains only the receivers.
func parseReceivers(src []byte) (r Request, err error) {
	c := codec.Reader(src)
	c.Form(formNumber)
	r.codeReceivers(c)
	return r, c.Finish("process: read a request")
}

func (r *Request) codeReceivers(c *codec.Coder) {
	codec.Enum(c, &r.Audience, kind.Audiences)
	codec.List(c, &r.To, kind.MaxMembers, func(id *uint64) { c.Number(id) })
}
