package lease_test

import (
	"flag"
	"math/rand/v2"
	"testing"
)

var (
	modelRuns = flag.Int("model.runs", 400, "how many random runs the model of the safety argument gets")
	modelRare = flag.Bool("model.rare", false, "break the rules, too, whose violations take thousands of runs to find")
	modelSeed = flag.Uint64("model.seed", 0, "seed of the first run; 0 draws one")
)

// TestNoSessionEndsWhoseClientBelieves runs the proof of DESIGN.md as a simulation: hosts are stopped, partitioned and
// elected, with clocks at different speeds; clients are slow, return, and take over each other's sessions; tables and
// holders are real. At no time may a session be due at its leader, or end, while a client believes in it.
func TestNoSessionEndsWhoseClientBelieves(t *testing.T) {
	runs, seed := *modelRuns, *modelSeed
	if testing.Short() {
		runs = min(runs, 40)
	}
	if seed == 0 {
		seed = rand.Uint64N(1 << 40)
	}
	t.Logf("first seed: %d", seed)
	tally := map[string]int{}
	for range runs {
		if violation := newWorld(seed, bugNone, tally).play(); violation != "" {
			t.Fatalf("seed %d: %s", seed, violation)
		}
		seed++
	}
	t.Log(tally)
	for _, v := range []string{
		"led", "deposed", "expired", "expire void", "pong", "pong withheld", "forwarded barrier",
		"forwarded barrier that counts not",
		"taken", "confirmed", "changed timeout", "undecided", "dropped", "attached", "started", "believed to the end",
	} {
		if tally[v] == 0 && runs >= 100 {
			t.Errorf("never seen: %s", v)
		}
	}
}

// TestEachRuleIsNeeded: without any one rule, the model finds a violation.
func TestEachRuleIsNeeded(t *testing.T) {
	type broken struct {
		rule bug
		seed uint64 // first seed to try for a violation; later seeds follow
	}
	all := []broken{
		{bugNoFreshness, 0}, {bugNoGrace, 9}, {bugCountFromReceipt, 1}, {bugLeadBeforeCommit, 133},
		{bugBelievedTerm, 30}, {bugReportedTooSoon, 2}, {bugTimeBeforeReading, 0}, {bugPongForAll, 2},
		{bugDoubtIgnored, 27}, {bugNoMargin, 119}, {bugAnyBarrierCounts, 193},
	}
	if *modelRare { // rare event sequences are in story_test.go
		for _, b := range []bug{bugNewestGrace, bugConfirmedTooSoon, bugLateRestoreIgnored, bugNotSeen} {
			all = append(all, broken{b, 0})
		}
	}
	for _, b := range all {
		t.Run(b.rule.String(), func(t *testing.T) {
			t.Parallel()
			for seed := b.seed; seed < b.seed+20_000; seed++ {
				if violation := newWorld(seed, b.rule, map[string]int{}).play(); violation != "" {
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
)

func (b bug) String() string {
	return [...]string{
		bugNone:               "no rule is broken",
		bugNoFreshness:        "a leader answers only while it is fresh",
		bugNoGrace:            "a new leader adds the grace period",
		bugCountFromReceipt:   "a client counts from sending, not from receipt",
		bugAnyBarrierCounts:   "a barrier counts only if no later leader was seen after it",
		bugLeadBeforeCommit:   "a leader counts from when its lead command was applied",
		bugNewestGrace:        "bounds of grace hold until all hosts know the change",
		bugReportedTooSoon:    "a client is told of a loss before the next pong",
		bugTimeBeforeReading:  "the time of a burst is read after the burst",
		bugPongForAll:         "a pong counts for what was attached when its ping was sent",
		bugDoubtIgnored:       "after an undecided expiry a session is not attachable",
		bugNoMargin:           "a client stops a margin earlier",
		bugLateRestoreIgnored: "a restored session is not older than its restore",
		bugConfirmedTooSoon:   "a host confirms a grace period after it goes by it",
		bugBelievedTerm:       "an expiry is of the term of the table that judged",
		bugNotSeen:            "a later leader's sessions are not attached here",
	}[b]
}
