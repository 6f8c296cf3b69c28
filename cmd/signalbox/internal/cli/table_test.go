package cli

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
)

func testFrame(out *bytes.Buffer, format string) *Frame {
	f := NewFrame(Streams{Out: out, Err: out})
	f.format = format
	return f
}

func TestATableIsAsWideAsItMustBe(t *testing.T) {
	type row struct {
		Name  string `json:"name"`
		Count int    `json:"count"`
	}
	for format, want := range map[string]string{
		formatTable: "NAME      COUNT   DATA\n" +
			"étage/3       7   -\n" +
			"\"a\\tb\"    12345   x y\n",
		formatWide: "NAME      COUNT   MORE   DATA\n" +
			"étage/3       7   yes    -\n" +
			"\"a\\tb\"    12345   no     x y\n",
		formatJSON: "{\"name\":\"étage/3\",\"count\":7}\n" +
			"{\"name\":\"a\\tb\",\"count\":12345}\n",
	} {
		var b bytes.Buffer
		f := testFrame(&b, format)
		rows := f.Rows("NAME", "COUNT#", "+MORE", "DATA")
		err := errors.Join(
			rows.Add(row{"étage/3", 7}, "étage/3", 7, true, []byte{}),
			rows.Add(row{"a\tb", 12345}, "a\tb", 12345, false, []byte("x y")))
		if format == formatJSON && strings.Count(b.String(), "\n") != 2 {
			t.Error("JSON is not written at once")
		}
		if err = errors.Join(err, rows.End()); err != nil || b.String() != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", format, err, &b, want)
		}
	}
}

func TestOneThingIsFieldsOrAnObject(t *testing.T) {
	for format, want := range map[string]string{
		formatTable: "name    a\ncount   all\n\nOwners\nID\n 1\n",
		formatJSON:  "{\"count\":\"all\"}\n",
	} {
		var b bytes.Buffer
		f := testFrame(&b, format)
		all := Amount(1<<64 - 1)
		err := errors.Join(
			f.Fields(struct {
				Count Amount `json:"count"`
			}{all}, Field{"name", "a"}, Field{"count", all}),
			f.Section("Owners", []string{"ID#"}, [][]any{{1}}),
			f.Section("Nobody", []string{"ID#"}, nil))
		if err != nil || b.String() != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", format, err, &b, want)
		}
	}
}

func TestWhatOthersWroteGivesNoOrdersToATerminal(t *testing.T) {
	for text, want := range map[string]string{
		"plain/name 1": "plain/name 1",
		"étage/3":      "étage/3",
		"a\x1b[2J":     `"a\x1b[2J"`,
		"two\nlines":   `"two\nlines"`,
		"\u202etxt":    `"\u202etxt"`, // which would write backwards
		"\u009b2J":     `"\u009b2J"`,
		"\xff":         `"\xff"`,
	} {
		if got := Safe(text); got != want {
			t.Errorf("%q is shown as %s, want %s", text, got, want)
		}
	}
	long := strings.Repeat("é", 50)
	if got, want := Cell([]byte(long)), strings.Repeat("é", 30)+"... (100 bytes)"; got != want {
		t.Errorf("long data is shown as %s, want %s", got, want)
	}
}

func TestAReaderWhoIsGoneIsNoFailure(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Close()
	defer w.Close()
	f := NewFrame(Streams{Out: w})
	if err := f.Line(nil, "x"); !errors.Is(err, ErrReaderGone) {
		t.Errorf("a pipe that nobody reads: %v", err)
	}
}
