package http

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client/rollout"
)

var update = flag.Bool("update", false, "write the OpenAPI document and the reference of the routes anew")

const (
	documentFile = "openapi.json"
	page         = "../../docs/http.md"
	tableBegin   = "<!-- The table of routes: written by a test. -->\n"
	tableEnd     = "<!-- The end of the table. -->\n"
)

// TestTheDocumentIsThatOfTheTable: what programs are generated from changes only on purpose, and is what is served.
func TestTheDocumentIsThatOfTheTable(t *testing.T) {
	if *update {
		if err := os.WriteFile(documentFile, append(document(), '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(documentFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(bytes.TrimSpace(want), document()) {
		t.Errorf("%s is not that of the table; go test ./gateway/http -update writes it anew", documentFile)
	}
	st := newStage(t, nil)
	if r := st.get("/v1/openapi.json"); r.code != http.StatusOK || r.text != string(document())+"\n" {
		t.Errorf("%d: another document is served", r.code)
	}
}

// TestTheTableIsWhole: rows have what handlers, document and page need, and no two are one route.
func TestTheTableIsWhole(t *testing.T) {
	var parsed struct {
		Paths      map[string]map[string]struct{ OperationID string }
		Components struct{ Schemas map[string]json.RawMessage }
	}
	if err := json.Unmarshal(document(), &parsed); err != nil {
		t.Fatal(err)
	}
	rights := []string{"see", "acquire", "write", "delete", "operate", "admin", "cluster", "backup", "none"}
	names := make(map[string]bool)
	for _, r := range table() {
		where := r.method + " " + r.path
		if r.does == "" || strings.HasSuffix(r.does, ".") || r.group == "" || !slices.Contains(rights, r.right) {
			t.Errorf("%s: %q %q %q", where, r.does, r.group, r.right)
		}
		followed := r.follow != nil || r.group == groupConsole
		if (r.answer == nil) != (r.streams != "") || r.serve == nil || !followed && r.answer != nil {
			t.Errorf("%s has no answer", where)
		}
		if names[r.name()] {
			t.Errorf("%s has the name of another route, %s", where, r.name())
		}
		names[r.name()] = true
		if got := parsed.Paths[r.path][strings.ToLower(r.method)].OperationID; got != r.name() {
			t.Errorf("%s: the document has %q", where, got)
		}
		for _, f := range fieldsOf(r.request) {
			if r.method == http.MethodGet && f.of.Kind().String() == "struct" {
				t.Errorf("%s: a query cannot have %s", where, f.name)
			}
		}
	}
	for _, part := range strings.Split(string(document()), `"#/components/schemas/`)[1:] {
		if name, _, _ := strings.Cut(part, `"`); parsed.Components.Schemas[name] == nil {
			t.Errorf("no schema %s", name)
		}
	}
}

// TestThePageHasTheTable of routes.
func TestThePageHasTheTable(t *testing.T) {
	var b strings.Builder
	group := ""
	for _, r := range table() {
		if r.group != group {
			group = r.group
			fmt.Fprintf(&b, "\n### %s\n\n| route | takes | right | what it does |\n| --- | --- | --- | --- |\n", group)
		}
		var takes []string
		for _, f := range fieldsOf(r.request) {
			name := "`" + f.name + "`"
			if !f.required {
				name = "[" + name + "]"
			}
			takes = append(takes, name)
		}
		fmt.Fprintf(&b, "| `%s %s` | %s | %s | %s |\n", r.method, r.path, strings.Join(takes, " "), r.right, r.does)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), tableBegin)
	_, after, ends := strings.Cut(rest, tableEnd)
	if !ok || !ends {
		t.Fatalf("%s has no place for the table", page)
	}
	want := before + tableBegin + b.String() + "\n" + tableEnd + after
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(text) != want {
		t.Errorf("%s has another table; go test ./gateway/http -update writes it anew", page)
	}
}

// inner and outer are what TestShapes writes and reads.
type inner struct {
	HostID uint64
	Wait   time.Duration
}

type outer struct {
	inner
	Name    string `need:"true"`
	Data    []byte
	Verb    rollout.Verb
	Parts   []inner
	More    *inner
	Is      bool
	Percent int
	At      time.Time
}

// TestShapes: values have one form in JSON, which is read as it is written.
func TestShapes(t *testing.T) {
	for want, v := range map[string]outer{
		`{"name":"n","is":false,"parts":[]}`: {Name: "n"},
		`{"host_id":"18446744073709551615","wait_ms":1500,"name":"n","data":"text","verb":"rollback",` +
			`"parts":[{"host_id":"1"}],"more":{"wait_ms":1},"is":true,"percent":7,"at":"2026-01-02T03:04:05Z"}`: {
			inner: inner{1<<64 - 1, 1500 * time.Millisecond}, Name: "n", Data: []byte("text"), Verb: rollout.Rollback,
			Parts: []inner{{HostID: 1}}, More: &inner{Wait: time.Millisecond}, Is: true, Percent: 7,
			At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		},
		`{"name":"n","data_base64":"/wA=","parts":[],"is":false}`: {Name: "n", Data: []byte{255, 0}},
	} {
		text, err := encode(v)
		if err != nil {
			t.Fatal(err)
		}
		var got, expected any
		if json.Unmarshal(text, &got) != nil || json.Unmarshal([]byte(want), &expected) != nil ||
			fmt.Sprint(got) != fmt.Sprint(expected) {
			t.Errorf("%s, want %s", text, want)
		}
		var back outer
		if err := decode(text, &back); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if again, err := encode(back); err != nil || !bytes.Equal(again, text) {
			t.Errorf("%s is read as %s: %v", text, again, err)
		}
	}
}

// TestWhatIsNoRequestIsNamed: the refusal names the member that is wrong.
func TestWhatIsNoRequestIsNamed(t *testing.T) {
	for text, has := range map[string]string{
		``:                                      "not a JSON object",
		`[]`:                                    "not a JSON object",
		`{}`:                                    "name is missing",
		`{"name":1}`:                            "name is not a text",
		`{"name":"n","nam":1}`:                  "nam is not known",
		`{"name":"n","wait_ms":"1s"}`:           "wait_ms is not a number of milliseconds",
		`{"name":"n","wait_ms":-1}`:             "wait_ms is not a number of milliseconds",
		`{"name":"n","host_id":-1}`:             "host_id is not a whole number",
		`{"name":"n","host_id":1.5}`:            "host_id is not a whole number",
		`{"name":"n","verb":"jump"}`:            "verb is not one of",
		`{"name":"n","data_base64":"%"}`:        "data_base64 is not in base 64",
		`{"name":"n","data":7}`:                 "data is not a text",
		`{"name":"n","parts":{}}`:               "parts is not a list",
		`{"name":"n","parts":[{"host_id":{}}]}`: "parts[0].host_id is not a whole number",
		`{"name":"n","is":"yes"}`:               "is is not a boolean",
	} {
		var into outer
		if err := decode([]byte(text), &into); err == nil || !strings.Contains(err.Error(), has) {
			t.Errorf("%s: %v, want %q", text, err, has)
		}
	}
}
