package session

import (
	"math/rand/v2"
	"testing"
	"time"
)

func TestNumbersAcknowledgeWhatIsAnswered(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 2))
		var n sequences
		open := make(map[uint64]bool)
		for range 2000 {
			if random.IntN(2) == 0 || len(open) == 0 {
				number, _ := n.give(0)
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
				if _, a := n.give(number); a >= number || a != lowest-1 {
					t.Fatalf("%d acknowledges %d", number, a)
				}
			}
			if _, a := n.give(1); a != 0 {
				t.Fatalf("1, sent again, acknowledges %d", a)
			}
		}
	}
}

func TestNumbersAreGivenUpToAWindow(t *testing.T) {
	var n sequences
	for want := range uint64(unansweredMax) {
		if number, _ := n.give(0); number != want+1 {
			t.Fatalf("gave %d after %d", number, want)
		}
	}
	n.answered(2) // 1 is still unanswered
	if number, _ := n.give(0); number != 0 {
		t.Errorf("gave %d though as many are unanswered as may be", number)
	}
	room := make(chan struct{})
	n.room = room
	n.answered(1)
	select {
	case <-room:
	default:
		t.Error("those that wait do not hear that there is room")
	}
	if number, acknowledged := n.give(0); number != unansweredMax+1 || acknowledged != 2 {
		t.Errorf("gave %d, acknowledges %d", number, acknowledged)
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
