package client_test

import (
	"path/filepath"
	"testing"

	"github.com/signalbox/signalbox/test/snippets"
)

// TestTheCodeInThePagesCompilesAndDoesWhatItSays: readers can copy and compile each block of code in the pages.
func TestTheCodeInThePagesCompilesAndDoesWhatItSays(t *testing.T) {
	pages, err := filepath.Glob("../docs/*.md")
	check(t, err)
	guides, err := filepath.Glob("../docs/guides/*.md")
	check(t, err)
	all, err := snippets.Read(append(append(pages, guides...), "../README.md")...)
	check(t, err)
	var compiled, run, tests []*snippets.Snippet
	for _, s := range all {
		switch s.Mode {
		case "module", "apart":
		case "test":
			tests = append(tests, s)
			compiled = append(compiled, s)
		case "run":
			run = append(run, s)
			fallthrough
		default:
			compiled = append(compiled, s)
		}
	}
	if len(compiled) < 20 || len(run) < 5 {
		t.Errorf("only %d blocks were found, %d to be run", len(compiled), len(run))
	}
	check(t, snippets.Compile("..", compiled))
	if !testing.Short() {
		check(t, snippets.Run("..", run))
		check(t, snippets.Test("..", tests))
	}
}
