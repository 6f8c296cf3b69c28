package meta

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// notUpkeep are the commands that clients ask for, and those that wait for their proposer.
var notUpkeep = map[CommandKind]bool{
	CmdNodeCreate: true, CmdNodeAlter: true, CmdNodeDrop: true, CmdSlotsAssign: true,
	CmdHostJoin: true, CmdHostDrain: true, CmdHostUndrain: true, CmdHostCordon: true, CmdHostAlter: true,
	CmdHostExpel: true, CmdHostReplace: true, CmdShardTransfer: true, CmdPolicySet: true, CmdTokenCreate: true,
	CmdTokenRevoke: true, CmdStepCancel: true, CmdStepForget: true,
	CmdAccessGrant: true, CmdAccessRevoke: true, CmdAccessRoleSet: true, CmdAccessRoleDelete: true,
	CmdAccessTokenCreate: true, CmdAccessTokenRevoke: true,
}

// TestEveryCommandIsOfAClientOrUpkeep: and what is upkeep says all that a reader must know of it, also in DESIGN.md.
func TestEveryCommandIsOfAClientOrUpkeep(t *testing.T) {
	page, err := os.ReadFile("DESIGN.md")
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range commandNames {
		k := CommandKind(i)
		if name == "" {
			continue
		}
		u := &upkeeps[k]
		switch {
		case notUpkeep[k] == (u.proposed != ""):
			t.Errorf("%v is of a client %v, and upkeep %v", k, notUpkeep[k], u.proposed != "")
		case notUpkeep[k]:
		case (u.run == nil) != (requests[k] != nil):
			t.Errorf("%v is carried out twice, or not at all", k)
		case u.proposed == "" || u.late == "" || u.lost == "" || u.work == "":
			t.Errorf("%v: its row does not say when it is proposed, what one that is late or lost does, or its work", k)
		default:
			row := fmt.Sprintf("| `%v` | %s | %s | %s | %s |\n", k, u.proposed, u.work, u.late, u.lost)
			if !strings.Contains(string(page), row) {
				t.Errorf("DESIGN.md has no row\n%s", row)
			}
		}
	}
}

// TestUpkeepIsWhatHostsPropose: every command of the table is proposed somewhere by the rooms of a host that know
// nothing of requests, and none that clients ask for is.
func TestUpkeepIsWhatHostsPropose(t *testing.T) {
	made := make(map[string]bool)
	inspect(t, "../../server/replica", func(n ast.Node) {
		field, is := n.(*ast.KeyValueExpr)
		if !is {
			return
		}
		if key, is := field.Key.(*ast.Ident); is && key.Name == "Kind" {
			if name := ofMeta(field.Value); name != "" {
				made[name] = true
			}
		}
	})
	for name, k := range map[string]CommandKind{
		"CmdGraceConfirmed": CmdGraceConfirmed, "CmdNodeCleared": CmdNodeCleared, "CmdHostRegister": CmdHostRegister,
		"CmdHostSeen": CmdHostSeen, "CmdClusterLevel": CmdClusterLevel, "CmdDigestTake": CmdDigestTake,
		"CmdDigestCompare": CmdDigestCompare, "CmdRoutingInit": CmdRoutingInit, "CmdNodeCreate": CmdNodeCreate,
		"CmdLead": CmdLead, "CmdNodeAlter": CmdNodeAlter, "CmdNodeDrop": CmdNodeDrop, "CmdSlotsAssign": CmdSlotsAssign,
	} {
		if upkeep := upkeeps[k].run != nil; made[name] != upkeep {
			t.Errorf("%s is upkeep: %v, and hosts propose it by themselves: %v", name, upkeep, made[name])
		}
		delete(made, name)
	}
	if len(made) > 0 {
		t.Errorf("not in this test: %v", made)
	}
}

// TestRequestsThatAreUpkeepAreProposed: every request that no client asks for is made by a host.
func TestRequestsThatAreUpkeepAreProposed(t *testing.T) {
	made := make(map[string]bool)
	inspect(t, "../../server", func(n ast.Node) {
		if literal, is := n.(*ast.CompositeLit); is {
			made[ofMeta(literal.Type)] = true
		}
	})
	for kind, make := range requests {
		name := strings.TrimPrefix(fmt.Sprintf("%T", make()), "*meta.")
		if !notUpkeep[kind] && !made[name] {
			t.Errorf("%v is upkeep, and no host proposes a %s", kind, name)
		}
	}
}

// inspect calls visit with everything in the files of a directory, and of those below it, that are no tests.
func inspect(t *testing.T, dir string, visit func(ast.Node)) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return err
		case filepath.Base(filepath.Dir(path)) == "servertest":
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			visit(n)
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// ofMeta returns what an expression names of this package, empty where it does not.
func ofMeta(e ast.Expr) string {
	if value, named := e.(*ast.SelectorExpr); named && fmt.Sprint(value.X) == "meta" {
		return value.Sel.Name
	}
	return ""
}
