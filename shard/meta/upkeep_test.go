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
	err := filepath.WalkDir("../../server/replica", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			field, is := n.(*ast.KeyValueExpr)
			if !is {
				return true
			}
			key, is := field.Key.(*ast.Ident)
			value, named := field.Value.(*ast.SelectorExpr)
			if is && named && key.Name == "Kind" && fmt.Sprint(value.X) == "meta" {
				made[value.Sel.Name] = true
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
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
