package process

import (
	"fmt"
	"strings"
	"testing"
)

// bug is a rule of the model that is broken on purpose, to see that the random commands would notice it.
type bug int

const (
	bugNone          bug = iota
	bugMillisecond       // moments are those of the clock, so that delays are up to a millisecond short
	bugEpoch             // an epoch has a number that was there before
	bugBrokenView        // a round goes on without one of its members
	bugEarly             // a round runs before all are prepared
	bugOldRequests       // requests of an epoch that is over are delivered
	bugNoCancel          // members are not notified that a round is over
	bugOpenExchange      // an exchange goes on when its epoch is over
	bugAll               // an exchange that is cancelled says that all have replied
	bugLostEnd           // the sender of an exchange that is cancelled does not hear of it
	bugTwice             // a second reply of a member counts
	bugStale             // an exchange that has ended takes replies
	bugAnyCompletes      // any member completes the round
	bugCompleteEarly     // a round is completed before it runs
	bugOrder             // requests of one sender change places
	bugCancels           // cancellations pile up in the inbox of a member that is away
	bugFull              // a full inbox takes more
	bugHalf              // a request that is refused reaches some
	bugReconnect         // a member that repeats an acknowledgement causes an epoch
	bugFence             // messages of an epoch that is over are accepted
	bugNewcomer          // a member that is not of the epoch may send
	bugYoungest          // the candidate that joined last coordinates
	bugAck               // a member that is prepared gets prepare again
	bugResults           // one result too few is kept
	bugGathered          // a process with the shortest delay waits for one member more than it needs
	bugs
)

// planted says for each bug which run notices it by comparing with the process, and for those that break an invariant,
// which run breaks it, where the model is judged by the invariants alone.
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

// TestInvariantsHoldWithoutABug: what judges the planted bugs finds nothing where there is none.
func TestInvariantsHoldWithoutABug(t *testing.T) {
	for seed := range uint64(20) {
		if err := playRandomly(seed, bugNone, true, make(map[string]int)); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
	}
}

// search names a seed that notices a bug, for when the commands have changed.
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
