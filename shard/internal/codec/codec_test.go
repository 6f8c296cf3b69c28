package codec

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"sync"
	"testing"
)

// sample has a field of every kind.
type sample struct {
	Number, Other uint64
	Flag          bool
	Text          string
	Bytes         []byte
	Enum          uint8
	List          []uint64
}

func (s *sample) code(c *Coder) {
	c.Form(3)
	c.Numbers(&s.Number, &s.Other)
	c.Flag(&s.Flag)
	c.Text(&s.Text, 5)
	c.Bytes(&s.Bytes, 5)
	Enum(c, &s.Enum, 4)
	List(c, &s.List, 3, func(v *uint64) { c.Number(v) })
}

func (s *sample) save() []byte {
	c := Writer(nil)
	s.code(c)
	return c.Data()
}

func load(src []byte) (s sample, err error) {
	c := Reader(src)
	s.code(c)
	return s, c.Finish("load")
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	for _, s := range []sample{
		{},
		{Number: 1 << 63, Other: 300, Flag: true, Text: "hello", Bytes: []byte{0}, Enum: 3, List: []uint64{1, 2, 3}},
	} {
		if got, err := load(s.save()); err != nil || !reflect.DeepEqual(got, s) {
			t.Errorf("%+v became %+v: %v", s, got, err)
		}
	}
}

func TestEveryValueHasOneForm(t *testing.T) {
	whole := (&sample{Text: "a", Bytes: []byte("b"), List: []uint64{1}}).save()
	for n := range whole {
		if _, err := load(whole[:n]); !errors.Is(err, Err) {
			t.Errorf("the first %d of %d bytes: %v", n, len(whole), err)
		}
	}
	for what, src := range map[string][]byte{
		"another form":                    {2, 0, 0, 0, 0, 0, 0, 0},
		"a number that is too long":       {3, 0x80, 0, 0, 0, 0, 0, 0, 0},
		"a flag of two":                   {3, 0, 0, 2, 0, 0, 0, 0},
		"a text that is too long":         append([]byte{3, 0, 0, 0, 6}, "123456789"...),
		"a text longer than the bytes":    {3, 0, 0, 0, 5, 'a', 0, 0, 0},
		"an enum at its end":              {3, 0, 0, 0, 0, 0, 4, 0},
		"a list that is too long":         {3, 0, 0, 0, 0, 0, 0, 4, 1, 1, 1, 1},
		"a list longer than the bytes":    {3, 0, 0, 0, 0, 0, 0, 3, 1},
		"bytes behind the last field":     {3, 0, 0, 0, 0, 0, 0, 0, 0},
		"a number of more than 64 bits":   append([]byte{3}, bytes.Repeat([]byte{0xff}, 12)...),
		"nothing at all, not even a form": {},
	} {
		if _, err := load(src); !errors.Is(err, Err) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for src, want := range map[string]error{"\x04": ErrNewer, "\x03": nil, "": Err} {
		if err := Load([]byte(src), 3, "load", func(c *Coder) { c.Form(3) }, nil); !errors.Is(err, want) {
			t.Errorf("%q: %v", src, err)
		}
	}
}

// TestTheFirstReasonIsKept: consequential errors do not hide the first error.
func TestTheFirstReasonIsKept(t *testing.T) {
	c := Reader([]byte{1})
	c.Fail("first")
	c.Must(false, "second")
	if err := c.Finish("load"); c.Sound() || !strings.Contains(err.Error(), "load: first") {
		t.Error(err)
	}
}

func TestTextsForPeople(t *testing.T) {
	for s, want := range map[string]string{
		"short": "short", "seven77": "seven", "ab\u00e9\u00e9": "ab\u00e9", "\u4e16\u754c": "\u4e16",
	} {
		if got := Cut(s, 5); got != want {
			t.Errorf("%q is cut to %q", s, got)
		}
	}
	if FitText(2, "ab", "abc") || FitText(2, "\xff") || !FitText(2, "", "\u00e9") {
		t.Error("texts that are too long, or none, fit")
	}
}

func TestTimesForPeople(t *testing.T) {
	for millis, want := range map[uint64]string{
		0: "0s", 49: "0s", 499: "500ms", 4_898: "4.9s", 9_999: "10s", 59_999: "59s", 499_999: "8m19s",
		3_600_000: "1h0m", 11_130_000: "3h5m", 1<<64 - 1: "2562047h47m",
	} {
		if got := Time(millis); got != want {
			t.Errorf("%d ms are %q", millis, got)
		}
	}
}

// TestWritingOnlyReads: a snapshot is written while others read its state. The race detector reports a write.
func TestWritingOnlyReads(t *testing.T) {
	s := sample{Number: 1, Flag: true, Text: "text", Bytes: []byte{1}, Enum: 2, List: []uint64{1, 2}}
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() { s.save() })
	}
	both.Wait()
}
