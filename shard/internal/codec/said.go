package codec

import (
	"time"

	"github.com/signalbox/signalbox/protocol/field"
)

// Fields encodes or decodes the fields a package below protocol lists.
func (c *Coder) Fields(fields func(field.Coder)) { fields((*said)(c)) }

// Append appends a value from a client or operator, after the form number. Parse reads the value again.
func Append(dst []byte, number uint64, v field.Value) []byte {
	c := Writer(dst)
	c.Form(number)
	v.Fields((*said)(c))
	return c.Data()
}

// Parse decodes what Append appended, which must be all of src. Error texts begin with the operation.
func Parse(src []byte, number uint64, operation string, v field.Value) error {
	c := Reader(src)
	c.Form(number)
	v.Fields((*said)(c))
	return c.Finish(operation)
}

// said adapts the Coder to field.Coder for values from clients and operators. A log has no names and no records: a
// record's fields follow one another.
type said Coder

// Text implements field.Coder, as do the methods below.
func (s *said) Text(_ string, v *string, most int) { (*Coder)(s).Text(v, most) }

func (s *said) Bytes(_ string, v *[]byte, most int) { (*Coder)(s).Bytes(v, most) }

func (s *said) Number(_ string, v *uint64) { (*Coder)(s).Number(v) }

// number writes or reads a number for a field with any type.
func (s *said) number(n uint64) uint64 {
	(*Coder)(s).Number(&n)
	return n
}

func (s *said) Count(_ string, v *int) {
	if n := s.number(uint64(*v)); s.reading {
		*v = int(n)
	}
}

func (s *said) Millis(_ string, v *time.Duration) {
	if n := s.number(field.MillisOf(*v)); s.reading {
		*v = field.Duration(n)
	}
}

func (s *said) Flag(_ string, v *bool) { (*Coder)(s).Flag(v) }

func (s *said) Small(_ string, v, end uint8) uint8 {
	Enum((*Coder)(s), &v, end)
	return v
}

func (s *said) Words(_ string, v *[]string, most, each int) {
	List((*Coder)(s), v, most, func(word *string) { (*Coder)(s).Text(word, each) })
}

func (s *said) Numbers(_ string, v *[]uint64, most int) {
	List((*Coder)(s), v, most, (*Coder)(s).Number)
}

func (s *said) Record(_ string, fields func(field.Coder)) { fields(s) }

func (s *said) Items(_ string, n, most int, size func(int), item func(field.Coder, int)) {
	c := (*Coder)(s)
	count := s.number(uint64(n))
	if s.reading {
		if count > uint64(most) || count > uint64(len(s.in.Data)) {
			c.Fail("a list of %d is too long", count)
			return
		}
		size(int(count))
	}
	for i := range int(count) {
		if item(s, i); !c.Sound() {
			return
		}
	}
}

func (s *said) Moment(string, *field.Timestamp) { panic("form: a moment of a view is not saved") }

func (s *said) Wall(string, *field.Timestamp) { panic("form: a moment of a view is not saved") }

func (s *said) Left(string, *time.Duration) bool { panic("form: a time of a view is not saved") }

func (s *said) Reading() bool { return s.reading }

func (s *said) Form() field.Form { return field.Log }
