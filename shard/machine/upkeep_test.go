package machine

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/machine/machinetest"
)

// sessionCommands are client commands without a named object.
var sessionCommands = map[shard.CommandKind]bool{
	shard.CmdSessionCreate: true, shard.CmdSessionUpdate: true, shard.CmdSessionEnd: true,
	shard.CmdSessionNumbers: true,
}

// eachUpkeep calls f for every command proposed by a leader without a client request.
func eachUpkeep(f func(k shard.CommandKind, u *Upkeep)) {
	for k := range TestKinds.upkeeps {
		if TestKinds.upkeeps[k].Run != nil {
			f(shard.CommandKind(k), &TestKinds.upkeeps[k])
		}
	}
}

// movesSlots reports whether a command moves a slot.
func movesSlots(k shard.CommandKind) bool {
	return k >= shard.CmdSlotSeal && k <= shard.CmdSlotSupersede
}

// shownUpkeep is a row in DESIGN.md's upkeep table.
type shownUpkeep struct{ proposed, term, work, late, lost string }

// tableOfUpkeep returns the rows of DESIGN.md's upkeep table, by command.
func tableOfUpkeep(t *testing.T) map[string]shownUpkeep {
	t.Helper()
	page, err := os.ReadFile("../DESIGN.md")
	if err != nil {
		t.Fatal(err)
	}
	head := "| command | proposed | carries the term | work | late, or twice | lost, or refused |\n"
	_, table, found := strings.Cut(string(page), head)
	if table, _, _ = strings.Cut(table, "\n\n"); !found {
		t.Fatal("DESIGN.md has no table of upkeep")
	}
	rows := make(map[string]shownUpkeep)
	for _, line := range strings.Split(table, "\n")[1:] {
		cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(line, "| "), " |"), " | ")
		if len(cells) != 6 || slices.Contains(cells, "") {
			t.Fatalf("DESIGN.md has the row %s", line)
		}
		rows[strings.Trim(cells[0], "`")] = shownUpkeep{cells[1], cells[2], cells[3], cells[4], cells[5]}
	}
	return rows
}

// TestEveryCommandIsOfAClientOrUpkeep: no command is both, and DESIGN.md describes every upkeep command: when it is
// proposed, whether it carries the term, its work, and the effect of a late or lost command.
func TestEveryCommandIsOfAClientOrUpkeep(t *testing.T) {
	shown := tableOfUpkeep(t)
	for i, row := range shard.Commands {
		k, name := shard.CommandKind(i), row.Name
		if name == "" {
			continue
		}
		u := &TestKinds.upkeeps[k]
		client := sessionCommands[k] || TestKinds.mutations[k].Run != nil
		if client == (u.Run != nil) {
			t.Errorf("%v is of a client %v, and upkeep %v", k, client, !client)
		}
		row, is := shown[name]
		delete(shown, name)
		term := "no"
		if u.Fenced || k == shard.CmdLead {
			term = "yes"
		}
		if is != (u.Run != nil) || is && row.term != term {
			t.Errorf("%v has in DESIGN.md the row %q", k, row)
		}
	}
	if len(shown) > 0 {
		t.Errorf("DESIGN.md has rows of no command: %v", shown)
	}
}

// proposals parses the host packages, and returns the proposed commands, and whether each is proposed with a term.
func proposals(t *testing.T) (made, withTerm map[string]bool) {
	made, withTerm = make(map[string]bool), make(map[string]bool)
	err := filepath.WalkDir("../../server", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			literal, is := n.(*ast.CompositeLit)
			if !is || !named(literal.Type, "shard", "Command") {
				return true
			}
			kind, term := "", false
			for _, e := range literal.Elts {
				field := e.(*ast.KeyValueExpr)
				switch field.Key.(*ast.Ident).Name {
				case "Kind":
					if constant, is := field.Value.(*ast.SelectorExpr); is { // else it is of a table of mutations
						kind = constant.Sel.Name
					}
				case "Term":
					term = true
				}
			}
			made[kind] = true
			withTerm[kind] = withTerm[kind] || term
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return made, withTerm
}

// named reports whether an expression is the given name from a package.
func named(e ast.Expr, pkg, name string) bool {
	s, is := e.(*ast.SelectorExpr)
	if !is || s.Sel.Name != name {
		return false
	}
	x, is := s.X.(*ast.Ident)
	return is && x.Name == pkg
}

// kindIdentifiers returns the command kinds by their names in the code.
func kindIdentifiers(t *testing.T) map[string]shard.CommandKind {
	kinds := make(map[string]shard.CommandKind)
	files, err := filepath.Glob("../*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, is := n.(*ast.ValueSpec)
			if !is || len(spec.Values) != 1 {
				return true
			}
			if of, is := spec.Type.(*ast.Ident); is && of.Name == "CommandKind" {
				number, err := strconv.Atoi(spec.Values[0].(*ast.BasicLit).Value)
				if err != nil {
					t.Fatal(err)
				}
				kinds[spec.Names[0].Name] = shard.CommandKind(number)
			}
			return true
		})
	}
	return kinds
}

// TestUpkeepIsWhatHostsPropose: the host proposes every command in the table. A command carries a term only if the
// table requires a term.
func TestUpkeepIsWhatHostsPropose(t *testing.T) {
	made, withTerm := proposals(t)
	kinds := kindIdentifiers(t)
	if len(kinds) < 15 || len(made) < 12 {
		t.Fatalf("%d kinds of commands, %d are made: the sources are read wrongly", len(kinds), len(made))
	}
	for name, k := range kinds {
		u := &TestKinds.upkeeps[k]
		if u.Run == nil || movesSlots(k) { // no host moves slots yet
			continue
		}
		if !made[name] {
			t.Errorf("no host proposes %s", name)
		}
		if want := u.Fenced || k == shard.CmdLead; withTerm[name] != want {
			t.Errorf("%s carries a term: %v; want %v", name, withTerm[name], want)
		}
	}
}

// TestUpkeepOfAnotherTermIsStale: a leader's decision has no effect in a different term.
func TestUpkeepOfAnotherTermIsStale(t *testing.T) {
	m := New(TestKinds, Options{})
	newBusy(m, 5).steps(60)
	bed := &bed{machinetest.New(m, 0)}
	const term = 1 << 40
	bed.Do(shard.Command{Kind: shard.CmdLead, Term: term})
	bed.One.Stamp = clock.Stamp{Term: term} // else all of them are refused
	before := m.Digest()
	eachUpkeep(func(k shard.CommandKind, u *Upkeep) {
		for _, other := range []uint64{0, term - 1, term + 1} {
			if !u.Fenced && (k != shard.CmdLead || other > term) {
				continue
			}
			bed.Do(shard.Command{Level: m.Level(), Kind: k, Term: other})
			if got := bed.Result().Status; got != protocol.StatusStale {
				t.Errorf("%v of term %d: %v", k, other, got)
			}
		}
	})
	if m.Digest() != before {
		t.Error("a command of another term changed something")
	}
}

// TestUpkeepOfALeaderThatIsOverHasNoEffect: in a batch from a former leader, or without a leader, all commands except
// lead are refused, with or without a term.
func TestUpkeepOfALeaderThatIsOverHasNoEffect(t *testing.T) {
	m := New(TestKinds, Options{})
	newBusy(m, 6).steps(60)
	bed := &bed{machinetest.New(m, 0)}
	const term = 1 << 40
	bed.Do(shard.Command{Kind: shard.CmdLead, Term: term})
	before := m.Digest()
	for _, of := range []uint64{0, term - 1, term + 1} {
		bed.One.Stamp = clock.Stamp{Term: of, Elapsed: 1}
		if of == 0 {
			bed.One.Stamp = clock.Stamp{}
		}
		eachUpkeep(func(k shard.CommandKind, u *Upkeep) {
			if k == shard.CmdLead {
				return
			}
			bed.Do(shard.Command{Level: level.First, Kind: k, Term: term, Node: 1, Count: 1})
			if got := bed.Result().Status; got != protocol.StatusUnavailable || len(bed.Out.List) != 1 {
				t.Errorf("%v in a batch of term %d: %v", k, of, got)
			}
		})
	}
	if m.Digest() != before {
		t.Error("a batch of a leader that is over changed something")
	}
}

// heavyUpkeep are commands of every kind, each on a shard with more work than a single command may do.
func heavyUpkeep() map[shard.CommandKind]func() (*bed, shard.Command) {
	const n = 3 * shard.MaxTouched
	of := func(c shard.Command) func() (*bed, shard.Command) {
		return func() (*bed, shard.Command) {
			b := newestBed(2)
			b.ephemerals(0, n)
			return b, c
		}
	}
	all := map[shard.CommandKind]func() (*bed, shard.Command){
		shard.CmdLead:          of(shard.Command{Kind: shard.CmdLead, Term: 7}),
		shard.CmdLevel:         of(shard.Command{Kind: shard.CmdLevel, Count: uint64(level.Newest)}),
		shard.CmdDigestTake:    of(shard.Command{Kind: shard.CmdDigestTake, Count: 1}),
		shard.CmdDigestCompare: of(shard.Command{Kind: shard.CmdDigestCompare, Count: 1, Sum: 2}),
		shard.CmdNodeLimits:    of(shard.Command{Kind: shard.CmdNodeLimits, Node: 3, Count: 5}),
		shard.CmdGroupWait:     of(shard.Command{Kind: shard.CmdGroupWait, Count: 1, Timeout: 5}),
		shard.CmdContinue: func() (*bed, shard.Command) {
			b, _ := of(shard.Command{})()
			b.Do(shard.Command{Kind: shard.CmdSessionEnd, Session: b.IDs[0]})
			return b, shard.Command{Kind: shard.CmdContinue}
		},
		shard.CmdSessionsForget: func() (*bed, shard.Command) {
			var home shard.SlotSet
			home.Add(shard.Slots/2, shard.Slots-1)
			b := &bed{machinetest.New(New(TestKinds, Options{Slots: home}), 0)}
			b.Do(shard.Command{Kind: shard.CmdLevel, Count: uint64(level.Newest)})
			b.At = level.Newest
			var remotes []shard.SessionID
			for i := range shard.MaxList {
				id := shard.NewSessionID(shard.Slot(i%int(shard.Slots/2)), uint64(i)+1)
				remotes = append(remotes, id)
				name := fmt.Appendf(nil, "g%d", i)
				for shard.SlotOf(1, name) < shard.Slots/2 {
					name = append(name, '+')
				}
				b.Do(shard.Command{Kind: shard.CmdAcquire, Session: id, Number: 1, Node: 1, Name: name, Count: 1,
					Flags: shard.FlagEphemeral})
			}
			return b, shard.Command{Kind: shard.CmdSessionsForget, Sessions: remotes}
		},
	}
	for _, burden := range burdens {
		b := newestBed(n + 1)
		burden.make(b, n)
		if c := burden.run(b, n); TestKinds.upkeeps[c.Kind].Run != nil {
			all[c.Kind] = func() (*bed, shard.Command) { return b, c }
		}
	}
	return all
}

// runUpkeep repeats a command until no work is left, and returns the maximum number of links touched by one command,
// and the maximum pieces of work.
func (b *bed) runUpkeep(c shard.Command) (touched, pieces int) {
	step := func(c shard.Command) {
		b.Do(c)
		touched, pieces = max(touched, b.M.core.Run.Touched), max(pieces, shard.MaxWork-b.M.core.Run.Left)
	}
	for step(c); b.Result().Flags&shard.FlagMore != 0; {
		step(c)
	}
	for b.M.Pending() > 0 {
		step(shard.Command{Kind: shard.CmdContinue})
	}
	return touched, pieces
}

// TestUpkeepIsBoundedAndComesTwiceWithoutHarm: each command kind, with the maximum amount of work, touches few links at
// a time, or none if its row requires none. Repeated after all work is done, the command changes nothing.
func TestUpkeepIsBoundedAndComesTwiceWithoutHarm(t *testing.T) {
	heavy, shown := heavyUpkeep(), tableOfUpkeep(t)
	eachUpkeep(func(k shard.CommandKind, _ *Upkeep) {
		if movesSlots(k) {
			return // with limits of their own; see slot_test.go
		}
		make, noWork := heavy[k], shown[shard.Commands[k].Name].work == "none"
		if make == nil {
			t.Errorf("%v is not in this test", k)
			return
		}
		b, c := make()
		touched, pieces := b.runUpkeep(c)
		switch {
		case touched > shard.MaxTouched:
			t.Errorf("%v touches %d links", k, touched)
		case noWork && touched+pieces > 0:
			t.Errorf("%v touches %d links, does %d pieces of work, and its row says none", k, touched, pieces)
		case pieces > shard.MaxWork+1: // the last may go with what it leaves empty
			t.Errorf("%v does %d pieces of work", k, pieces)
		case !noWork && pieces < shard.MaxWork/4:
			t.Errorf("%v does no more than %d pieces of work: there was too little to do", k, pieces)
		}
		before := b.M.Digest()
		if b.Do(c); len(b.Out.List) != 1 || b.Result().Flags&shard.FlagMore != 0 || b.M.Digest() != before {
			t.Errorf("%v: once more it yields %+v", k, b.Out.List)
		}
	})
}
