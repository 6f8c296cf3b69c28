package plan

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/signalbox/signalbox/shard/internal/codec"
)

// record is the encoding for everything the package writes: a length, a bit set for the present fields, and the fields
// in bit order. A zero field is absent. Later builds add fields at the end.
type record struct {
	id, kind            uint64
	subject             string
	with                []Subject
	payload             string
	supersedes          uint64
	phase, term         uint64
	started, entered    uint64
	failures            uint64
	lastError           string
	notBefore, revision uint64
}

// field is one record field: a number, a text or a text list, with a limit for its value, its length or its entries.
type field struct {
	number *uint64
	text   *string
	list   *[]Subject
	most   uint64
}

// The fields for each type, as bits.
const (
	planFields     = 1<<0 | 1<<13
	proposalFields = 1<<1 | 1<<2 | 1<<3 | 1<<4 | 1<<5
	actFields      = 1<<0 | 1<<6 | 1<<7 | 1<<10
	backoffFields  = 1<<2 | 1<<9 | 1<<10 | 1<<11 | 1<<12
	stepFields     = proposalFields | actFields | backoffFields | 1<<8
)

// fields are a record's fields in bit order.
func (r *record) fields() [14]field {
	return [...]field{
		{number: &r.id, most: math.MaxUint64},
		{number: &r.kind, most: math.MaxUint8},
		{text: &r.subject, most: MaxSubject},
		{list: &r.with, most: MaxWith},
		{text: &r.payload, most: MaxPayload},
		{number: &r.supersedes, most: math.MaxUint64},
		{number: &r.phase, most: math.MaxUint32},
		{number: &r.term, most: math.MaxUint64},
		{number: &r.started, most: math.MaxUint64},
		{number: &r.entered, most: math.MaxUint64},
		{number: &r.failures, most: math.MaxUint32},
		{text: &r.lastError, most: MaxText},
		{number: &r.notBefore, most: math.MaxUint64},
		{number: &r.revision, most: math.MaxUint64},
	}
}

func (r *record) append(dst []byte) []byte {
	var body []byte
	bits := uint64(0)
	for i, f := range r.fields() {
		before := len(body)
		switch {
		case f.number != nil && *f.number != 0:
			body = binary.AppendUvarint(body, *f.number)
		case f.text != nil && *f.text != "":
			body = codec.AppendBytes(body, *f.text)
		case f.list != nil && len(*f.list) > 0:
			body = binary.AppendUvarint(body, uint64(len(*f.list)))
			for _, s := range *f.list {
				body = codec.AppendBytes(body, s)
			}
		}
		if len(body) > before {
			bits |= 1 << i
		}
	}
	var buf [binary.MaxVarintLen64]byte
	head := binary.AppendUvarint(buf[:0], bits)
	dst = binary.AppendUvarint(dst, uint64(len(head)+len(body)))
	return append(append(dst, head...), body...)
}

// input reads from unchecked bytes. The first error is kept, and all later reads return zero. The allocated memory is
// bounded by the byte length. Only the encoding from Append is accepted.
type input struct {
	codec.Input
	other error // an error other than a malformed encoding
}

func newInput(src []byte) *input { return &input{Input: codec.Input{Data: src}} }

// fail keeps the first error, and drops the bytes.
func (in *input) fail(err error) {
	if in.other == nil && in.Sound() {
		in.other = err
	}
	in.Fail("failed")
}

func (in *input) err() error {
	if in.other != nil {
		return in.other
	}
	if !in.Sound() {
		return fmt.Errorf("%w: %s", ErrForm, in.Bad())
	}
	return nil
}

func (in *input) number(most uint64) uint64 {
	n := in.Number()
	if !in.Must(n <= most, "a number is too large") {
		return 0
	}
	return n
}

func (in *input) text(most uint64) string {
	b := in.Bytes()
	if !in.Must(uint64(len(b)) <= most, "a text is too long") {
		return ""
	}
	return string(b)
}

// record reads a record with the given fields. A malformed record is all zero.
func (in *input) record(may uint64) (r record) {
	body := newInput(in.Bytes())
	bits := body.number(math.MaxUint64)
	if bits&^may != 0 {
		body.fail(fmt.Errorf("%w: bits %#x", ErrNewer, bits&^may))
	}
	for i, f := range r.fields() {
		if !body.Sound() || bits&(1<<i) == 0 {
			continue
		}
		switch {
		case f.number != nil:
			*f.number = body.number(f.most)
			body.Must(*f.number != 0, "a field is there and zero")
		case f.text != nil:
			*f.text = body.text(f.most)
			body.Must(*f.text != "", "a field is there and empty")
		default:
			for range body.number(f.most) {
				*f.list = append(*f.list, Subject(body.text(MaxSubject)))
			}
			body.Must(len(*f.list) > 0, "a field is there and empty")
		}
	}
	body.End()
	if err := body.err(); err != nil && in.Sound() {
		in.fail(err)
	}
	if !in.Sound() {
		return record{}
	}
	return r
}
