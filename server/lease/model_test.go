package lease_test

import (
	"flag"
	"math/rand/v2"
	"slices"
	"testing"
)

var (
	modelRuns = flag.Int("model.runs", 400, "how many random runs the model of the safety argument gets")
	modelRare = flag.Bool("model.rare", false, "break the rules, too, whose violations take thousands of runs to find")
	modelSeed = flag.Uint64("model.seed", 0, "seed of the first run; 0 draws one")
)

// TestNoSessionEndsWhoseClientBelieves runs the proof of DESIGN.md as a simulation: hosts are stopped, partitioned and
// elected, with clocks at different speeds; clients are slow, return, and take over each other's sessions; slots move
// between two shards; tables and holders are real. At no time may a session be due at its leader, or end, while a
// client believes in it.
func TestNoSessionEndsWhoseClientBelieves(t *testing.T) {
	runs, seed := *modelRuns, *modelSeed
	if testing.Short() {
		runs = min(runs, 40)
	}
	if seed == 0 {
		seed = rand.Uint64N(1 << 40)
	}
	t.Logf("first seed: %d", seed)
	seen := []string{
		"led", "deposed", "expired", "expire void", "pong", "pong withheld", "forwarded barrier",
		"forwarded barrier that counts not",
		"taken", "confirmed", "changed timeout", "undecided", "dropped", "attached", "started", "believed to the end",
	}
	first := seed
	for _, moves := range []bool{false, true} {
		tally := map[string]int{}
		for seed := seed; seed < first+uint64(runs); seed++ {
			if violation := newWorld(seed, bugNone, moves, tally).play(); violation != "" {
				t.Fatalf("seed %d, with moves %v: %s", seed, moves, violation)
			}
		}
		t.Log(tally)
		if moves {
			seen = append(seen, "moved", "taken back", "redirected", "sessions lost with a slot",
				"expire void by the change count", "applied without effect")
		}
		for _, v := range seen {
			if tally[v] == 0 && runs >= 100 {
				t.Errorf("never seen with moves %v: %s", moves, v)
			}
		}
	}
}

// TestEachRuleIsNeeded: without any one rule, the model finds a violation.
func TestEachRuleIsNeeded(t *testing.T) {
	type broken struct {
		rule bug
		seed uint64 // first seed to try for a violation; later seeds follow
	}
	moves := []broken{
		{bugKeptAfterSeal, 8}, {bugArrivedWithoutGrace, 80}, {bugExpiryByTerm, 4}, {bugUnreportedSeal, 200},
	}
	all := []broken{
		{bugNoFreshness, 13}, {bugNoGrace, 9}, {bugCountFromReceipt, 3}, {bugLeadBeforeCommit, 452},
		{bugBelievedTerm, 31}, {bugReportedTooSoon, 6}, {bugTimeBeforeReading, 0}, {bugPongForAll, 2},
		{bugDoubtIgnored, 35}, {bugNoMargin, 154}, {bugAnyBarrierCounts, 356},
	}
	if *modelRare { // rare event sequences are in story_test.go
		for _, b := range []bug{bugNewestGrace, bugConfirmedTooSoon, bugLateRestoreIgnored, bugNotSeen} {
			all = append(all, broken{b, 0})
		}
		moves = append(moves, broken{bugEarlierCallback, 0})
	}
	for _, b := range append(all, moves...) {
		t.Run(b.rule.String(), func(t *testing.T) {
			t.Parallel()
			for seed := b.seed; seed < b.seed+20_000; seed++ {
				w := newWorld(seed, b.rule, slices.Contains(moves, b), map[string]int{})
				if violation := w.play(); violation != "" {
					t.Logf("seed %d: %s", seed, violation)
					return
				}
			}
			t.Error("the model does not notice")
		})
	}
}

// bug is a deliberately broken rule.
type bug int

const (
	bugNone bug = iota
	bugNoFreshness
	bugNoGrace
	bugCountFromReceipt
	bugAnyBarrierCounts
	bugLeadBeforeCommit
	bugNewestGrace
	bugReportedTooSoon
	bugTimeBeforeReading
	bugPongForAll
	bugDoubtIgnored
	bugNoMargin
	bugLateRestoreIgnored
	bugConfirmedTooSoon
	bugBelievedTerm
	bugNotSeen
	bugKeptAfterSeal
	bugArrivedWithoutGrace
	bugExpiryByTerm
	bugEarlierCallback
	bugUnreportedSeal
)

func (b bug) String() string {
	return [...]string{
		bugNone:                "no rule is broken",
		bugNoFreshness:         "a leader answers only while it is fresh",
		bugNoGrace:             "a new leader adds the grace period",
		bugCountFromReceipt:    "a client counts from sending, not from receipt",
		bugAnyBarrierCounts:    "a barrier counts only if no later leader was seen after it",
		bugLeadBeforeCommit:    "a leader counts from when its lead command was applied",
		bugNewestGrace:         "bounds of grace hold until all hosts know the change",
		bugReportedTooSoon:     "a client is told of a loss before the next pong",
		bugTimeBeforeReading:   "the time of a burst is read after the burst",
		bugPongForAll:          "a pong counts for what was attached when its ping was sent",
		bugDoubtIgnored:        "after an undecided expiry a session is not attachable",
		bugNoMargin:            "a client stops a margin earlier",
		bugLateRestoreIgnored:  "a restored session is not older than its restore",
		bugConfirmedTooSoon:    "a host confirms a grace period after it goes by it",
		bugBelievedTerm:        "an expiry is of the term of the table that judged",
		bugNotSeen:             "a later leader's sessions are not attached here",
		bugKeptAfterSeal:       "a table forgets the sessions of a slot that has left",
		bugArrivedWithoutGrace: "sessions of a slot that has arrived get the grace period",
		bugExpiryByTerm:        "an expiry is of the change count of the table that judged",
		bugEarlierCallback:     "an outcome of an earlier change count is ignored if the slot has arrived since",
		bugUnreportedSeal:      "a barrier counts only if the table knows which slots have left",
	}[b]
}
