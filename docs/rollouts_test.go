//go:build unix

package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestTheRecipeOfRolloutsWorksAsTyped types the commands in the section "On the command line" into terminals, and
// compares the output with the page. Ages are not compared.
func TestTheRecipeOfRolloutsWorksAsTyped(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program, and waits for delays")
	}
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash")
	}
	commands, prints := commandLineRecipe(t, "docs/rollouts.md", 9, 7)
	create, follow, publish, status, plan := commands[0], commands[1], commands[2], commands[3], commands[4]
	watch, again, why, back := commands[5], commands[6], commands[7], commands[8]
	d := newDesk(t)
	d.environment = append(d.environment, "PATH="+buildSignalbox(t)+":"+os.Getenv("PATH"))

	d.open("signalbox serve").await("is ready")
	d.open(create).awaitEnd("")
	var instances []*terminal
	for _, location := range []string{"sas", "man", "vla"} {
		te := d.open(strings.ReplaceAll(follow, "sas", location))
		te.await("follows dns in " + location)
		instances = append(instances, te)
	}
	d.open(publish).awaitEnd(prints[0])
	for i, location := range []string{"sas", "man", "vla"} {
		instances[i].await(strings.ReplaceAll(prints[1], "sas", location))
	}
	compare(t, status, d.output(status), prints[2])
	compare(t, plan, d.output(plan), prints[3])

	screen := d.open(watch)
	screen.await("reached version 1")
	d.open(again).awaitEnd("")
	screen.await("vla        has reached version 2")
	text, _ := screen.printed()
	_, text, _ = strings.Cut(text, strings.SplitAfter(prints[4], "\n")[0])
	compare(t, watch, order(strings.SplitAfter(prints[4], "\n")[0]+text), order(prints[4]))

	compare(t, why, d.output(why), prints[5])
	compare(t, back, d.output(back), prints[6])
	for _, te := range instances {
		te.await("version 2 (r9555) is in use\nloads version 1: zones of monday\n")
	}
}

// commandLineRecipe returns the commands in a page's section "On the command line", and their documented output.
func commandLineRecipe(t *testing.T, page string, blocks, texts int) (commands, prints []string) {
	t.Helper()
	_, section, ok := strings.Cut(readPage(t, page).text, "\n## On the command line\n")
	if !ok {
		t.Fatalf("%s has no section on the command line", page)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	for _, f := range newPage(page, section).fences {
		switch f.language {
		case "sh":
			commands = append(commands, f.text)
		case "text":
			prints = append(prints, f.text)
		}
	}
	if len(commands) != blocks || len(prints) != texts {
		t.Fatalf("the recipe has other blocks than this test expects: %q, %q", commands, prints)
	}
	return commands, prints
}

// buildSignalbox builds the program, and returns its folder.
func buildSignalbox(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	build := exec.Command("go", "build", "-o", filepath.Join(folder, "signalbox"), "./cmd/signalbox")
	build.Dir = root
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return folder
}

// output types commands until they exit, and returns their output.
func (d *desk) output(typed string) string {
	d.t.Helper()
	te := d.open(typed)
	te.awaitEnd("")
	text, _ := te.printed()
	return text
}

// age matches an age or duration, with the blanks before it in a table.
var age = regexp.MustCompile(` +(?:after )?\b[0-9.]+(?:ms|s|m[0-9]+s)\b`)

// compare compares output with the page, except for ages and column widths.
func compare(t *testing.T, typed, printed, want string) {
	t.Helper()
	normal := func(text string) string {
		if strings.Contains(typed, " status ") || strings.Contains(typed, " why ") {
			text = age.ReplaceAllString(text, " AGE")
			text = regexp.MustCompile(` +`).ReplaceAllString(text, " ")
		}
		return text
	}
	if normal(printed) != normal(want) {
		t.Errorf("%s printed\n%s\nwant\n%s", typed, printed, want)
	}
}

// order moves lines about the whole rollout before lines about its locations, because the grouping of nearly
// simultaneous changes is random.
func order(text string) string {
	lines := strings.SplitAfter(text, "\n")
	rank := func(line string) int {
		if strings.HasPrefix(line, "dns ") {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(lines, func(a, b string) int { return rank(a) - rank(b) })
	return strings.Join(lines, "")
}
