package codectest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/shard/internal/codec"
)

// sample is a form that makes its named mistake.
type sample struct {
	A, B     uint64
	On, Off  bool
	Name     string
	List     []part
	Unsaved  uint64
	mistaken string
}

type part struct{ Key, Value string }

func (s *sample) code(c *codec.Coder) {
	a, b, on, off := &s.A, &s.B, &s.On, &s.Off
	switch s.mistaken {
	case "numbers swapped":
		a, b = b, a
	case "flags swapped":
		on, off = off, on
	case "a field left out":
		b = a
	case "a field too much":
		c.Number(&s.Unsaved)
	}
	c.Numbers(a, b)
	c.Flag(on)
	c.Flag(off)
	c.Text(&s.Name, 10)
	codec.List(c, &s.List, 5, func(p *part) {
		key, value := &p.Key, &p.Value
		if s.mistaken == "texts of a list swapped" {
			key, value = value, key
		}
		c.Text(key, 10)
		c.Text(value, 10)
	})
}

// recorder is a test that records failures.
type recorder struct {
	testing.TB
	failures []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

// checked returns Check's findings for a sample with a mistake.
func checked(t *testing.T, pins, mistaken string) []string {
	s := sample{mistaken: mistaken}
	r := &recorder{TB: t}
	Check(r, pins, Form{Name: "sample", Of: &s, Unsaved: []string{"Unsaved", "mistaken"}, Write: func() []byte {
		c := codec.Writer(nil)
		s.code(c)
		return c.Data()
	}})
	return r.failures
}

func TestEveryMistakeOfAFormIsNoticed(t *testing.T) {
	pins := filepath.Join(t.TempDir(), "pins")
	if err := os.WriteFile(pins, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if list := checked(t, pins, ""); len(list) != 3 || !strings.Contains(list[0], "is not pinned") {
		t.Errorf("a form and two flags without a pin: %q", list)
	}
	*writePins = true
	checked(t, pins, "")
	*writePins = false
	if list := checked(t, pins, ""); len(list) > 0 {
		t.Fatalf("what is as it was pinned: %q", list)
	}
	for mistaken, want := range map[string]string{
		"numbers swapped":         "has other bytes",
		"flags swapped":           "has other bytes",
		"texts of a list swapped": "has other bytes",
		"a field left out":        "B is not in the bytes",
		"a field too much":        "Unsaved is in the bytes",
	} {
		if list := checked(t, pins, mistaken); len(list) == 0 || !strings.Contains(strings.Join(list, "\n"), want) {
			t.Errorf("%s: %q", mistaken, list)
		}
	}
	*writePins = true // leaves existing pins unchanged
	checked(t, pins, "numbers swapped")
	*writePins = false
	if list := checked(t, pins, ""); len(list) > 0 {
		t.Errorf("a pin has changed: %q", list)
	}
}

// TestFieldsThatCanChangePlacesAreNoticed: if only two fields' sum is encoded, no pin distinguishes the fields.
func TestFieldsThatCanChangePlacesAreNoticed(t *testing.T) {
	var s struct{ A, B uint64 }
	all := fill(t, Form{Name: "sum", Of: &s})
	list := all.faults(func() []byte { return fmt.Append(nil, s.A+s.B) })
	if len(list) != 1 || !strings.Contains(list[0], "can change places") {
		t.Errorf("%q", list)
	}
}
