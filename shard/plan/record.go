package plan

import (
	"encoding/binary"
	"fmt"
	"math"
)

// record is the form of everything that the package writes: a length, a set of bits for the present fields, and the
// fields in the order of their bits. A zero field is absent. Later builds add fields at the end.
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

// field is one field of a record: a number, a text or a list of texts, with a limit for its value, its length or its
// entries.
type field struct {
	number *uint64
	text   *string
	list   *[]Subject
	most   uint64
}

// The fields of each thing, as bits.
const (
	planFields     = 1<<0 | 1<<13
	proposalFields = 1<<1 | 1<<2 | 1<<3 | 1<<4 | 1<<5
	actFields      = 1<<0 | 1<<6 | 1<<7 | 1<<10
	backoffFields  = 1<<2 | 1<<9 | 1<<10 | 1<<11 | 1<<12
	stepFields     = proposalFields | actFields | backoffFields | 1<<8
)

// fields are the fields of a record in the order of their bits.
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
			body = appendText(body, *f.text)
		case f.list != nil && len(*f.list) > 0:
			body = binary.AppendUvarint(body, uint64(len(*f.list)))
			for _, s := range *f.list {
				body = appendText(body, string(s))
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

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// input reads from unchecked bytes. The first error stays in err, and all later reads return zero. The allocated
// memory is bounded by the length of the bytes. Only the form of Append is accepted.
type input struct {
	src []byte
	err error
}

func (in *input) must(ok bool, what string) {
	if !ok && in.err == nil {
		in.err, in.src = fmt.Errorf("%w: %s", ErrForm, what), nil
	}
}

func (in *input) number(most uint64) uint64 {
	n, size := binary.Uvarint(in.src)
	in.must(size > 0, "a number is missing or does not fit into 64 bits")
	in.must(size < 2 || in.src[size-1] != 0, "a number is longer than it need be")
	in.must(n <= most, "a number is too large")
	if in.err != nil {
		return 0
	}
	in.src = in.src[size:]
	return n
}

func (in *input) text(most uint64) string {
	n := in.number(most)
	in.must(n <= uint64(len(in.src)), "a text is longer than the bytes")
	if in.err != nil {
		return ""
	}
	s := string(in.src[:n])
	in.src = in.src[n:]
	return s
}

// record reads a record of the given fields. A wrong record is all zero.
func (in *input) record(may uint64) (r record) {
	body := input{src: []byte(in.text(math.MaxInt)), err: in.err}
	bits := body.number(math.MaxUint64)
	if bits&^may != 0 && body.err == nil {
		body.err = fmt.Errorf("%w: bits %#x", ErrNewer, bits&^may)
	}
	for i, f := range r.fields() {
		if body.err != nil || bits&(1<<i) == 0 {
			continue
		}
		switch {
		case f.number != nil:
			*f.number = body.number(f.most)
			body.must(*f.number != 0, "a field is there and zero")
		case f.text != nil:
			*f.text = body.text(f.most)
			body.must(*f.text != "", "a field is there and empty")
		default:
			for range body.number(f.most) {
				*f.list = append(*f.list, Subject(body.text(MaxSubject)))
			}
			body.must(len(*f.list) > 0, "a field is there and empty")
		}
	}
	body.must(len(body.src) == 0, "bytes behind the last field of a record")
	if in.err = body.err; in.err != nil {
		in.src = nil
		return record{}
	}
	return r
}
