// Package docs_test verifies the statements on this project's pages: links resolve, and named tests, settings and Go
// identifiers exist.
package docs_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root is the top of the tree, relative to this package.
const root = ".."

// page is a Markdown file.
type page struct {
	path string // from the top of the tree
	text string
	// prose is the text with code fences and spans blanked out, so that line numbers stay the same.
	prose string
	// spans are a line's code spans, fences are the code blocks.
	spans  []span
	fences []fence
}

type span struct {
	line int
	text string
}

type fence struct {
	line     int // line number of the first code line
	language string
	text     string
	compiled bool // true if a different test compiles the block
}

var codeSpan = regexp.MustCompile("(``)(.+?)``|(`)([^`\n]+?)`")

// pages reads every page in the project, except in hidden and test data folders.
func pages(t *testing.T) []*page {
	t.Helper()
	var found []*page
	walk(t, ".md", func(path string, text []byte) { found = append(found, newPage(path, string(text))) })
	if len(found) < 8 {
		t.Fatalf("there are %d pages; is %s the top of the tree?", len(found), root)
	}
	return found
}

// readPage reads one page.
func readPage(t *testing.T, path string) *page {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return newPage(path, string(text))
}

// walk visits the files with the given name endings.
func walk(t *testing.T, ending string, visit func(path string, text []byte)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		left := strings.HasPrefix(name, ".") || name == "testdata" || name == "signalbox-data" || name == "node_modules"
		if d.IsDir() && path != root && left {
			return fs.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, ending) {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		short, err := filepath.Rel(root, path)
		if err == nil {
			visit(filepath.ToSlash(short), text)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func newPage(path, text string) *page {
	p := &page{path: path, text: text}
	var prose strings.Builder
	var open *fence
	marker, last := "", ""
	for i, line := range strings.Split(text, "\n") {
		bare := strings.TrimLeft(line, " ")
		switch {
		case open == nil && strings.HasPrefix(bare, "```"):
			marker = bare[:len(bare)-len(strings.TrimLeft(bare, "`"))]
			open = &fence{
				line: i + 2, language: strings.TrimSpace(bare[len(marker):]),
				compiled: strings.HasPrefix(last, "<!-- go:"),
			}
		case open != nil && strings.TrimSpace(bare) == marker:
			p.fences = append(p.fences, *open)
			open = nil
		case open != nil:
			open.text += line + "\n"
		default:
			prose.WriteString(p.takeSpans(i+1, line))
		}
		prose.WriteByte('\n')
		last = line
	}
	p.prose = prose.String()
	return p
}

// takeSpans stores the code spans in a line, and blanks the spans.
func (p *page) takeSpans(number int, line string) string {
	return codeSpan.ReplaceAllStringFunc(line, func(s string) string {
		p.spans = append(p.spans, span{number, strings.Trim(s, "`")})
		return strings.Repeat(" ", len(s))
	})
}

// linesOf returns the line numbers with code in a language, or in all languages if language is empty.
func (p *page) linesOf(language string) map[int]bool {
	found := make(map[int]bool)
	for _, f := range p.fences {
		for i := range strings.Count(f.text, "\n") {
			if language == "" || f.language == language {
				found[f.line+i] = true
			}
		}
	}
	return found
}

// lineOf returns the line number for an offset in prose.
func (p *page) lineOf(offset int) int { return strings.Count(p.prose[:offset], "\n") + 1 }

// commands returns the command lines in code blocks, with continuation lines joined.
func (f *fence) commands() []string {
	joined := strings.ReplaceAll(f.text, "\\\n", " ")
	return slices.DeleteFunc(strings.Split(joined, "\n"), func(l string) bool {
		return strings.TrimSpace(l) == "" || strings.HasPrefix(strings.TrimSpace(l), "#")
	})
}

func TestPagesAreText(t *testing.T) {
	for _, p := range pages(t) {
		for i, line := range strings.Split(p.text, "\n") {
			if strings.TrimRight(line, " \t") != line {
				t.Errorf("%s:%d ends with spaces", p.path, i+1)
			}
		}
		if !bytes.HasSuffix([]byte(p.text), []byte("\n")) {
			t.Errorf("%s does not end with a line break", p.path)
		}
		if n := strings.Count(p.text, "\n```"); n%2 != 0 {
			t.Errorf("%s has a block of code that does not end", p.path)
		}
	}
}

// machine are paths that exist on one machine only. Code blocks may use /tmp, as examples do.
var machine = regexp.MustCompile(`/(work|root|home|Users)/[a-z]`)

func TestPagesNameNoPathOfOneMachine(t *testing.T) {
	for _, p := range pages(t) {
		for i, line := range strings.Split(p.text, "\n") {
			if found := machine.FindString(line); found != "" {
				t.Errorf("%s:%d has the path %s...", p.path, i+1, found)
			}
		}
		if at := strings.Index(p.prose, "/tmp/"); at >= 0 {
			t.Errorf("%s:%d speaks of /tmp", p.path, p.lineOf(at))
		}
	}
}

// untrue are statements that were on pages, with the facts.
var untrue = map[*regexp.Regexp]string{
	regexp.MustCompile(`go get\b`):                                        "modules are not published",
	regexp.MustCompile(`(?i)(?:failover|election)[^.]*half\s+a\s+second`): "docs/benchmarks.md: 0.06 s",
}

func TestPagesSayNothingUntrue(t *testing.T) {
	for _, p := range pages(t) {
		for pattern, fact := range untrue {
			if found := pattern.FindString(p.text); found != "" {
				t.Errorf("%s says %q; %s", p.path, found, fact)
			}
		}
	}
}
