package shard

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
	"github.com/signalbox/signalbox/shard/clock"
)

// sessionCommands are the commands of clients that are not on a named object.
var sessionCommands = map[CommandKind]bool{
	CmdSessionCreate: true, CmdSessionUpdate: true, CmdSessionEnd: true, CmdSessionNumbers: true,
}

// eachUpkeep calls f for every command that a leader proposes by itself.
func eachUpkeep(f func(k CommandKind, u *upkeep)) {
	for k := range upkeeps {
		if upkeeps[k].run != nil {
			f(CommandKind(k), &upkeeps[k])
		}
	}
}

// shownUpkeep is a row of the table of upkeep in DESIGN.md.
type shownUpkeep struct{ proposed, term, work, late, lost string }

// tableOfUpkeep returns the rows of the table of upkeep in DESIGN.md by command.
func tableOfUpkeep(t *testing.T) map[string]shownUpkeep {
	t.Helper()
	page, err := os.ReadFile("DESIGN.md")
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

// TestEveryCommandIsOfAClientOrUpkeep: nothing is both, and DESIGN.md says of what is upkeep all that a reader must
// know: when it is proposed, whether it carries the term, its work, and what one that is late or lost does.
func TestEveryCommandIsOfAClientOrUpkeep(t *testing.T) {
	shown := tableOfUpkeep(t)
	for i, name := range commandNames {
		k := CommandKind(i)
		if name == "" {
			continue
		}
		u := &upkeeps[k]
		client := sessionCommands[k] || mutations[k].run != nil
		if client == (u.run != nil) {
			t.Errorf("%v is of a client %v, and upkeep %v", k, client, !client)
		}
		row, is := shown[name]
		delete(shown, name)
		term := "no"
		if u.fenced || k == CmdLead {
			term = "yes"
		}
		if is != (u.run != nil) || is && row.term != term {
			t.Errorf("%v has in DESIGN.md the row %q", k, row)
		}
	}
	if len(shown) > 0 {
		t.Errorf("DESIGN.md has rows of no command: %v", shown)
	}
}

// proposals reads the sources of the host, and returns which commands they make, and which of these with a term.
func proposals(t *testing.T) (made, withTerm map[string]bool) {
	made, withTerm = make(map[string]bool), make(map[string]bool)
	err := filepath.WalkDir("../server", func(path string, d fs.DirEntry, err error) error {
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

// named reports whether an expression is that name of a package.
func named(e ast.Expr, pkg, name string) bool {
	s, is := e.(*ast.SelectorExpr)
	if !is || s.Sel.Name != name {
		return false
	}
	x, is := s.X.(*ast.Ident)
	return is && x.Name == pkg
}

// kindIdentifiers returns the kinds of commands by their names in the code.
func kindIdentifiers(t *testing.T) map[string]CommandKind {
	kinds := make(map[string]CommandKind)
	files, err := filepath.Glob("*.go")
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
				kinds[spec.Names[0].Name] = CommandKind(number)
			}
			return true
		})
	}
	return kinds
}

// TestUpkeepIsWhatHostsPropose: every command of the table is proposed somewhere in the host, and carries a term where
// the table says so, and nowhere else.
func TestUpkeepIsWhatHostsPropose(t *testing.T) {
	made, withTerm := proposals(t)
	kinds := kindIdentifiers(t)
	if len(kinds) < 15 || len(made) < 12 {
		t.Fatalf("%d kinds of commands, %d are made: the sources are read wrongly", len(kinds), len(made))
	}
	for name, k := range kinds {
		u := &upkeeps[k]
		if u.run == nil {
			continue
		}
		if !made[name] {
			t.Errorf("no host proposes %s", name)
		}
		if want := u.fenced || k == CmdLead; withTerm[name] != want {
			t.Errorf("%s carries a term: %v; want %v", name, withTerm[name], want)
		}
	}
}

// TestUpkeepOfAnotherTermIsStale: what a leader decided has no effect under another one.
func TestUpkeepOfAnotherTermIsStale(t *testing.T) {
	m := New(Options{})
	newBusy(m, 5).steps(60)
	bed := &bed{m: m, one: Batch{Commands: make([]Command, 1)}}
	const term = 1 << 40
	bed.do(Command{Kind: CmdLead, Term: term})
	bed.one.Stamp = clock.Stamp{Term: term} // else all of them are refused
	before := m.Digest()
	eachUpkeep(func(k CommandKind, u *upkeep) {
		for _, other := range []uint64{0, term - 1, term + 1} {
			if !u.fenced && (k != CmdLead || other > term) {
				continue
			}
			bed.do(Command{Level: m.Level(), Kind: k, Term: other})
			if got := bed.result().Status; got != protocol.StatusStale {
				t.Errorf("%v of term %d: %v", k, other, got)
			}
		}
	})
	if m.Digest() != before {
		t.Error("a command of another term changed something")
	}
}

// TestUpkeepOfALeaderThatIsOverHasNoEffect: in a batch of an earlier leader, or of none, everything but the beginning
// of a term is refused, whether or not it carries a term.
func TestUpkeepOfALeaderThatIsOverHasNoEffect(t *testing.T) {
	m := New(Options{})
	newBusy(m, 6).steps(60)
	bed := &bed{m: m, one: Batch{Commands: make([]Command, 1)}}
	const term = 1 << 40
	bed.do(Command{Kind: CmdLead, Term: term})
	before := m.Digest()
	for _, of := range []uint64{0, term - 1, term + 1} {
		bed.one.Stamp = clock.Stamp{Term: of, Elapsed: 1}
		if of == 0 {
			bed.one.Stamp = clock.Stamp{}
		}
		eachUpkeep(func(k CommandKind, u *upkeep) {
			if k == CmdLead {
				return
			}
			bed.do(Command{Level: level.First, Kind: k, Term: term, Node: 1, Count: 1})
			if got := bed.result().Status; got != protocol.StatusUnavailable || len(bed.out.List) != 1 {
				t.Errorf("%v in a batch of term %d: %v", k, of, got)
			}
		})
	}
	if m.Digest() != before {
		t.Error("a batch of a leader that is over changed something")
	}
}

// heavyUpkeep are commands of every kind, each on a shard where there is more to do than one may.
func heavyUpkeep() map[CommandKind]func() (*bed, Command) {
	const n = 3 * MaxTouched
	of := func(c Command) func() (*bed, Command) {
		return func() (*bed, Command) {
			b := newestBed(2)
			b.ephemerals(0, n)
			return b, c
		}
	}
	all := map[CommandKind]func() (*bed, Command){
		CmdLead:          of(Command{Kind: CmdLead, Term: 7}),
		CmdLevel:         of(Command{Kind: CmdLevel, Count: uint64(level.Newest)}),
		CmdDigestTake:    of(Command{Kind: CmdDigestTake, Count: 1}),
		CmdDigestCompare: of(Command{Kind: CmdDigestCompare, Count: 1, Sum: 2}),
		CmdNodeLimits:    of(Command{Kind: CmdNodeLimits, Node: 3, Count: 5}),
		CmdGroupWait:     of(Command{Kind: CmdGroupWait, Count: 1, Timeout: 5}),
		CmdDue: func() (*bed, Command) {
			b := newestBed(1)
			b.do(Command{Kind: CmdLead, Term: 1})
			for i := range n {
				b.one.Stamp = clock.Stamp{Term: 1}
				b.do(Command{Kind: cmdRing, Node: 1, Name: fmt.Appendf(nil, "bell/%d", i), Timeout: 1})
			}
			b.one.Stamp.Elapsed = 10
			return b, Command{Kind: CmdDue, Term: 1}
		},
		CmdContinue: func() (*bed, Command) {
			b, _ := of(Command{})()
			b.do(Command{Kind: CmdSessionEnd, Session: b.ids[0]})
			return b, Command{Kind: CmdContinue}
		},
		CmdSessionsForget: func() (*bed, Command) {
			var home SlotSet
			home.Add(Slots/2, Slots-1)
			b := &bed{m: New(Options{Slots: home}), one: Batch{Commands: make([]Command, 1)}}
			b.do(Command{Kind: CmdLevel, Count: uint64(level.Newest)})
			b.at = level.Newest
			var guests []SessionID
			for i := range MaxList {
				id := NewSessionID(Slot(i%int(Slots/2)), uint64(i)+1)
				guests = append(guests, id)
				name := fmt.Appendf(nil, "g%d", i)
				for SlotOf(1, name) < Slots/2 {
					name = append(name, '+')
				}
				b.do(Command{Kind: CmdAcquire, Session: id, Number: 1, Node: 1, Name: name, Count: 1,
					Flags: FlagEphemeral})
			}
			return b, Command{Kind: CmdSessionsForget, Sessions: guests}
		},
	}
	for _, burden := range burdens {
		b := newestBed(n + 1)
		burden.make(b, n)
		if c := burden.run(b, n); upkeeps[c.Kind].run != nil {
			all[c.Kind] = func() (*bed, Command) { return b, c }
		}
	}
	return all
}

// runUpkeep proposes a command until it has nothing left to do, and returns the most links that one touched, and the
// most pieces of work that one did.
func (b *bed) runUpkeep(c Command) (touched, pieces int) {
	step := func(c Command) {
		b.do(c)
		touched, pieces = max(touched, b.m.touched), max(pieces, MaxWork-b.m.left)
	}
	for step(c); b.result().Flags&FlagMore != 0; {
		step(c)
	}
	for b.m.Pending() > 0 {
		step(Command{Kind: CmdContinue})
	}
	return touched, pieces
}

// TestUpkeepIsBoundedAndComesTwiceWithoutHarm: each kind, with as much to do as there may be, touches few links at a
// time, none where its row says so; and once more, when all is done, it changes nothing.
func TestUpkeepIsBoundedAndComesTwiceWithoutHarm(t *testing.T) {
	heavy, shown := heavyUpkeep(), tableOfUpkeep(t)
	eachUpkeep(func(k CommandKind, _ *upkeep) {
		make, noWork := heavy[k], shown[commandNames[k]].work == "none"
		if make == nil {
			t.Errorf("%v is not in this test", k)
			return
		}
		b, c := make()
		touched, pieces := b.runUpkeep(c)
		switch {
		case touched > MaxTouched:
			t.Errorf("%v touches %d links", k, touched)
		case noWork && touched+pieces > 0:
			t.Errorf("%v touches %d links, does %d pieces of work, and its row says none", k, touched, pieces)
		case pieces > MaxWork+1: // the last may go with what it leaves empty
			t.Errorf("%v does %d pieces of work", k, pieces)
		case !noWork && pieces < MaxWork/4:
			t.Errorf("%v does no more than %d pieces of work: there was too little to do", k, pieces)
		}
		before := b.m.Digest()
		if b.do(c); len(b.out.List) != 1 || b.result().Flags&FlagMore != 0 || b.m.Digest() != before {
			t.Errorf("%v: once more it yields %+v", k, b.out.List)
		}
	})
}
