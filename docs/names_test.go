package docs_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol/level"
)

var (
	testName   = regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark|Example)[A-Z_][A-Za-z0-9_]*(\.\.\.)?`)
	testFunc   = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark|Example)\w*)\(`)
	variable   = regexp.MustCompile(`\bSIGNALBOX_[A-Z][A-Z0-9_]*[A-Z0-9]`)
	subcommand = regexp.MustCompile(`^signalbox ([a-z][a-z-]*)`)
	longFlag   = regexp.MustCompile(`(?:^|[\s\[(=])--([a-z][a-z0-9-]*[a-z0-9])`)
	settingRow = regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\| `--([a-z-]+)[^`]*` \\| `([A-Z_]+)` \\|")
)

// testFuncs returns all test functions, with their folders.
func testFuncs(t *testing.T) map[string][]string {
	t.Helper()
	found := make(map[string][]string)
	walk(t, "_test.go", func(file string, text []byte) {
		for _, m := range testFunc.FindAllSubmatch(text, -1) {
			found[string(m[1])] = append(found[string(m[1])], path.Dir(file))
		}
	})
	return found
}

func TestNamedTestsExist(t *testing.T) {
	known := testFuncs(t)
	named := 0
	for _, p := range pages(t) {
		sample := p.linesOf("go") // may show a reader's test
		for i, line := range strings.Split(p.text, "\n") {
			for _, name := range testName.FindAllString(line, -1) {
				if sample[i+1] {
					continue
				}
				named++
				if !exists(known, name) {
					t.Errorf("%s:%d names %s, and there is no such function", p.path, i+1, name)
				}
			}
		}
	}
	if named == 0 {
		t.Error("no page names a test")
	}
}

// exists reports whether a test has the name, or, for a name that ends with dots, the prefix.
func exists(known map[string][]string, name string) bool {
	prefix, open := strings.CutSuffix(name, "...")
	if !open {
		return known[name] != nil
	}
	for k := range known {
		if strings.HasPrefix(k, prefix) {
			return true
		}
	}
	return false
}

// TestTheNewestLevelOnPagesIsThatOfThisBuild: pages that show the output of `signalbox version` have this build's level.
func TestTheNewestLevelOnPagesIsThatOfThisBuild(t *testing.T) {
	p := readPage(t, "docs/install.md")
	want := fmt.Sprintf("newest level   %d", level.Newest)
	if got := regexp.MustCompile(`newest level +\d+`).FindAllString(p.text, -1); !slices.Equal(got, []string{want}) {
		t.Errorf("%s has %q, not %q", p.path, got, want)
	}
}

// sectionsOf returns a page's sections below second-level headings, in order.
func sectionsOf(p *page) (titles []string, bodies map[string]string) {
	bodies = make(map[string]string)
	for _, section := range strings.Split(p.text, "\n## ")[1:] {
		title, body, _ := strings.Cut(section, "\n")
		titles, bodies[title] = append(titles, title), body
	}
	return titles, bodies
}

// TestGuaranteesHaveTests: each promise in docs/guarantees.md has a reason, and a section with tests in the appendix. A
// list item in the appendix names a package, then tests and golden stories in that package.
func TestGuaranteesHaveTests(t *testing.T) {
	known := testFuncs(t)
	titles, bodies := sectionsOf(readPage(t, "docs/guarantees.md"))
	appendix := readPage(t, "docs/guarantees-tests.md")
	tested, lists := sectionsOf(appendix)
	var promises []string
	for _, title := range titles {
		body := bodies[title]
		if !strings.Contains(body, "**Promise.**") {
			continue
		}
		promises = append(promises, title)
		if link := "(guarantees-tests.md#" + slug(title) + ")"; !strings.Contains(body, link) {
			t.Errorf("%q does not link to %s", title, link)
		}
		if !strings.Contains(body, "**Why.**") {
			t.Errorf("%q has no **Why.**", title)
		}
	}
	if len(promises) == 0 || !slices.Equal(promises, tested) {
		t.Fatalf("%s has sections for %q, want %q", appendix.path, tested, promises)
	}
	for _, title := range promises {
		named := 0
		for _, line := range strings.Split("\n"+lists[title], "\n* ")[1:] {
			spans := codeSpan.FindAllStringSubmatch(line, -1)
			folder := spans[0][4]
			for _, s := range spans[1:] {
				if !testName.MatchString(s[4]) {
					story := filepath.Join(root, folder, "testdata", "golden", s[4]+".txt")
					if _, err := os.Stat(story); err != nil {
						t.Errorf("%q: %s has no golden story %s", title, folder, s[4])
					}
					continue
				}
				named++
				if !contains(known, s[4], folder) {
					t.Errorf("%q: %s has no test %s", title, folder, s[4])
				}
			}
		}
		if named == 0 {
			t.Errorf("%q names no test", title)
		}
	}
}

func contains(known map[string][]string, name, folder string) bool {
	for _, f := range known[name] {
		if f == folder {
			return true
		}
	}
	return false
}

// ofKubernetes matches Kubernetes commands.
var ofKubernetes = regexp.MustCompile(`^(kubectl|helm) `)

// TestNamedSettingsExist checks the flags and variables that pages mention, and the commands that pages call.
func TestNamedSettingsExist(t *testing.T) {
	flags, variables := map[string]bool{"config": true, "help": true}, map[string]bool{"SIGNALBOX_CONFIG": true}
	page, err := os.ReadFile("settings.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range settingRow.FindAllStringSubmatch(string(page), -1) {
		flags[row[2]], variables[row[3]] = true, true
	}
	if len(flags) < 20 {
		t.Fatalf("only %d settings were found", len(flags))
	}
	// Other commands have separate flags and variables, as texts in their sources.
	var sources strings.Builder
	walk(t, ".go", func(file string, text []byte) {
		if top, _, _ := strings.Cut(file, "/"); slices.Contains([]string{"cmd", "gateway", "loadgen", "bench"}, top) {
			sources.Write(text)
		}
	})
	others := sources.String()

	for _, p := range pages(t) {
		for i, line := range strings.Split(p.text, "\n") {
			for _, name := range variable.FindAllString(line, -1) {
				if !variables[name] && !strings.Contains(others, name) {
					t.Errorf("%s:%d names the variable %s, and there is none", p.path, i+1, name)
				}
			}
		}
		check := func(line int, command string) {
			if m := subcommand.FindStringSubmatch(command); m != nil && !strings.Contains(others, `"`+m[1]+`"`) &&
				!strings.Contains(others, `"`+m[1]+" ") {
				t.Errorf("%s:%d calls signalbox %s, and there is no such command", p.path, line, m[1])
			}
			for _, m := range longFlag.FindAllStringSubmatch(command, -1) {
				if strings.Contains(command, "signalbox serve") && !flags[m[1]] && !strings.HasPrefix(m[1], "demo") ||
					!flags[m[1]] && !strings.Contains(others, `"`+m[1]+`"`) {
					t.Errorf("%s:%d uses --%s, and there is no such flag: %s", p.path, line, m[1], command)
				}
			}
		}
		for _, s := range p.spans {
			if strings.HasPrefix(s.text, "--") || strings.HasPrefix(s.text, "signalbox ") {
				check(s.line, s.text)
			}
		}
		for _, f := range p.fences {
			if f.language == "text" {
				continue // output
			}
			for _, command := range f.commands() {
				if ofKubernetes.MatchString(command) {
					continue // signalbox may be a cluster's or chart's name
				}
				if at := strings.Index(command, "signalbox "); at >= 0 {
					command, _, _ = strings.Cut(command[at:], " -- ") // a wrapped command has separate flags
					check(f.line, command)
				}
			}
		}
	}
}

// sdk maps package names to client packages.
var sdk = map[string]string{
	"client": "client", "lock": "client/lock", "election": "client/election", "discovery": "client/discovery",
	"config": "client/config", "servertest": "server/servertest",
}

var goName = regexp.MustCompile(`\b(client|lock|election|discovery|config|servertest)\.([A-Z]\w*)(?:\.([A-Z]\w*))?`)

// TestNamedGoNamesExist checks names in the form package.Name or package.Type.Method on pages.
func TestNamedGoNamesExist(t *testing.T) {
	names := make(map[string]map[string]bool)
	for name, folder := range sdk {
		names[name] = exported(t, folder)
	}
	found := 0
	for _, p := range pages(t) {
		if strings.HasPrefix(p.path, "server/") {
			continue // a variable may be called config there
		}
		code := make([]span, 0, len(p.spans))
		code = append(code, p.spans...)
		for _, f := range p.fences {
			if f.language == "go" && !f.compiled {
				code = append(code, span{f.line, f.text})
			}
		}
		for _, s := range code {
			for _, m := range goName.FindAllStringSubmatch(s.text, -1) {
				found++
				full := m[2]
				if m[3] != "" {
					full += "." + m[3]
				}
				if !names[m[1]][full] {
					t.Errorf("%s:%d names %s, and there is no such thing", p.path, s.line, m[0])
				}
			}
		}
	}
	if found < 5 {
		t.Errorf("only %d names were found", found)
	}
}

// exported returns a package's exported names: types, functions, variables and constants plain, fields and methods with
// their type's name as prefix.
func exported(t *testing.T, folder string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no sources: %v", folder, err)
	}
	found := make(map[string]bool)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			for _, name := range declared(d) {
				found[name] = true
			}
		}
	}
	return found
}

func declared(d ast.Decl) (names []string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			return []string{d.Name.Name}
		}
		receiver := d.Recv.List[0].Type
		if star, ok := receiver.(*ast.StarExpr); ok {
			receiver = star.X
		}
		if of, ok := receiver.(*ast.Ident); ok {
			return []string{of.Name + "." + d.Name.Name}
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.ValueSpec:
				for _, n := range s.Names {
					names = append(names, n.Name)
				}
			case *ast.TypeSpec:
				names = append(names, s.Name.Name)
				if of, ok := s.Type.(*ast.StructType); ok {
					for _, f := range of.Fields.List {
						for _, n := range f.Names {
							names = append(names, s.Name.Name+"."+n.Name)
						}
					}
				}
			}
		}
	}
	return names
}
