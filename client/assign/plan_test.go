package assign

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// member makes a member from words: its parts as "part:token", with a "-" before parts that are stopping.
func member(id uint64, name, held string) reporter {
	m := reporter{id: id, name: name, report: report{Held: make(map[string]uint64), Stopping: make(map[string]bool)}}
	for _, word := range strings.Fields(held) {
		word, stopping := strings.CutPrefix(word, "-")
		var token uint64
		part, number, _ := strings.Cut(word, ":")
		fmt.Sscan(number, &token)
		m.Held[part], m.Stopping[part] = token, stopping
	}
	return m
}

// lines prints a plan: starts, stops and moves.
func (p *plan) lines() (lines []string) {
	for id, parts := range p.starts {
		lines = append(lines, fmt.Sprintf("%d starts %v", id, parts))
	}
	for id, parts := range p.stops {
		lines = append(lines, fmt.Sprintf("%d stops %v", id, parts))
	}
	for from, moves := range p.moves {
		for to, parts := range moves {
			lines = append(lines, fmt.Sprintf("%d gives %d %v", from, to, parts))
		}
	}
	for _, o := range p.assignment.Owners {
		lines = append(lines, fmt.Sprintf("%s has %v", o.Name, o.Parts))
	}
	if len(p.assignment.Unassigned) > 0 {
		lines = append(lines, fmt.Sprintf("free: %v", p.assignment.Unassigned))
	}
	slices.Sort(lines)
	return lines
}

func TestPlans(t *testing.T) {
	leaving := member(1, "a", "x:5 y:5")
	leaving.Leaving = true
	before := &Assignment{Owners: []Owner{{ID: 1, Name: "b", Parts: []Partition{{"y", 5}}}}}
	for _, test := range []struct {
		what    string
		members []reporter
		before  *Assignment
		want    []string
	}{
		{"the first", []reporter{member(1, "a", "")}, nil, []string{
			"1 starts [x y]", "a has [{x 9} {y 9}]",
		}},
		{"nothing moves", []reporter{member(1, "a", "x:5"), member(2, "b", "y:7")}, nil, []string{
			"a has [{x 5}]", "b has [{y 7}]",
		}},
		{"one comes", []reporter{member(1, "a", "x:5 y:5"), member(2, "b", "")}, nil, []string{
			"1 gives 2 [y]", "1 stops [y]", "a has [{x 5}]", "b has [{y 9}]",
		}},
		{"one has gone", []reporter{member(2, "b", "y:7")}, nil, []string{
			"2 starts [x]", "b has [{y 7} {x 9}]",
		}},
		{"one is leaving", []reporter{leaving, member(2, "b", "")}, nil, []string{
			"1 gives 2 [x y]", "1 stops [x y]", "b has [{x 9} {y 9}]",
		}},
		{"all are leaving", []reporter{leaving}, nil, []string{"1 stops [x y]", "free: [x y]"}},
		{"one is stopping what it is to keep", []reporter{member(1, "a", "-x:5"), member(2, "b", "y:7")}, nil, []string{
			"1 starts [x]", "a has [{x 9}]", "b has [{y 7}]",
		}},
		{"a part that is no more", []reporter{member(1, "a", "x:5 y:5 z:5")}, nil, []string{
			"1 stops [z]", "a has [{x 5} {y 5}]",
		}},
		{"one starts again under its name", []reporter{member(7, "a", ""), member(8, "b", "")}, before, []string{
			"7 starts [x]", "8 starts [y]", "a has [{x 9}]", "b has [{y 9}]",
		}},
	} {
		if test.before == nil {
			test.before = &Assignment{}
		}
		parts := []string{"x", "y"}
		takers := takersOf(parts, test.members, test.before)
		var shares [][]string
		if len(takers) > 0 {
			shares = Balance(parts, takers)
		}
		if got := newPlan(9, parts, test.members, takers, shares).lines(); !slices.Equal(got, test.want) {
			t.Errorf("%s:\n%s\nwant:\n%s", test.what, strings.Join(got, "\n"), strings.Join(test.want, "\n"))
		}
	}
}

// TestPlansGiveNoPartToTwo carries out random plans partly. A part never has two members, a part's tokens grow, and a
// completed plan results in its assignment.
func TestPlansGiveNoPartToTwo(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	parts := []string{"a", "b", "c", "d", "e", "f", "g"}
	members := make(map[uint64]map[string]uint64) // what each has
	tokens := make(map[string]uint64)
	start := func(id uint64, part string, token uint64) {
		for other, held := range members {
			if _, has := held[part]; has && other != id {
				t.Fatalf("%s is started by %d, and %d has it", part, id, other)
			}
		}
		if _, has := members[id][part]; !has {
			if token <= tokens[part] {
				t.Fatalf("%s has the token %d after %d", part, token, tokens[part])
			}
			members[id][part], tokens[part] = token, token
		}
	}
	for epoch := uint64(1); epoch < 5000; epoch++ {
		if random.IntN(3) == 0 || len(members) == 0 {
			members[epoch*10] = make(map[string]uint64)
		}
		var reporters []reporter
		for id, held := range members {
			if random.IntN(4) == 0 && len(members) > 1 {
				delete(members, id)
				continue
			}
			reporters = append(reporters, reporter{id: id, report: report{Held: maps.Clone(held)}})
		}
		slices.SortFunc(reporters, func(a, b reporter) int { return int(a.id) - int(b.id) })
		takers := takersOf(parts, reporters, &Assignment{})
		p := newPlan(epoch, parts, reporters, takers, Balance(parts, takers))
		for id, share := range p.starts {
			for _, part := range share {
				start(id, part, epoch)
			}
		}
		whole := true
		for id, stops := range p.stops {
			if random.IntN(3) == 0 {
				whole = false // the epoch ends first
				continue
			}
			for _, part := range stops {
				delete(members[id], part)
			}
			for to, moved := range p.moves[id] {
				for _, part := range moved {
					start(to, part, epoch)
				}
			}
		}
		if !whole {
			continue
		}
		for _, o := range p.assignment.Owners {
			for _, part := range o.Parts {
				start(o.ID, part.Name, part.Token)
				if members[o.ID][part.Name] != part.Token {
					t.Fatalf("%d has %v, and %v in the assignment", o.ID, members[o.ID], part)
				}
			}
			if len(members[o.ID]) != len(o.Parts) {
				t.Fatalf("%d has %v, and %v in the assignment", o.ID, members[o.ID], o.Parts)
			}
		}
	}
}

func TestAssignmentsAreReadAsTheyWereKept(t *testing.T) {
	a := Assignment{Epoch: 9, Unassigned: []string{"z"}, Owners: []Owner{
		{ID: 1, Name: "a", Parts: []Partition{{"w", 9}, {"x", 5}, {"y", 5}}}, {ID: 2, Name: "b"},
	}}
	data, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"epoch":9,"owners":[{"id":1,"name":"a","parts":{"5":["x","y"],"9":["w"]}},{"id":2,"name":"b"}],"free":["z"]}`
	if string(data) != want {
		t.Errorf("it is kept as %s", data)
	}
	var b Assignment
	if err := json.Unmarshal(data, &b); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(a) != fmt.Sprint(b) {
		t.Errorf("%v is read as %v", a, b)
	}
	if o, p := b.OwnerOf("x"); o == nil || o.ID != 1 || p.Token != 5 {
		t.Errorf("x is that of %v, %v", o, p)
	}
	if o, _ := b.OwnerOf("z"); o != nil || len(b.Of(2)) != 0 || len(b.Of(3)) != 0 {
		t.Error("what has no owner has one")
	}
}
