package meta

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"reflect"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
)

// TestEverythingHasItsLevel: whoever adds a command or a field of what the machine keeps says in protocol/level/table.go which level
// brings it.
func TestEverythingHasItsLevel(t *testing.T) {
	have := map[level.Kind][]string{}
	for _, name := range commandNames {
		if name != "" {
			have[level.MetaCommand] = append(have[level.MetaCommand], name)
		}
	}
	source := func(f fs.FileInfo) bool { return !strings.HasSuffix(f.Name(), "_test.go") }
	packages, err := parser.ParseDir(token.NewFileSet(), ".", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	numbers := 0
	ast.Inspect(packages["meta"], func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			if of, ok := spec.Type.(*ast.Ident); ok && of.Name == "CommandKind" {
				numbers += len(spec.Names)
			}
		}
		return true
	})
	if numbers != len(have[level.MetaCommand]) {
		t.Errorf("%d kinds of commands have a number, %d have a name", numbers, len(have[level.MetaCommand]))
	}
	for _, of := range []any{State{}, Routing{}, SlotRange{}, Host{}, Node{}, Config{}, Timing{}, Dropped{}} {
		x := reflect.TypeOf(of)
		for i := range x.NumField() {
			have[level.MetaRecord] = append(have[level.MetaRecord], x.Name()+"."+x.Field(i).Name)
		}
	}
	rows := map[level.Kind]map[string]bool{level.MetaCommand: {}, level.MetaRecord: {}}
	for _, r := range level.Rows() {
		if of := rows[r.Kind]; of != nil {
			of[r.Name] = true
		}
	}
	for kind, names := range have {
		for _, name := range names {
			if !rows[kind][name] {
				t.Errorf("%v %s has no row in the table of levels", kind, name)
			}
			delete(rows[kind], name)
		}
		for name := range rows[kind] {
			t.Errorf("the table of levels has a row for the %v %s, which is not there", kind, name)
		}
	}
}

func TestWhatIsAboveTheLevelIsRefusedWithoutBeingDecoded(t *testing.T) {
	garbage := "\xff\xff\xff"
	src := "\x02" + strings.Repeat("\x00", 16) + "\x01" + string(rune(level.First+1)) + string(rune(len(garbage))) + garbage
	m := furnished()
	before := m.Digest()
	var b Batch
	if err := DecodeBatch([]byte(src), &b, level.First); err != nil {
		t.Fatal(err)
	}
	var out Effects
	m.Apply(&b, &out)
	if len(out.List) != 1 || out.List[0].Status != protocol.StatusUnsupported || m.Digest() != before {
		t.Errorf("%+v", out.List)
	}
	at := "\x02" + strings.Repeat("\x00", 16) + "\x01\x01" + string(rune(len(garbage))) + garbage
	if err := DecodeBatch([]byte(at), &b, level.First); !errors.Is(err, shard.ErrNewerFormat) {
		t.Errorf("at its level: %v", err)
	}
}

func TestWhoHoldsTheLevelIsNamed(t *testing.T) {
	m := New()
	if lowest, holders := m.LevelHolders(); lowest != 0 || len(holders) != 0 {
		t.Errorf("%d, %v", lowest, holders)
	}
	for id, at := range map[shard.HostID]level.Level{1: 7, 2: 5, 3: 5} {
		h := host(id, string(rune('a'+id-1)))
		h.Level = at
		ok(t, m, register(h))
	}
	lowest, holders := m.LevelHolders()
	if lowest != 5 || len(holders) != 2 || holders[0].ID != 2 || holders[1].ID != 3 {
		t.Errorf("%d, %+v", lowest, holders)
	}
	m.hosts.get(2).Current, m.hosts.get(3).Current = protocol.HostExpelled, protocol.HostExpelled
	if lowest, holders := m.LevelHolders(); lowest != 7 || len(holders) != 1 {
		t.Errorf("expelled hosts hold nothing: %d, %+v", lowest, holders)
	}
}
