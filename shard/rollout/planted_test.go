package rollout

import (
	"fmt"
	"strings"
	"testing"
)

// bug is a deliberately broken model rule, to be detected by random commands.
type bug int

const (
	bugNone         bug = iota
	bugMillisecond      // times are clock readings, so that delays are up to a millisecond short
	bugFollowers        // followers count
	bugEmpty            // a location without leaders has reached everything
	bugGeneration       // reports on an older target count
	bugAbandoned        // given-up versions flow on
	bugWithdrawn        // withdrawn versions are chosen
	bugAssigned         // delays count from the assignment
	bugOldest           // the oldest version that is old enough is chosen
	bugBypass           // a bypassed location's delay is lost
	bugInherited        // a removed location's delay is lost
	bugGates            // gates stay passed for the next target
	bugStaleVerdict     // a verdict on another version counts
	bugPause            // a pause holds nothing
	bugInterval         // versions are given up without a pause between
	bugMax              // versions are given up for ever
	bugAttempts         // a version is given up one attempt early
	bugNewcomer         // a follower makes a healthy location give up its version
	bugDeadCounts       // an instance with an ended session counts
	bugBirth            // a location without instances gets a target
	bugBar              // after a roll-back the same version returns
	bugTickets          // several questions to the source are open
	bugRetention        // a version awaited by the next location is dropped
	bugBack             // a location may be given an older version
	bugAgain            // a rolled-back or given-up version returns
	bugFence            // a publisher with an outdated token is accepted
	bugs
)

// planted lists for each bug the run that detects it by comparison with the rollout, and, for invariant violations, the
// run that violates the invariant if the model is judged by the invariants alone.
var planted = [bugs]struct {
	seed      uint64
	invariant string
	breaks    uint64
}{
	bugMillisecond:  {seed: 1},
	bugFollowers:    {seed: 1, invariant: "I8", breaks: 1},
	bugEmpty:        {seed: 2, invariant: "I8", breaks: 2},
	bugGeneration:   {seed: 18, invariant: "I8", breaks: 18},
	bugAbandoned:    {seed: 4, invariant: "I2", breaks: 4},
	bugWithdrawn:    {seed: 58, invariant: "I2", breaks: 58},
	bugAssigned:     {seed: 1, invariant: "I2", breaks: 1},
	bugOldest:       {seed: 1},
	bugBypass:       {seed: 4, invariant: "I2", breaks: 4},
	bugInherited:    {seed: 6},
	bugGates:        {seed: 3},
	bugStaleVerdict: {seed: 1},
	bugPause:        {seed: 23, invariant: "I7", breaks: 56},
	bugInterval:     {seed: 8},
	bugMax:          {seed: 2},
	bugAttempts:     {seed: 1},
	bugNewcomer:     {seed: 2},
	bugDeadCounts:   {seed: 9, invariant: "I3", breaks: 47},
	bugBirth:        {seed: 2},
	bugBar:          {seed: 1},
	bugTickets:      {seed: 9, invariant: "I9", breaks: 9},
	bugRetention:    {seed: 3},
	bugBack:         {seed: 3, invariant: "I1", breaks: 3},
	bugFence:        {seed: 1},
	bugAgain:        {seed: 8, invariant: "I5", breaks: 18},
}

func TestPlantedBugsAreNoticed(t *testing.T) {
	if testing.Short() {
		t.Skip("plays many runs of a machine, which one goroutine carries out")
	}
	for b := bugNone + 1; b < bugs; b++ {
		p := planted[b]
		if err := playRandomly(p.seed, b, false, make(map[string]int)); err == nil {
			t.Errorf("bug %d is not noticed by seed %d%s", b, p.seed, search(b, false))
		}
		if p.invariant == "" {
			continue
		}
		err := playRandomly(p.breaks, b, true, make(map[string]int))
		if err == nil || !strings.Contains(err.Error(), p.invariant+": ") {
			t.Errorf("bug %d breaks no %s with seed %d: %v%s", b, p.invariant, p.breaks, err, search(b, true))
		}
	}
}

// TestInvariantsHoldWithoutABug: the judge finds nothing in a model without bugs.
func TestInvariantsHoldWithoutABug(t *testing.T) {
	for seed := range uint64(40) {
		if err := playRandomly(seed, bugNone, true, make(map[string]int)); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// search names seeds that detect a bug, for use after a change of the commands.
func search(b bug, alone bool) string {
	for seed := uint64(1); seed < 1000; seed++ {
		if err := playRandomly(seed, b, alone, make(map[string]int)); err != nil {
			text := err.Error()
			return fmt.Sprintf("; seed %d does: %s", seed, text[:min(len(text), 300)])
		}
	}
	return "; nor by any other"
}
