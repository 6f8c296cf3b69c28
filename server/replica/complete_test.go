package replica

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// TestCompleteNamesNoMutation: the work after a mutation's command is listed in the mutation table.
func TestCompleteNamesNoMutation(t *testing.T) {
	tables, err := filepath.Glob("../mutation/*.go")
	if err != nil {
		t.Fatal(err)
	}
	mutations := map[string]bool{}
	for _, file := range tables {
		for name := range commandsIn(t, file, "") {
			mutations[name] = true
		}
	}
	named := commandsIn(t, "replica.go", "complete")
	if !mutations["CmdAcquire"] || !named["CmdLead"] {
		t.Fatalf("the commands were not found: %v, %v", mutations, named)
	}
	for name := range named {
		if mutations[name] {
			t.Errorf("Replica.complete names %s, which is of a mutation", name)
		}
	}
}

// commandsIn returns the commands named in a file, or in one of its functions.
func commandsIn(t *testing.T, file, function string) map[string]bool {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); function != "" && (!ok || f.Name.Name != function) {
			continue
		}
		ast.Inspect(d, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && strings.HasPrefix(s.Sel.Name, "Cmd") {
				found[s.Sel.Name] = true
			}
			return true
		})
	}
	return found
}
