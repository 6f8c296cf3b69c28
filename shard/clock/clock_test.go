package clock

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestTimeGoesOnFromTermToTerm(t *testing.T) {
	var c Clock
	step := func(s Stamp, want uint64) {
		t.Helper()
		if c.Advance(s); c.Now != want {
			t.Fatalf("after %+v it is %d, want %d", s, c.Now, want)
		}
	}
	if !c.Lead(3) {
		t.Fatal("the first term does not begin")
	}
	step(Stamp{3, 0}, 0)
	step(Stamp{3, 1000}, 1000)
	step(Stamp{3, 900}, 1000) // never backwards
	if !c.Lead(5) {
		t.Fatal("a later term does not begin")
	}
	step(Stamp{5, 10}, 1010)
	step(Stamp{3, 90_000}, 1010) // from an earlier leader
	step(Stamp{}, 1010)
	if c.Lead(4) || c.Term != 5 {
		t.Fatal("a term of before begins")
	}
	if !c.Lead(5) {
		t.Fatal("a leader may begin its term twice")
	}
	step(Stamp{5, 20}, 1020) // counting since the start
	if got := c.After(0); got != 1021 {
		t.Fatalf("a delay of nothing is over at %d", got)
	}
}

func TestTimesThatAreTooLargeStayAtTheEnd(t *testing.T) {
	c := Clock{Now: 5, Base: 5, Term: 1}
	if c.After(math.MaxUint64) != math.MaxUint64 || c.At(math.MaxUint64-4) != math.MaxUint64 {
		t.Error("a time went round")
	}
	c.Advance(Stamp{1, math.MaxUint64})
	if c.Now != math.MaxUint64 || c.After(0) != math.MaxUint64 {
		t.Error("a time went round")
	}
}

// TestNoDelayIsShorterThanAsked draws leaders with real times in fractions of a millisecond, and delays across terms.
func TestNoDelayIsShorterThanAsked(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		var c Clock
		const delay = 7
		real, term, zero := 0.0, uint64(0), 0.0
		began, due := -1.0, uint64(0)
		pass := func() { real += rng.Float64() * 4 }
		for begun := false; ; pass() {
			if term == 0 || rng.IntN(4) == 0 {
				term++
				c.Lead(term)
				pass() // the leader learns of its own command after the commit
				zero = real
				continue
			}
			c.Advance(Stamp{term, uint64(real - zero)})
			if !begun {
				begun, began, due = true, real, c.After(delay)
			} else if c.Now >= due {
				break
			}
		}
		if real-began < delay {
			t.Fatalf("a delay of %d took %f", delay, real-began)
		}
	}
}

// TestADelayIsOverAtItsMomentAndTheDelay: never a millisecond earlier, however the clock rounds.
func TestADelayIsOverAtItsMomentAndTheDelay(t *testing.T) {
	for _, c := range []struct {
		delay, now uint64
		over       bool
	}{{0, 7, true}, {1, 8, false}, {1, 9, true}, {5, 12, false}, {5, 13, true}} {
		if got := Over(Moment(7), c.delay, c.now); got != c.over {
			t.Errorf("a delay of %d that began at 7 is over at %d: %v", c.delay, c.now, got)
		}
	}
}
