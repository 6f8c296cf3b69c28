package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"
)

// walkFunction is a function in a walk: `package.Type.Function`, or `package.Function`.
var walkFunction = regexp.MustCompile("`([a-z]+(?:\\.[A-Za-z]+){1,2})`")

// TestWalksNameFunctionsThatExist reads the walks in CONTRIBUTING.md, each a list of functions in request order, and
// looks for every function in the tree.
func TestWalksNameFunctionsThatExist(t *testing.T) {
	known := declaredFunctions(t)
	_, section, found := strings.Cut(readPage(t, "CONTRIBUTING.md").text, "\n## Walks\n")
	if !found {
		t.Fatal("CONTRIBUTING.md has no section Walks")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	walks := strings.Split(section, "\n### ")[1:]
	if len(walks) != 3 {
		t.Errorf("%d walks, want an acquire, a watch and an expiry", len(walks))
	}
	for _, walk := range walks {
		title, list, _ := strings.Cut(walk, "\n")
		named := walkFunction.FindAllStringSubmatch(list, -1)
		if len(named) < 10 {
			t.Errorf("%s: only %d functions", title, len(named))
		}
		for _, m := range named {
			if !known[m[1]] {
				t.Errorf("%s: there is no function %s", title, m[1])
			}
		}
	}
}

// declaredFunctions returns the functions and methods in the tree's packages, without tests.
func declaredFunctions(t *testing.T) map[string]bool {
	t.Helper()
	known := make(map[string]bool)
	walk(t, ".go", func(file string, text []byte) {
		if strings.HasSuffix(file, "_test.go") {
			return
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				known[parsed.Name.Name+"."+receiverPrefix(f)+f.Name.Name] = true
			}
		}
	})
	return known
}

// receiverPrefix returns a method's type and a dot, or "" for a function.
func receiverPrefix(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	of := f.Recv.List[0].Type
	for {
		switch x := of.(type) {
		case *ast.StarExpr:
			of = x.X
		case *ast.IndexExpr:
			of = x.X
		case *ast.IndexListExpr:
			of = x.X
		case *ast.Ident:
			return x.Name + "."
		default:
			return ""
		}
	}
}
