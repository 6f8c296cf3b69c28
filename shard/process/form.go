package process

import (
	"github.com/signalbox/signalbox/protocol/field"
	kind "github.com/signalbox/signalbox/protocol/process"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// A command stands in a log by its form: the number of the form, then the fields that the type of package
// protocol/process lists. Each value has exactly one form. A form of a later number comes with a level of its own, so
// that no build reads a form that the build does not know. Payloads, data of replies, results and texts of failures
// stand beside the forms.

// Append appends the form of a command: a Put, an Arrival or an Act.
func Append(dst []byte, v field.Value) []byte { return codec.Append(dst, formNumber, v) }

// Parse reads the form of a command. The error names the command; a shard keeps the text as its answer, so the text
// never changes.
func Parse[T any, P interface {
	*T
	field.Value
}](src []byte, command string) (v T, err error) {
	err = codec.Parse(src, formNumber, "process: read "+command, P(&v))
	return v, err
}

// AppendReceivers appends the form of the receivers of a request.
func AppendReceivers(dst []byte, r Request) []byte {
	c := codec.Writer(dst)
	c.Form(formNumber)
	r.codeReceivers(c)
	return c.Data()
}

// parseReceivers reads a request, of which the form has only the receivers.
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
