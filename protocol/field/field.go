// Package field lists a type's fields once, for all its encodings: a message on the wire, a command in a log, a view.
// Types in packages below protocol implement Value; the wire codec and the log codec implement Coder. Start with Coder.
//
// Hot-path messages have separate field lists in package protocol: a call through an interface is not inlined, and each
// field would move to the heap.
package field

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Value is a type with one field list. Fields writes the receiver through a writing Coder and fills the receiver from a
// reading Coder, with the same calls in the same order.
type Value interface {
	Fields(Coder)
}

// MaxName is the maximum length of an object name, in bytes, MaxText of a text that people read: an author, a reason, a
// label.
const (
	MaxName = 1024
	MaxText = 256
)

// Form is where a value is stored. A field list checks the form only if wire and log differ in order or in a field, and
// documents why.
type Form uint8

// The forms. A value in a log determines what replicas do, so a log accepts exactly one encoding of each value. The
// wire accepts values from later versions: unknown trailing fields are skipped, unknown enum numbers are kept.
const (
	Wire Form = iota
	Log
)

// Coder writes or reads fields, one per call. A field's name is the name in docs/protocol.md; wire errors show the
// name. A writing Coder leaves the value unchanged, because readers may share the value.
type Coder interface {
	// Text is a text with a maximum length in bytes, Bytes the same for bytes. Bytes that are read are copied.
	Text(name string, v *string, most int)
	Bytes(name string, v *[]byte, most int)
	// Number, Count and Millis are whole numbers from 0 on. Count reads a number above the range of int as a negative
	// int with the same bits, and Millis a duration above the range of time.Duration as the longest duration: limits
	// refuse both. Millis rounds a fraction up to a whole millisecond.
	Number(name string, v *uint64)
	Count(name string, v *int)
	Millis(name string, v *time.Duration)
	Flag(name string, v *bool)
	// Small is a number below end; Enum calls Small. A log refuses other numbers, the wire keeps them.
	Small(name string, v, end uint8) uint8
	// Words is a list of texts with a maximum number and a maximum length in bytes, Numbers the same for numbers.
	Words(name string, v *[]string, most, each int)
	Numbers(name string, v *[]uint64, most int)
	// Record is a named group of fields. The log writes the fields without the group around them.
	Record(name string, fields func(Coder))
	// Items is a list with n values; size is called before items are read. The function List calls Items.
	Items(name string, n, most int, size func(n int), item func(c Coder, i int))

	// Moment is an event's shard time, Wall its wall clock time, and Left the shard time at which a remaining time will
	// be over. Views have them, logs do not. A shard creates a view as seen at the start of shard time, so readers at
	// all times get the same bytes: a timestamp has no Ago, and a remaining time is the shard time of its end. A
	// reading wire Coder knows the reader's shard time.
	Moment(name string, v *Timestamp)
	Wall(name string, v *Timestamp)
	// Left reports whether an end is known, which may have passed.
	Left(name string, v *time.Duration) bool

	Reading() bool
	Form() Form
}

// Enum is a named number. The type's numbers known to this build are below end.
func Enum[E ~uint8](c Coder, name string, v *E, end E) {
	n := c.Small(name, uint8(*v), uint8(end))
	if c.Reading() {
		*v = E(n)
	}
}

// Made returns a list with zero values, nil for none.
func Made[T any](n int) []T { return slices.Grow([]T(nil), n)[:n] }

// List is a list with a maximum number of values. A log refuses a longer list. The wire reads a longer list up to a
// bound and leaves the refusal to the value's Check, which names the limit in its text.
func List[T any](c Coder, name string, list *[]T, most int, item func(*T, Coder)) {
	c.Items(name, len(*list), most, func(n int) { *list = Made[T](n) }, func(c Coder, i int) { item(&(*list)[i], c) })
}

// Word returns an enum number's word. A number without a word is shown as the enum kind and the number.
func Word[E ~uint8](e E, kind string, words []string) string {
	if int(e) < len(words) {
		return words[e]
	}
	return kind + " " + strconv.Itoa(int(e))
}

// Name returns an enum value's words as docs/protocol.md and metrics write them: in capitals.
func Name(e interface{ String() string }) string {
	return strings.ToUpper(strings.ReplaceAll(e.String(), " ", "_"))
}

// Duration converts milliseconds to a duration. Numbers above the range become the longest duration.
func Duration(millis uint64) time.Duration {
	const most = uint64(math.MaxInt64) / uint64(time.Millisecond)
	return time.Duration(min(millis, most)) * time.Millisecond
}

// MillisOf converts a duration to milliseconds, rounded up. A negative duration is 0.
func MillisOf(d time.Duration) uint64 {
	d = max(d, 0)
	millis := uint64(d / time.Millisecond)
	if d%time.Millisecond != 0 {
		millis++
	}
	return millis
}

// PutMode is what a put does depending on whether an object with the name exists.
type PutMode uint8

// The modes: create an object, alter the existing object, or whichever is possible.
const (
	PutCreate PutMode = iota
	PutAlter
	PutEither
	PutModes // the number of modes
)

var putModes = []string{"create", "alter", "either"}

// String returns the mode as a word.
func (m PutMode) String() string { return Word(m, "put mode", putModes) }

// ChangeInfo is who changes an object, and why. The object records both for people.
type ChangeInfo struct{ Author, Reason string }

// Fields implements Value.
func (i *ChangeInfo) Fields(c Coder) {
	c.Text("author", &i.Author, MaxText)
	c.Text("reason", &i.Reason, MaxText)
}

// Put creates an object, or changes its spec.
type Put[S any, P interface {
	*S
	Value
}] struct {
	Mode PutMode
	// ExpectedRevision, if not 0, must be the revision of the spec in force; otherwise the put is refused.
	ExpectedRevision uint64
	Spec             S
	By               ChangeInfo
}

// Fields implements Value.
func (p *Put[S, P]) Fields(c Coder) {
	Enum(c, "mode", &p.Mode, PutModes)
	c.Number("expected_revision", &p.ExpectedRevision)
	c.Record("spec", P(&p.Spec).Fields)
	p.By.Fields(c)
}
