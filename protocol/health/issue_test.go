package health

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of kinds into docs/guides/monitoring.md")

// TestEachKindHasARow: exactly one, with all columns for readers.
func TestEachKindHasARow(t *testing.T) {
	seen := make(map[Kind]bool)
	worst := Critical
	for _, row := range Kinds {
		if seen[row.Kind] {
			t.Errorf("%s has two rows", row.Kind)
		}
		seen[row.Kind] = true
		if row.Severity > worst || row.Severity < Info || row.Means == "" || row.Subject == "" || row.Do == "" {
			t.Errorf("%+v lacks something, or is worse than the row before", row)
		}
		worst = row.Severity
	}
	if k := Kind("of-later"); k.Row().Severity != Warning || k.Row().Kind != k {
		t.Errorf("an unknown kind: %+v", k.Row())
	}
}

// TestWhatAnIssueIsAboutStandsInItsTexts.
func TestWhatAnIssueIsAboutStandsInItsTexts(t *testing.T) {
	c := New(RolloutBlocked, About{Node: "/prod", Name: "web"}, "why")
	if c.Subject != "rollout web in /prod" || !strings.Contains(c.Do, "signalbox rollout why /prod web ") ||
		c.Severity != Warning {
		t.Errorf("%+v", c)
	}
	if c := New(NoQuorum, About{Shards: []string{"0", "3"}}, ""); c.Subject != "shards meta, 3" ||
		!strings.Contains(c.Do, "signalbox cluster recover") {
		t.Errorf("%+v", c)
	}
	for id, want := range map[string]string{"0": "shard meta", "5": "shard 5"} {
		if c := New(NoQuorum, About{Shards: []string{id}}, ""); c.Subject != want {
			t.Errorf("a single shard is %q", c.Subject)
		}
	}
	for _, row := range Kinds {
		c := New(row.Kind, About{Node: "/n", Name: "x", Host: "h", Shards: []string{"1"}}, "")
		if strings.ContainsAny(c.Subject+c.Do, "{}") {
			t.Errorf("%s: %s; %s", row.Kind, c.Subject, c.Do)
		}
	}
}

// The table in docs/guides/monitoring.md is between these lines.
const begins, ends = "<!-- kinds of health issues -->\n", "<!-- end of the kinds -->\n"

// TestThePageHasTheTable: docs/guides/monitoring.md lists the kinds as the code does; -update writes the table.
func TestThePageHasTheTable(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "guides", "monitoring.md")
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(page), begins)
	have, after, closed := strings.Cut(rest, ends)
	if !ok || !closed {
		t.Fatalf("%s has no place for the table", path)
	}
	var table strings.Builder
	table.WriteString("| kind | severity | meaning |\n| --- | --- | --- |\n")
	sections := runbookSections(t)
	for _, row := range Kinds {
		fmt.Fprintf(&table, "| [`%s`](runbook.md#%s) | %v | %s |\n", row.Kind, sections[row.Kind], row.Severity,
			strings.ReplaceAll(row.Means, "|", "\\|"))
	}
	if have == table.String() {
		return
	}
	if !*update {
		t.Fatalf("%s lists other kinds than the code: run the test with -update", path)
	}
	if err := os.WriteFile(path, []byte(before+begins+table.String()+ends+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// runbookSections returns the anchor of each kind's section in docs/guides/runbook.md.
func runbookSections(t *testing.T) map[Kind]string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "guides", "runbook.md"))
	if err != nil {
		t.Fatal(err)
	}
	anchors := make(map[Kind]string)
	for _, section := range strings.Split(string(page), "\n### ")[1:] {
		title, _, _ := strings.Cut(section, "\n")
		for _, kind := range strings.Split(title, ", ") {
			anchors[Kind(kind)] = strings.ReplaceAll(strings.ToLower(title), ", ", "-")
		}
	}
	return anchors
}
