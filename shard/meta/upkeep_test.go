package meta

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// notUpkeep are client commands, and commands whose proposer waits for the result.
var notUpkeep = map[CommandKind]bool{
	CmdNodeCreate: true, CmdNodeAlter: true, CmdNodeDrop: true, CmdSlotMove: true,
	CmdHostJoin: true, CmdHostDrain: true, CmdHostUndrain: true, CmdHostCordon: true, CmdHostAlter: true,
	CmdHostWeigh: true, CmdShardAdd: true, CmdShardRemove: true, CmdShardWeigh: true, CmdRebalance: true,
	CmdHostExpel: true, CmdHostReplace: true, CmdShardTransfer: true, CmdPolicySet: true, CmdTokenCreate: true,
	CmdTokenRevoke: true, CmdStepCancel: true, CmdStepForget: true, CmdShardRecover: true,
	CmdShardOverlap: true,
	CmdAccessGrant:  true, CmdAccessRevoke: true, CmdAccessRoleSet: true, CmdAccessRoleDelete: true,
	CmdAccessTokenCreate: true, CmdAccessTokenRevoke: true, CmdAccessImport: true,
}

// shownUpkeep returns the commands in DESIGN.md's upkeep table, each with its remaining row.
func shownUpkeep(t *testing.T) map[string][]string {
	t.Helper()
	page, err := os.ReadFile("DESIGN.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page), "| command | proposed | work | late, or twice | lost, or refused |\n")
	if table, _, _ = strings.Cut(table, "\n\n"); !found {
		t.Fatal("DESIGN.md has no table of upkeep")
	}
	rows := make(map[string][]string)
	for _, line := range strings.Split(table, "\n")[1:] {
		cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(line, "| "), " |"), " | ")
		rows[strings.Trim(cells[0], "`")] = cells[1:]
	}
	return rows
}

// TestEveryCommandIsOfAClientOrUpkeep: DESIGN.md describes every upkeep command: when a host proposes the command, the
// effect of a late or lost command, and its work.
func TestEveryCommandIsOfAClientOrUpkeep(t *testing.T) {
	shown := shownUpkeep(t)
	for i, name := range commandNames {
		k := CommandKind(i)
		if name == "" {
			continue
		}
		row, upkeep := shown[name]
		delete(shown, name)
		switch {
		case notUpkeep[k] == upkeep:
			t.Errorf("%v is of a client %v, and upkeep %v", k, notUpkeep[k], upkeep)
		case notUpkeep[k]:
		case (upkeeps[k] == nil) != (requests[k] != nil):
			t.Errorf("%v is Success twice, or not at all", k)
		case len(row) != 4 || slices.Contains(row, ""):
			t.Errorf("%v has in DESIGN.md the row %q", k, row)
		}
	}
	if len(shown) > 0 {
		t.Errorf("DESIGN.md has rows of no command: %v", shown)
	}
}

// TestUpkeepIsWhatHostsPropose: the host packages without request handling propose every command in the table, and no
// client command.
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
		"CmdHostObservation": CmdHostObservation, "CmdClusterLevel": CmdClusterLevel, "CmdDigestTake": CmdDigestTake,
		"CmdDigestCompare": CmdDigestCompare, "CmdRoutingInit": CmdRoutingInit, "CmdNodeCreate": CmdNodeCreate,
		"CmdLead": CmdLead, "CmdNodeAlter": CmdNodeAlter, "CmdNodeDrop": CmdNodeDrop,
	} {
		if upkeep := upkeeps[k] != nil; made[name] != upkeep {
			t.Errorf("%s is upkeep: %v, and hosts propose it by themselves: %v", name, upkeep, made[name])
		}
		delete(made, name)
	}
	if len(made) > 0 {
		t.Errorf("not in this test: %v", made)
	}
}

// TestRequestsThatAreUpkeepAreProposed: a host makes every request that clients never make.
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

// inspect calls visit with every syntax node in the non-test files below a directory.
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

// ofMeta returns the name of this package's identifier in an expression, empty if there is none.
func ofMeta(e ast.Expr) string {
	if value, named := e.(*ast.SelectorExpr); named && fmt.Sprint(value.X) == "meta" {
		return value.Sel.Name
	}
	return ""
}
