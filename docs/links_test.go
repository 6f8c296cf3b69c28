package docs_test

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

var (
	inlineLink  = regexp.MustCompile(`\]\(([^)\s]+)(?:\s+"[^"]*")?\)`)
	defineLink  = regexp.MustCompile(`(?m)^\[[^\]]+\]:\s*(\S+)`)
	headingLine = regexp.MustCompile(`^#{1,6} +(.*?)#* *$`)
	linkText    = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	namedAnchor = regexp.MustCompile(`<a (?:name|id)="([^"]+)">`)
)

// TestLinksResolve follows every link inside the project on every page, anchors included.
func TestLinksResolve(t *testing.T) {
	all := make(map[string]*page)
	links := 0
	for _, p := range pages(t) {
		all[p.path] = p
	}
	for _, p := range all {
		for _, pattern := range []*regexp.Regexp{inlineLink, defineLink} {
			for _, m := range pattern.FindAllStringSubmatchIndex(p.prose, -1) {
				target := p.prose[m[2]:m[3]]
				if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
					continue
				}
				links++
				if problem := follow(all, p, target); problem != "" {
					t.Errorf("%s:%d links to %s: %s", p.path, p.lineOf(m[0]), target, problem)
				}
			}
		}
	}
	if links < 20 {
		t.Errorf("only %d links were found", links)
	}
}

var namedFile = regexp.MustCompile(`^[a-z]+(/[A-Za-z0-9_.-]+)+/?$`)

// TestNamedFilesExist checks code spans that are project paths: paths that begin with a project folder. A path may also
// be relative to the page's folder.
func TestNamedFilesExist(t *testing.T) {
	found := 0
	for _, p := range pages(t) {
		for _, s := range p.spans {
			top, _, _ := strings.Cut(s.text, "/")
			if !namedFile.MatchString(s.text) || !isThere(top) {
				continue
			}
			found++
			if !isThere(s.text) && !isThere(path.Join(path.Dir(p.path), s.text)) && !ignored(s.text) {
				t.Errorf("%s:%d names %s, and there is no such file", p.path, s.line, s.text)
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d names were found", found)
	}
}

// isThere reports whether the tree has a file or a folder.
func isThere(name string) bool {
	_, err := os.Stat(filepath.Join(root, filepath.FromSlash(name)))
	return err == nil
}

// ignored reports whether Git ignores a folder that a command creates.
func ignored(name string) bool {
	rules, _ := os.ReadFile(filepath.Join(root, filepath.FromSlash(path.Dir(name)), ".gitignore"))
	return strings.Contains("\n"+string(rules), "\n/"+path.Base(name)+"/\n")
}

// follow returns the reason why a page's link is broken.
func follow(all map[string]*page, from *page, target string) string {
	file, anchor, hasAnchor := strings.Cut(target, "#")
	to := from
	if file != "" {
		name := path.Join(path.Dir(from.path), file)
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(name))); err != nil {
			return "there is no such file"
		}
		to = all[name]
	}
	if !hasAnchor {
		return ""
	}
	if to == nil {
		return "only pages have anchors"
	}
	known := anchors(to)
	if !known[anchor] {
		return fmt.Sprintf("%s has no such heading", to.path)
	}
	return ""
}

// anchors returns the anchors for a page's headings.
func anchors(p *page) map[string]bool {
	known := make(map[string]bool)
	for _, m := range namedAnchor.FindAllStringSubmatch(p.text, -1) {
		known[m[1]] = true
	}
	inside := p.linesOf("")
	for i, line := range strings.Split(p.text, "\n") {
		m := headingLine.FindStringSubmatch(line)
		if m == nil || inside[i+1] {
			continue
		}
		name := slug(m[1])
		for again := 1; known[name]; again++ {
			name = fmt.Sprintf("%s-%d", slug(m[1]), again)
		}
		known[name] = true
	}
	return known
}

// slug returns GitHub's anchor for a heading.
func slug(heading string) string {
	heading = linkText.ReplaceAllString(heading, "$1")
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(heading)) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
		}
	}
	return b.String()
}

func TestSlugsAreThoseOfTheWeb(t *testing.T) {
	for heading, want := range map[string]string{
		"The fencing token":                    "the-fencing-token",
		"5. What was acknowledged is not lost": "5-what-was-acknowledged-is-not-lost",
		"`lock PATH NAME`, in short":           "lock-path-name-in-short",
		"[Concepts](concepts.md) & words":      "concepts--words",
	} {
		if got := slug(heading); got != want {
			t.Errorf("the slug of %q is %q, want %q", heading, got, want)
		}
	}
}
