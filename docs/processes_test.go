//go:build unix

package docs_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestTheRecipeOfProcessesWorksAsTyped types the commands in the section "On the command line" into terminals, and
// compares the output with the page. Ages are not compared.
func TestTheRecipeOfProcessesWorksAsTyped(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program, and runs it")
	}
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash")
	}
	commands, prints := commandLineRecipe(t, "docs/processes.md", 9, 6)
	create, run, status, result, watch := commands[0], commands[1], commands[2], commands[3], commands[4]
	restart, health, send, why := commands[5], commands[6], commands[7], commands[8]
	d := newDesk(t)
	d.environment = append(d.environment, "PATH="+buildSignalbox(t)+":"+os.Getenv("PATH"))

	d.open("signalbox serve").await("is ready")
	d.open(create).awaitEnd("")
	first := d.open(run)
	first.await("epoch 1025 is complete")
	compare(t, run, strings.SplitAfter(printedBy(first), "13 bytes\n")[0], prints[0])
	second := d.open(strings.ReplaceAll(run, "--name a", "--name b"))
	second.await("epoch 3073 is complete")
	third := d.open(strings.ReplaceAll(run, "--name a", "--name c"))
	for _, te := range []*terminal{first, second, third} {
		te.await("epoch 5121 is complete")
	}
	d.open(`until [ "$(signalbox process members /prod switch | grep -c completed)" = 3 ]; do sleep 0.1; done`).awaitEnd("")
	compare(t, status, d.output(status), prints[1])
	compare(t, result, d.output(result)+"\n", prints[2])

	lines := d.open(watch)
	lines.await("epoch 5121 is complete")
	before := printedBy(lines)
	d.open(restart).awaitEnd("")
	lines.await("epoch 6145 is complete, with a result of 13 bytes\n")
	happened := strings.TrimPrefix(printedBy(lines), before)
	compare(t, watch, stateBetween.ReplaceAllString(happened, ""), prints[3])

	d.open(health).await("opens with 1 member")
	compare(t, send, d.output(send), prints[4])
	compare(t, why, d.output(why), prints[5])
}

// stateBetween matches the state of a round in progress, which is printed only if read at that time.
var stateBetween = regexp.MustCompile(`(?m)^.* runs: all members are prepared\n`)

func printedBy(te *terminal) string {
	text, _ := te.printed()
	return text
}
