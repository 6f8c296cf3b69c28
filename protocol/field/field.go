// Package field lists the fields of a type once, for every form that the type has: a message on the wire, a command in
// a log, a view. Types of the rooms below protocol implement Value; the codec of the wire and the codec of logs
// implement Coder. Start with Coder.
//
// Messages of the hot path have listings of their own in package protocol: a call through an interface is not inlined,
// and each field would move to the heap.
package field

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Value is a type with one listing of its fields. Fields writes the receiver through a writing Coder and fills the
// receiver from a reading Coder, with the same calls in the same order.
type Value interface {
	Fields(Coder)
}

// MaxName is the most bytes of the name of an object, MaxText of a text that people read: an author, a reason, a label.
const (
	MaxName = 1024
	MaxText = 256
)

// Form is where a value stands. A listing looks at the form only if wire and log differ in order or in a field, and
// says why.
type Form uint8

// The forms. A value in a log decides what replicas do, so a log accepts exactly one form of each value. The wire
// accepts values of later versions: unknown trailing fields are skipped, unknown numbers of an enum are kept.
const (
	Wire Form = iota
	Log
)

// Coder writes or reads fields, one call for each. The name of a field is the name in docs/protocol.md; errors of the
// wire show the name. A writing Coder leaves the value unchanged, because readers may share the value.
type Coder interface {
	// Text is a text of at most so many bytes, Bytes the same for bytes. Bytes that are read are a copy.
	Text(name string, v *string, most int)
	Bytes(name string, v *[]byte, most int)
	// Number, Count and Millis are whole numbers from 0 on. Count reads a number above the range of int as a negative
	// int of the same bits, and Millis a duration above the range of time.Duration as the longest duration: limits
	// refuse both. Millis writes a fraction of a millisecond as a whole millisecond.
	Number(name string, v *uint64)
	Count(name string, v *int)
	Millis(name string, v *time.Duration)
	Flag(name string, v *bool)
	// Small is a number below end; Enum calls Small. A log refuses other numbers, the wire keeps them.
	Small(name string, v, end uint8) uint8
	// Words is a list of at most so many texts of at most so many bytes each, Numbers the same for numbers.
	Words(name string, v *[]string, most, each int)
	Numbers(name string, v *[]uint64, most int)
	// Record is a group of fields with a name. The log writes the fields without the group around them.
	Record(name string, fields func(Coder))
	// Items is a list of n values; size is called before items are read. The function List calls Items.
	Items(name string, n, most int, size func(n int), item func(c Coder, i int))

	// Moment is the shard time of a moment, Wall the wall clock of the same moment, and Left the shard time at which a
	// time that is left will be over. Views have them, logs do not. A shard makes a view as seen at the start of the
	// shard's time, because readers at all times get the same bytes: a moment has no Ago, and the time that is left is
	// the shard time of the end. A reading Coder of the wire knows the shard time of the reader.
	Moment(name string, v *Timestamp)
	Wall(name string, v *Timestamp)
	// Left reports whether an end is known, which may have come.
	Left(name string, v *time.Duration) bool

	Reading() bool
	Form() Form
}

// Enum is a named number. The numbers of the type that this build knows are below end.
func Enum[E ~uint8](c Coder, name string, v *E, end E) {
	n := c.Small(name, uint8(*v), uint8(end))
	if c.Reading() {
		*v = E(n)
	}
}

// Made returns a list of zero values, nil for none.
func Made[T any](n int) []T { return slices.Grow([]T(nil), n)[:n] }

// List is a list of at most so many values. A log refuses a longer list. The wire reads a longer list up to a bound and
// leaves the refusal to the Check of the value, whose text names the limit.
func List[T any](c Coder, name string, list *[]T, most int, item func(*T, Coder)) {
	c.Items(name, len(*list), most, func(n int) { *list = Made[T](n) }, func(c Coder, i int) { item(&(*list)[i], c) })
}

// Word returns the word of a number of an enum. A number without a word shows the kind of the enum and the number.
func Word[E ~uint8](e E, kind string, words []string) string {
	if int(e) < len(words) {
		return words[e]
	}
	return kind + " " + strconv.Itoa(int(e))
}

// Name returns the words of a number of an enum as docs/protocol.md and metrics write the words: in capitals.
func Name(e interface{ String() string }) string {
	return strings.ToUpper(strings.ReplaceAll(e.String(), " ", "_"))
}

// Duration returns a number of milliseconds as a duration. Numbers above the range become the longest duration.
func Duration(millis uint64) time.Duration {
	const most = uint64(math.MaxInt64) / uint64(time.Millisecond)
	return time.Duration(min(millis, most)) * time.Millisecond
}

// MillisOf returns a duration as a number of milliseconds, rounded up. A negative duration is 0.
func MillisOf(d time.Duration) uint64 {
	d = max(d, 0)
	millis := uint64(d / time.Millisecond)
	if d%time.Millisecond != 0 {
		millis++
	}
	return millis
}

// PutMode says what a put of a spec does if an object of the name exists, and if none does.
type PutMode uint8

// The modes: make an object, alter the existing object, or whichever of the two is possible.
const (
	PutCreate PutMode = iota
	PutAlter
	PutEither
	PutModes // the number of modes
)

var putModes = []string{"create", "alter", "either"}

// String returns the mode in a word.
func (m PutMode) String() string { return Word(m, "put mode", putModes) }

// ChangeInfo is who does something with an object, and why. The object keeps both for people.
type ChangeInfo struct{ Author, Reason string }

// Fields implements Value.
func (i *ChangeInfo) Fields(c Coder) {
	c.Text("author", &i.Author, MaxText)
	c.Text("reason", &i.Reason, MaxText)
}

// Put makes an object, or gives an object another spec.
type Put[S any, P interface {
	*S
	Value
}] struct {
	Mode PutMode
	// ExpectedRevision, if it is not 0, is compared: the put is refused if the spec in force has another revision.
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
