package slots

import "testing"

func TestNothingGoesWrongWithNumbers(t *testing.T) {
	bounds := [][2]int{{2, 1}, {2, 2}} // requests and moves
	if *whole {
		bounds = [][2]int{{3, 2}, {3, 3}, {4, 1}, {4, 2}}
	}
	for _, b := range bounds {
		for _, as := range []mistake{asDesigned, unslotted} {
			e := explore(newNumbers(as, b[0], b[1]), most)
			if t.Logf("%d requests, %d moves: %v", b[0], b[1], e); e.bad != "" || !e.whole {
				t.Error(as, e)
			}
		}
	}
}

func TestEveryMistakeWithNumbersIsNoticed(t *testing.T) {
	for _, p := range []struct {
		bug             mistake
		requests, moves int
	}{
		{homesLeave, 2, 2}, {unseenOnly, 2, 1}, {unionOurs, 2, 2}, {unionTheirs, 2, 1}, {noClass, 3, 2},
		{recordDropped, 2, 1}, {numbersStay, 1, 1}, {numbersBack, 1, 1}, {unacked, 2, 2},
	} {
		if p.requests > 2 && testing.Short() {
			continue
		}
		e := explore(newNumbers(p.bug, p.requests, p.moves), most)
		if t.Logf("%s: %v", p.bug, e); e.bad == "" {
			t.Errorf("%s is not noticed", p.bug)
		}
	}
}
