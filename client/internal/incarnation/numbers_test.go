package incarnation

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestNumbersAcknowledgeWhatIsAnswered(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 2))
		var n numbers
		open := make(map[uint64]bool)
		for range 2000 {
			if random.IntN(2) == 0 || len(open) == 0 {
				number := n.next()
				if number != n.last || open[number] {
					t.Fatalf("gave %d", number)
				}
				open[number] = true
			} else {
				for number := range open {
					n.answered(number)
					n.answered(number) // again changes nothing
					delete(open, number)
					break
				}
			}
			lowest := n.last + 1
			for number := range open {
				lowest = min(lowest, number)
			}
			if n.low != lowest-1 {
				t.Fatalf("all are answered up to %d, and it says %d", lowest-1, n.low)
			}
			for number := range open {
				if a := n.acknowledged(number); a >= number || a != lowest-1 {
					t.Fatalf("%d acknowledges %d", number, a)
				}
			}
			if a := n.acknowledged(1); a != 0 {
				t.Fatalf("1, sent again, acknowledges %d", a)
			}
			if n.full() != (n.last-n.low >= unansweredMax) {
				t.Fatal("full")
			}
		}
	}
}

func TestMarginsAreBelowTheTimeout(t *testing.T) {
	for timeout, want := range map[time.Duration]time.Duration{
		10 * time.Second: time.Second, 30 * time.Minute: 3 * time.Minute, 50 * time.Millisecond: minMargin,
		4 * time.Millisecond: 2 * time.Millisecond,
	} {
		if got := margin(timeout); got != want {
			t.Errorf("of %v: %v, want %v", timeout, got, want)
		}
	}
}
