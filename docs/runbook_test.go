package docs_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol/health"
)

var (
	alertName  = regexp.MustCompile(`(?m)^ +- alert: (\w+)$`)
	runbookSec = regexp.MustCompile(`(?m)^### (.+)$`)
)

// TestTheRunbookHasASectionPerAlertAndHealthIssue: each alert and each health issue kind has one section with the parts
// Means, Look and Mend, and a command.
func TestTheRunbookHasASectionPerAlertAndHealthIssue(t *testing.T) {
	want := make(map[string]int)
	for _, m := range alertName.FindAllStringSubmatch(readPage(t, "deploy/prometheus/alerts.yaml").text, -1) {
		want[m[1]] = 0
	}
	if len(want) < 40 {
		t.Fatalf("only %d alerts were found", len(want))
	}
	for _, row := range health.Kinds {
		want[string(row.Kind)] = 0
	}
	p := readPage(t, "docs/guides/runbook.md")
	headings := runbookSec.FindAllStringSubmatchIndex(p.text, -1)
	for i, at := range headings {
		title, end := p.text[at[2]:at[3]], len(p.text)
		if i+1 < len(headings) {
			end = headings[i+1][0]
		}
		for _, name := range strings.Split(title, ", ") {
			if n, known := want[name]; !known || n > 0 {
				t.Errorf("%q is no alert and no kind, or has two sections", name)
			}
			want[name]++
		}
		body := p.text[at[1]:end]
		means, look, mend := strings.Index(body, "\n* **Means**: "), strings.Index(body, "\n* **Look**: "),
			strings.Index(body, "\n* **Mend**: ")
		if means < 0 || look < means || mend < look {
			t.Errorf("%s does not say what it means, what to look at and what mends it", title)
			continue
		}
		if !hasCommand(body[mend:]) {
			t.Errorf("%s names no command that mends it", title)
		}
	}
	for name, sections := range want {
		if sections == 0 {
			t.Errorf("%s has no section", name)
		}
	}
}

// hasCommand reports whether a text has a code span with a command and its arguments.
func hasCommand(text string) bool {
	for _, m := range codeSpan.FindAllStringSubmatch(strings.ReplaceAll(text, "\n", " "), -1) {
		if strings.Contains(m[4], " ") {
			return true
		}
	}
	return false
}

// TestRunbookCommandsExist: docs/cli.md lists each signalbox command in the runbook and in the service levels page,
// with the used flags.
func TestRunbookCommandsExist(t *testing.T) {
	sections := make(map[string]string)
	for _, section := range strings.Split(readPage(t, "docs/cli.md").text, "\n### ")[1:] {
		title, body, _ := strings.Cut(section, "\n")
		sections[title] = body
	}
	serve := readPage(t, "docs/settings.md").text
	found := 0
	for _, guide := range []string{"runbook", "service-levels", "kubernetes"} {
		path := "docs/guides/" + guide + ".md"
		for _, s := range readPage(t, path).spans {
			command, is := strings.CutPrefix(s.text, "signalbox ")
			if !is {
				continue
			}
			found++
			name := ""
			for _, word := range strings.Fields(command) {
				if next := strings.TrimSpace(name + " " + word); sections[next] != "" {
					name = next
				}
			}
			// A command group needs a subcommand.
			if name == "" || strings.Contains(sections[name], "\nCommands:\n") {
				t.Errorf("%s:%d: there is no command %q", path, s.line, s.text)
			}
			for _, flag := range longFlag.FindAllStringSubmatch(command, -1) {
				text := sections[name]
				if name == "serve" || name == "init" {
					text = serve
				}
				if !strings.Contains(text, "--"+flag[1]+" ") {
					t.Errorf("%s:%d: %s has no flag --%s", path, s.line, name, flag[1])
				}
			}
		}
	}
	if found < 80 {
		t.Errorf("only %d commands were found", found)
	}
}

var figure = regexp.MustCompile(`[0-9][0-9,.]*[0-9]|[0-9]`)

// TestTheSizingTableHasMeasuredFigures: each figure in the table also stands in the results or the benchmarks.
func TestTheSizingTableHasMeasuredFigures(t *testing.T) {
	measured := make(map[string]bool)
	for _, path := range []string{"docs/measured/results.md", "docs/benchmarks.md"} {
		for _, number := range figure.FindAllString(readPage(t, path).text, -1) {
			measured[number] = true
		}
	}
	_, bodies := sectionsOf(readPage(t, "docs/guides/capacity-planning.md"))
	rows := 0
	for _, line := range strings.Split(bodies["Sizing"], "\n") {
		if !strings.HasPrefix(line, "| ") {
			continue
		}
		rows++
		for _, number := range figure.FindAllString(line, -1) {
			if !measured[number] {
				t.Errorf("%s was not measured: %s", number, line)
			}
		}
	}
	if rows < 10 {
		t.Errorf("the table has only %d rows", rows)
	}
}
