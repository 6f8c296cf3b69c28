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

	"github.com/signalbox/signalbox/internal/apijson"
)

var update = flag.Bool("update", false, "write the OpenAPI document and the reference of the routes anew")

const (
	documentFile = "openapi.json"
	httpPage     = "../../docs/http.md"
	tableBegin   = "<!-- The table of routes: written by a test. -->\n"
	tableEnd     = "<!-- The end of the table. -->\n"
)

// TestTheDocumentIsThatOfTheTable: the source of generated programs changes only on purpose, and equals the served
// document.
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

// TestTheTableIsWhole: rows have everything for handlers, document and page, and no route is listed twice.
func TestTheTableIsWhole(t *testing.T) {
	var parsed struct {
		Paths      map[string]map[string]struct{ OperationID string }
		Components struct{ Schemas map[string]json.RawMessage }
	}
	if err := json.Unmarshal(document(), &parsed); err != nil {
		t.Fatal(err)
	}
	rights := []string{"read", "acquire", "write", "delete", "operate", "admin", "cluster", "backup", "none"}
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
		for _, f := range apijson.Fields(r.request) {
			if r.method == http.MethodGet && f.Of.Kind().String() == "struct" {
				t.Errorf("%s: a query cannot have %s", where, f.Name)
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
			fmt.Fprintf(&b, "\n### %s\n\n| route | takes | permission | what it does |\n"+
				"| --- | --- | --- | --- |\n", group)
		}
		var takes []string
		for _, f := range apijson.Fields(r.request) {
			name := "`" + f.Name + "`"
			if !f.Required {
				name = "[" + name + "]"
			}
			takes = append(takes, name)
		}
		fmt.Fprintf(&b, "| `%s %s` | %s | %s | %s |\n", r.method, r.path, strings.Join(takes, " "), r.right, r.does)
	}
	text, err := os.ReadFile(httpPage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), tableBegin)
	_, after, ends := strings.Cut(rest, tableEnd)
	if !ok || !ends {
		t.Fatalf("%s has no place for the table", httpPage)
	}
	want := before + tableBegin + b.String() + "\n" + tableEnd + after
	if *update {
		if err := os.WriteFile(httpPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(text) != want {
		t.Errorf("%s has another table; go test ./gateway/http -update writes it anew", httpPage)
	}
}

// TestTheDocumentHasEventHeaderAndOutcomes: generated clients can resume an event stream, and know all outcomes.
func TestTheDocumentHasEventHeaderAndOutcomes(t *testing.T) {
	d := described()
	header := slices.ContainsFunc(d.Paths["/v1/events"]["get"].Parameters, func(p parameter) bool {
		return p.Name == "Last-Event-ID" && p.In == "header"
	})
	if !header {
		t.Error("an event stream has no header Last-Event-ID")
	}
	outcomes := d.Components.Schemas["acquisition"].Properties["outcome"]
	if got := fmt.Sprint(outcomes.AllOf, outcomes.Enum); got != "[] [not_acquired acquired waiting]" {
		t.Errorf("an acquire has the outcomes %s", got)
	}
}
