// Package snippets tests the Go code blocks on Markdown pages. Every block must compile. A block that is run must print
// exactly the lines in its "// Output:" comment.
//
// A block is a file, or the body of a function with a context, a client and two sessions as parameters and an error
// result. A comment on the line above the fence sets the block's mode:
//
//	<!-- go: test -->         the block is a test file with a package clause, and its tests pass
//	<!-- go: run -->          the block is run on an in-memory cluster, and its output compared
//	<!-- go: module DIR -->   the block is compiled by the tests in another module in this repository
//	<!-- go: apart -->        the block needs a module that this repository does not, and is not compiled
package snippets

import (
	"fmt"
	"os"
	"strings"
)

// Snippet is one block of Go code.
type Snippet struct {
	Page string
	Line int // first code line
	Text string
	// Mode is the word after "go:" in the comment, Arg the rest.
	Mode, Arg string
}

// String names the page and the line.
func (s *Snippet) String() string { return fmt.Sprintf("%s:%d", s.Page, s.Line) }

// Read returns the Go code in pages.
func Read(pages ...string) (found []*Snippet, err error) {
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			return nil, fmt.Errorf("snippets: %w", err)
		}
		found = append(found, read(page, string(text))...)
	}
	return found, nil
}

func read(page, text string) (found []*Snippet) {
	var open *Snippet
	var body []string
	before := ""
	for i, line := range strings.Split(text, "\n") {
		switch {
		case open != nil && line == "```":
			open.Text = strings.Join(body, "\n") + "\n"
			found = append(found, open)
			open, body = nil, nil
		case open != nil:
			body = append(body, line)
		case line == "```go":
			open = &Snippet{Page: page, Line: i + 2}
			if marker, ok := strings.CutPrefix(before, "<!-- go: "); ok {
				open.Mode, open.Arg, _ = strings.Cut(strings.TrimSuffix(marker, " -->"), " ")
			}
		}
		before = line
	}
	return found
}

// wants is the block's expected output: the comment after "// Output:". ok is false without such a comment.
func (s *Snippet) wants() (output string, ok bool) {
	_, comment, ok := strings.Cut(s.Text, "// Output:\n")
	var lines []string
	for line := range strings.Lines(comment) {
		lines = append(lines, strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(line), "//"), " "))
	}
	return strings.TrimSpace(strings.Join(lines, "\n")), ok
}
