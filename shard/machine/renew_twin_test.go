package machine_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/test/twin"
)

const (
	renewedRuns = 16
	// renewedBatches is how many batches come between two renewals.
	renewedBatches = 150
)

// renewalOf is a rebuild from a state, into the next group.
func renewalOf(s *shard.State) machine.Renewal {
	return machine.Renewal{
		Group: s.Group.Number + 1, Jump: machine.JumpOver(time.Second),
		Counted: shard.Counters{LastOrder: s.LastOrder + 5, LastRevision: s.LastRevision / 2, LastSession: 7},
		Longest: shard.Longest{Timeout: 5_000, Session: 9},
	}
}

// renew rebuilds the shard of a run, machine and twin.
func (r *run) renew() error {
	renewal := renewalOf(&r.state)
	made, err := r.machines[0].Renew(renewal)
	if err != nil {
		return err
	}
	r.naive.Renew(renewal)
	r.machines = []*contestant{{name: "renewed", Machine: made}}
	r.state = r.naive.State()
	r.earlier, r.batches, r.commands, r.saved = r.state, nil, 0, nil
	if err := r.compare(r.machines[0], r.state); err != nil {
		return fmt.Errorf("just renewed: %w", err)
	}
	if err := r.compareUsage(r.machines[0]); err != nil {
		return fmt.Errorf("just renewed: %w", err)
	}
	return twin.Check(r.state, r.options.Slots)
}

// playRenewed goes on after a renewal.
func (r *run) playRenewed() error {
	for range renewedBatches {
		b := r.source.Batch(&r.state)
		if err := r.apply(b); err != nil {
			return err
		}
		r.tally.count(b, r.expected.List)
		if err := r.compareLiveness(); err != nil {
			return err
		}
	}
	return r.read()
}

// compareLiveness compares the home's answers on sessions at the group boundaries, and on some in between.
func (r *run) compareLiveness() error {
	g := r.state.Group
	for _, counter := range []uint64{
		1, 1 + rand.Uint64N(g.Before+1), g.Before, g.Before + 1, r.state.LastSession + 1,
	} {
		for slot := range shard.Slot(4) {
			id := shard.NewSessionID(slot*1024, counter)
			if got, want := r.machines[0].Liveness(id), r.naive.Liveness(id); got != want {
				return fmt.Errorf("liveness of session %v is %d, to the twin %d", id, got, want)
			}
		}
	}
	return nil
}

// playRenewals plays a run with two renewals.
func playRenewals(seed uint64, m twin.Mistake, tally tally) error {
	r := newRun(seed, tally)
	if err := r.play(); err != nil {
		return err
	}
	r.naive.Plant(m)
	if err := r.renew(); err != nil {
		return err
	}
	if err := r.playRenewed(); err != nil {
		return err
	}
	if err := r.renew(); err != nil {
		return fmt.Errorf("the second renewal: %w", err)
	}
	if err := r.playRenewed(); err != nil {
		return fmt.Errorf("after the second renewal: %w", err)
	}
	return r.play()
}

// TestARenewedMachineAgreesWithItsTwin: random states are made anew, twice, and go on with random commands.
func TestARenewedMachineAgreesWithItsTwin(t *testing.T) {
	if testing.Short() {
		t.Skip("plays many runs of a machine, which one goroutine carries out")
	}
	first := rand.Uint64N(1 << 40)
	t.Logf("first seed: %d", first)
	tally := make(tally)
	for seed := first; seed < first+renewedRuns; seed++ {
		if err := playRenewals(seed, twin.NoMistake, tally); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	for _, outcome := range []string{
		"acquire OVERLOADED 0", "acquire ABORTED 0", "acquire SESSION_EXPIRED 0", "acquire SUCCESS 1",
		"session-update SESSION_EXPIRED 0", "session-end SESSION_EXPIRED 0",
	} {
		if tally[outcome] < 10 {
			t.Errorf("%s: only %d times", outcome, tally[outcome])
		}
	}
}

// TestMistakesInRenewalsAreNoticed: a seed's run exposes each bug.
func TestMistakesInRenewalsAreNoticed(t *testing.T) {
	for _, c := range []plantedMistake{
		{"numbers of remote sessions are forgotten", twin.ForgetsNumbers, 1, "applied="},
		{"an answer says acquired of what is gone", twin.KeepsOwnership, 1, "answer"},
		{"a session of before is dead at once", twin.BuriesTheLost, 1, "liveness"},
		{"the wait does not cover the longest timeout", twin.WaitsForNoOwner, 3, "OVERLOADED timeout="},
		{"grants come at once", twin.GrantsAtOnce, 1, "OVERLOADED"},
		{"sessions of the group before go on", twin.ServesTheOld, 1, "home=true"},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			for seed := uint64(1); seed <= uint64(*mistakeSeek); seed++ {
				t.Logf("seed %d: %v", seed, playRenewals(seed, c.mistake, make(tally)))
			}
			err := playRenewals(c.seed, c.mistake, make(tally))
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("seed %d found %v", c.seed, err)
			}
		})
	}
}
