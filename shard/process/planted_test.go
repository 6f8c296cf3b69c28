package process

import (
	"fmt"
	"strings"
	"testing"
)

// bug is a deliberately broken model rule, to be detected by random commands.
type bug int

const (
	bugNone          bug = iota
	bugMillisecond       // times are clock readings, so that delays are up to a millisecond short
	bugEpoch             // an epoch number is reused
	bugBrokenView        // a round continues without one of its members
	bugEarly             // a round runs before all are prepared
	bugOldRequests       // requests from an ended epoch are delivered
	bugNoCancel          // members are not notified of a round's end
	bugOpenExchange      // an exchange outlives its epoch
	bugAll               // a cancelled exchange reports replies from all
	bugLostEnd           // the sender is not notified of a cancelled exchange
	bugTwice             // a member's second reply counts
	bugStale             // an ended exchange accepts replies
	bugAnyCompletes      // any member completes the round
	bugCompleteEarly     // a round is completed before it runs
	bugOrder             // requests from one sender are reordered
	bugCancels           // cancellations accumulate in the inbox of an absent member
	bugFull              // a full inbox takes more
	bugHalf              // a refused request reaches some members
	bugReconnect         // a repeated acknowledgement causes an epoch
	bugFence             // messages of an ended epoch are accepted
	bugNewcomer          // a member outside the epoch may send
	bugYoungest          // the youngest candidate coordinates
	bugAck               // a prepared member gets prepare again
	bugResults           // one result too few is kept
	bugGathered          // a process with the shortest delay waits for one extra member
	bugs
)

// planted lists for each bug the run that detects it by comparison with the process, and, for invariant violations, the
// run that violates the invariant if the model is judged by the invariants alone.
var planted = [bugs]struct {
	seed      uint64
	invariant string
	breaks    uint64
}{
	bugMillisecond:   {seed: 1},
	bugEpoch:         {seed: 1, invariant: "E1", breaks: 1},
	bugBrokenView:    {seed: 1, invariant: "E2", breaks: 1},
	bugEarly:         {seed: 1, invariant: "E2", breaks: 1},
	bugOldRequests:   {seed: 2, invariant: "E3", breaks: 2},
	bugNoCancel:      {seed: 1, invariant: "E3", breaks: 1},
	bugOpenExchange:  {seed: 2, invariant: "E4", breaks: 2},
	bugAll:           {seed: 2, invariant: "E4", breaks: 2},
	bugLostEnd:       {seed: 2, invariant: "E4", breaks: 2},
	bugTwice:         {seed: 2, invariant: "E4", breaks: 2},
	bugStale:         {seed: 3, invariant: "E4", breaks: 5},
	bugAnyCompletes:  {seed: 2, invariant: "E5", breaks: 2},
	bugCompleteEarly: {seed: 2, invariant: "E5", breaks: 2},
	bugOrder:         {seed: 2, invariant: "E6", breaks: 2},
	bugCancels:       {seed: 4, invariant: "E7", breaks: 37},
	bugFull:          {seed: 24, invariant: "E7", breaks: 24},
	bugHalf:          {seed: 24, invariant: "E7", breaks: 24},
	bugReconnect:     {seed: 1, invariant: "E8", breaks: 1},
	bugFence:         {seed: 1, invariant: "E9", breaks: 1},
	bugNewcomer:      {seed: 1, invariant: "E9", breaks: 9},
	bugYoungest:      {seed: 1},
	bugAck:           {seed: 1},
	bugResults:       {seed: 3},
	bugGathered:      {seed: 7},
}

func TestPlantedBugsAreNoticed(t *testing.T) {
	if testing.Short() {
		t.Skip("plays many runs of a machine, which one goroutine carries out")
	}
	broken := make(map[string]bool)
	for b := bugNone + 1; b < bugs; b++ {
		p := planted[b]
		if err := playRandomly(p.seed, b, false, make(map[string]int)); err == nil {
			t.Errorf("bug %d is not noticed by seed %d%s", b, p.seed, search(b, ""))
		}
		if p.invariant == "" {
			continue
		}
		broken[p.invariant] = true
		err := playRandomly(p.breaks, b, true, make(map[string]int))
		if err == nil || !strings.Contains(err.Error(), p.invariant+": ") {
			t.Errorf("bug %d breaks no %s with seed %d: %v%s", b, p.invariant, p.breaks, err, search(b, p.invariant))
		}
	}
	for n := range 9 {
		if !broken[fmt.Sprint("E", n+1)] {
			t.Errorf("no bug breaks E%d", n+1)
		}
	}
}

// TestInvariantsHoldWithoutABug: the judge finds nothing in a model without bugs.
func TestInvariantsHoldWithoutABug(t *testing.T) {
	for seed := range uint64(20) {
		if err := playRandomly(seed, bugNone, true, make(map[string]int)); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// search names a seed that detects a bug, for use after a change of the commands.
func search(b bug, invariant string) string {
	for seed := uint64(1); seed < 300; seed++ {
		err := playRandomly(seed, b, invariant != "", make(map[string]int))
		if err != nil && (invariant == "" || strings.Contains(err.Error(), invariant+": ")) {
			text := err.Error()
			return fmt.Sprintf("; seed %d does: %s", seed, text[:min(len(text), 300)])
		}
	}
	return "; nor by any other"
}
