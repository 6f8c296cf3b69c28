package machine_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
)

// goldenScript is a file in testdata/golden: blocks run in order.
type goldenScript struct {
	path   string
	blocks []goldenBlock
	ending []string // comments and empty lines behind the last block
}

// goldenBlock is one step of a script: its comment, its command lines, and their output.
type goldenBlock struct {
	line   int // first input line, counted from 1
	story  []string
	input  []string
	output []string
}

const goldenRule = "----"

// readGolden reads a script. A block is: comments and empty lines, command lines, the rule, and the
// output up to the next empty line.
func readGolden(path string) (*goldenScript, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s := &goldenScript{path: path}
	var b goldenBlock
	inOutput := false
	for i, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		empty := strings.TrimSpace(line) == ""
		switch {
		case inOutput && !empty:
			b.output = append(b.output, line)
		case inOutput:
			s.blocks = append(s.blocks, b)
			b, inOutput = goldenBlock{story: []string{line}}, false
		case line == goldenRule && len(b.input) == 0:
			return nil, fmt.Errorf("%s:%d: there is no command above the rule", path, i+1)
		case line == goldenRule:
			inOutput = true
		case len(b.input) > 0 && empty:
			return nil, fmt.Errorf("%s:%d: %q should stand below the commands", path, i+1, goldenRule)
		case len(b.input) == 0 && (empty || strings.HasPrefix(line, "#")):
			b.story = append(b.story, line)
		default:
			if len(b.input) == 0 {
				b.line = i + 1
			}
			b.input = append(b.input, line)
		}
	}
	switch {
	case inOutput:
		s.blocks = append(s.blocks, b)
	case len(b.input) > 0:
		return nil, fmt.Errorf("%s:%d: the last commands have no %q below them", path, b.line, goldenRule)
	default:
		s.ending = b.story
	}
	return s, nil
}

// rewrite replaces the output in the file, and leaves an unchanged file alone.
func (s *goldenScript) rewrite(outputs [][]string) error {
	var text bytes.Buffer
	for i, b := range s.blocks {
		for _, line := range slices.Concat(b.story, b.input, []string{goldenRule}, outputs[i]) {
			text.WriteString(line + "\n")
		}
	}
	for _, line := range s.ending {
		text.WriteString(line + "\n")
	}
	if old, err := os.ReadFile(s.path); err == nil && bytes.Equal(old, text.Bytes()) {
		return nil
	}
	return os.WriteFile(s.path, text.Bytes(), 0o644)
}

// goldenDiff compares expected and actual output, line by line, without the common ends.
func goldenDiff(want, got []string) string {
	head := 0
	for head < min(len(want), len(got)) && want[head] == got[head] {
		head++
	}
	tail := 0
	for tail < min(len(want), len(got))-head && want[len(want)-1-tail] == got[len(got)-1-tail] {
		tail++
	}
	var b strings.Builder
	if head > 0 {
		fmt.Fprintf(&b, "  (%d lines as expected)\n", head)
	}
	for _, line := range want[head : len(want)-tail] {
		fmt.Fprintf(&b, "- %s\n", line)
	}
	for _, line := range got[head : len(got)-tail] {
		fmt.Fprintf(&b, "+ %s\n", line)
	}
	if tail > 0 {
		fmt.Fprintf(&b, "  (%d lines as expected)\n", tail)
	}
	return b.String()
}
