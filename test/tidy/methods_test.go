package tidy

import (
	"go/ast"
	"testing"
)

// mostMethods is the maximum number of functions on one type: with more, the type should be split.
const mostMethods = 90

// TestAMachineIsSeveralTypes: the data shard's state machine is split, and no type has all rules. Methods count, and
// functions in the package that take the type.
func TestAMachineIsSeveralTypes(t *testing.T) {
	count := make(map[string]int)
	for _, s := range sources(t) {
		if s.folder() != "shard/machine" || s.test() {
			continue
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			of := make(map[string]bool)
			if f.Recv != nil {
				count[receiverType(f.Recv)]++
				continue
			}
			for _, p := range f.Type.Params.List {
				if star, ok := p.Type.(*ast.StarExpr); ok {
					if id, ok := star.X.(*ast.Ident); ok {
						of[id.Name] = true
					}
				}
			}
			for name := range of {
				count[name]++
			}
		}
	}
	if count["Machine"] < 20 || count["Sessions"] < 10 {
		t.Fatalf("the functions are counted wrongly: %v", count)
	}
	for name, n := range count {
		if ast.IsExported(name) && n > mostMethods {
			t.Errorf("%d functions work on %s; %d are allowed", n, name, mostMethods)
		}
	}
}
