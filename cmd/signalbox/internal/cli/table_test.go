package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode"

	"github.com/signalbox/signalbox/protocol"
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
		rows.Add(row{"étage/3", 7}, "étage/3", 7, true, []byte{})
		rows.Add(row{"a\tb", 12345}, "a\tb", 12345, false, []byte("x y"))
		if format == formatJSON && strings.Count(b.String(), "\n") != 2 {
			t.Error("JSON is not written at once")
		}
		if err := rows.End(); err != nil || b.String() != want {
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
		err := f.Show(struct {
			Count Amount `json:"count"`
		}{all}, Fields("name", "a", "count", all), Section("Owners", []string{"ID#"}, [][]any{{1}}),
			Section("Nobody", []string{"ID#"}, nil))
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
		"\u202etxt":    `"\u202etxt"`, // would print right to left
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

func TestWhatAHostSaysGivesNoOrdersToATerminal(t *testing.T) {
	hostile := &protocol.Error{Status: protocol.StatusInternal,
		Message: "a\x1b[2Jb\u009b2J\u202ec\xff\nsignalbox: all is well"}
	err := fmt.Errorf("list: %w", hostile)
	want := `a\x1b[2Jb\u009b2J\u202ec\xff\nsignalbox: all is well`
	var b bytes.Buffer
	f := testFrame(&b, formatTable)
	f.Say("cannot: %v", err)
	for _, text := range []string{Explain(err), Explain(fmt.Errorf("node list: %w", err))} {
		if !strings.Contains(text, want) {
			t.Errorf("it is shown as %q", text)
		}
	}
	if strings.ContainsFunc(b.String(), func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) {
		t.Errorf("it is said as %q", b.String())
	}
	if text := Explain(errors.New("two:\n  - lines\tét\ufffd")); text != "two:\n  - lines\tét\ufffd" {
		t.Errorf("it is shown as %q", text)
	}
}

func TestJSONHasNothingThatATerminalObeys(t *testing.T) {
	text := "é\u009b2J\u202e\x7f\x1b\n\U000e0001"
	var b bytes.Buffer
	if err := testFrame(&b, formatJSON).Object(map[string]string{"a": text}); err != nil {
		t.Fatal(err)
	}
	if want := `{"a":"é\u009b2J\u202e\u007f\u001b\n\udb40\udc01"}` + "\n"; b.String() != want {
		t.Errorf("got  %s\nwant %s", &b, want)
	}
	var back map[string]string
	if err := json.Unmarshal(b.Bytes(), &back); err != nil || back["a"] != text {
		t.Errorf("it is read back as %q, %v", back["a"], err)
	}
}
