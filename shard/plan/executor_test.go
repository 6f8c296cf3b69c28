package plan

import (
	"flag"
	"testing"
)

var (
	seedCount = flag.Uint64("seeds", 1000, "how many seeds TestExecutorsMayDieBetweenAnyTwoActs simulates")
	search    = flag.Uint64("search", 0,
		"for each planted bug, how many seeds to look through for the first that notices it")
)

// run simulates one seed and returns the violated invariant, if any, and event counts.
func run(seed uint64, b bug) (broken string, counts map[string]int) {
	s := newSimulation(seed, b)
	defer func() {
		switch v := recover().(type) {
		case nil:
		case violation:
			broken = string(v)
		default:
			panic(v)
		}
	}()
	for range 1500 {
		s.turn()
	}
	s.converge()
	return "", s.counts
}

// TestExecutorsMayDieBetweenAnyTwoActs: leaders change, executors die, reports and changes are lost, late, repeated and
// reordered, time stands still; no invariant is ever broken, and what the operators want comes about.
func TestExecutorsMayDieBetweenAnyTwoActs(t *testing.T) {
	seeds := *seedCount
	if testing.Short() {
		seeds = min(seeds, 100)
	}
	total := map[string]int{}
	for seed := range seeds {
		broken, counts := run(seed, noBug)
		if broken != "" {
			t.Fatalf("seed %d: %s", seed, broken)
		}
		for what, n := range counts {
			total[what] += n
		}
	}
	t.Log(total)
	for _, out := range []Outcome{Applied, OtherTerm, Over, Moved, Replanned} {
		if total[out.String()] < int(seeds) {
			t.Errorf("%q happened %d times in %d seeds: they show too little of it", out, total[out.String()], seeds)
		}
	}
}

// planted are bugs to be detected by the invariants, each with a seed that does.
var planted = map[bug]uint64{bugTermIgnored: 0, bugIDGivenTwice: 0, bugFailuresForgot: 0, bugNoBackoff: 0,
	bugDoneUnseen: 0, bugSubjectShared: 0, bugTakenTwice: 0}

func TestPlantedBugsAreNoticed(t *testing.T) {
	for b := noBug + 1; b < bugs; b++ {
		t.Run(b.String(), func(t *testing.T) {
			seed, known := planted[b]
			for try := range *search {
				if broken, _ := run(try, b); broken != "" {
					t.Logf("seed %d: %s", try, broken)
					return
				}
			}
			if broken, _ := run(seed, b); broken == "" || !known {
				t.Errorf("seed %d does not notice it", seed)
			} else {
				t.Log(broken)
			}
		})
	}
}
