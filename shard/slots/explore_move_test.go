package slots

import (
	"flag"
	"testing"
)

// whole explores every interleaving of three moves.
var whole = flag.Bool("whole", false, "explore three moves, which takes minutes")

// bound is how large a world is: shards, moves, mutations, and whether sessions expire.
type bound struct {
	shards, moves, mutations int
	expiries                 bool
}

func (b bound) world(bug mistake) *world {
	return newWorld(bug, b.shards, b.moves, b.mutations, b.expiries)
}

// most exceeds the number of states of every world here.
const most = 20_000_000

func TestNothingGoesWrongInAnyInterleaving(t *testing.T) {
	bounds := []bound{{2, 2, 1, false}, {2, 2, 0, true}, {3, 2, 0, false}}
	if *whole {
		bounds = []bound{{2, 3, 1, false}, {3, 3, 1, false}, {2, 3, 0, true}, {2, 2, 2, true}}
	}
	for _, b := range bounds {
		e := explore(b.world(asDesigned), most)
		if t.Logf("%+v: %v", b, e); e.bad != "" || !e.whole {
			t.Error(e)
		}
	}
}

// TestEveryMistakeIsNoticed: the rules' checks detect each missing rule.
func TestEveryMistakeIsNoticed(t *testing.T) {
	moves, sessions := bound{2, 2, 1, false}, bound{2, 2, 0, true}
	for _, p := range []struct {
		bug mistake
		in  bound
	}{
		{noGeneration, moves}, {oneNumber, moves}, {unseal, moves}, {dropEarly, moves}, {noRefusal, moves},
		{passed, moves}, {numbersStay, moves}, {frozenTables, moves}, {earlyRefused, moves}, {onlyShard, moves},
		{tableBefore, moves}, {expiryByTerm, sessions},
	} {
		e := explore(p.in.world(p.bug), most)
		if t.Logf("%s: %v", p.bug, e); e.bad == "" {
			t.Errorf("%s is not noticed", p.bug)
		}
	}
}
