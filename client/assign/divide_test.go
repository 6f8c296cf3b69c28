package assign

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// taker makes a taker from words: its present parts and its former parts.
func taker(has, had string) Candidate {
	return Candidate{Has: strings.Fields(has), Had: strings.Fields(had)}
}

func TestBalance(t *testing.T) {
	for _, test := range []struct {
		what   string
		parts  string
		takers []Candidate
		want   []string
	}{
		{"one takes all", "a b c", []Candidate{taker("", "")}, []string{"a b c"}},
		{"no parts", "", []Candidate{taker("", ""), taker("", "")}, []string{"", ""}},
		{"more members than parts", "a", []Candidate{taker("", ""), taker("", "")}, []string{"a", ""}},
		{"as many each", "a b c d", []Candidate{taker("", ""), taker("", "")}, []string{"a b", "c d"}},
		{"nothing moves that is balanced", "a b c", []Candidate{taker("c", ""), taker("b a", "")},
			[]string{"c", "b a"}},
		{"one comes", "a b c d", []Candidate{taker("a b c d", ""), taker("", "")}, []string{"a b", "c d"}},
		{"one of three goes", "a b c d e f", []Candidate{taker("a b", ""), taker("e f", "")},
			[]string{"a b c", "e f d"}},
		{"who has one more keeps it", "a b c", []Candidate{taker("a", ""), taker("b c", "")}, []string{"a", "b c"}},
		{"one that comes back", "a b c d", []Candidate{taker("c", ""), taker("", "a d")}, []string{"c b", "a d"}},
		{"it gets the odd one too", "a b c", []Candidate{taker("c", ""), taker("", "a b")}, []string{"c", "a b"}},
		{"it has no more room than others", "a b", []Candidate{taker("", ""), taker("", "a b")}, []string{"b", "a"}},
	} {
		parts := strings.Fields(test.parts)
		shares := Balance(parts, test.takers)
		if err := checkShares(parts, test.takers, shares); err != nil {
			t.Errorf("%s: %v", test.what, err)
		}
		for i, share := range shares {
			if got := strings.Join(share, " "); got != test.want[i] {
				t.Errorf("%s: member %d has %q, want %q", test.what, i, got, test.want[i])
			}
		}
	}
}

// mostKept returns the largest number of parts that can stay, from all ways to give out the odd parts.
func mostKept(parts int, takers []Candidate) int {
	least, more, best := parts/len(takers), parts%len(takers), 0
	for set := range 1 << len(takers) {
		odd, kept := 0, 0
		for i, t := range takers {
			quota := least
			if set>>i&1 == 1 {
				odd++
				quota++
			}
			kept += min(quota, len(t.Has))
		}
		if odd == more {
			best = max(best, kept)
		}
	}
	return best
}

// TestBalanceMovesAsFewAsPossible compares balance with an exhaustive search, on random inputs.
func TestBalanceMovesAsFewAsPossible(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		parts := make([]string, random.IntN(12))
		takers := make([]Candidate, 1+random.IntN(5))
		for i := range parts {
			parts[i] = fmt.Sprint(i)
			to := &takers[random.IntN(len(takers))]
			switch random.IntN(3) {
			case 0:
				to.Has = append(to.Has, parts[i])
			case 1:
				to.Had = append(to.Had, parts[i])
			}
		}
		shares := Balance(parts, takers)
		if err := checkShares(parts, takers, shares); err != nil {
			t.Fatal(err)
		}
		kept, all := 0, 0
		for i, share := range shares {
			all += len(share)
			if n := len(share); n < len(parts)/len(takers) || n > (len(parts)+len(takers)-1)/len(takers) {
				t.Fatalf("%v of %v: %v is not balanced", parts, takers, shares)
			}
			for _, part := range share {
				if slices.Contains(takers[i].Has, part) {
					kept++
				}
			}
		}
		if want := mostKept(len(parts), takers); kept != want || all != len(parts) {
			t.Fatalf("%v of %v: %v keeps %d of %d, can keep %d", parts, takers, shares, kept, all, want)
		}
	}
}

func TestWhatDividesNothingIsRefused(t *testing.T) {
	takers := []Candidate{{Name: "a"}, {Name: "b"}}
	for what, shares := range map[string][][]string{
		"a member is missing": {{"x"}},
		"a part twice":        {{"x"}, {"x"}},
		"a part that is none": {{"z"}, {}},
	} {
		if checkShares([]string{"x", "y"}, takers, shares) == nil {
			t.Errorf("%s: it is taken", what)
		}
	}
	if err := checkShares([]string{"x", "y"}, takers, [][]string{{}, {"x"}}); err != nil {
		t.Errorf("a part without an owner: %v", err)
	}
	if checkParts([]string{"x", "y", "x"}) == nil {
		t.Error("a part that is there twice is taken")
	}
}
