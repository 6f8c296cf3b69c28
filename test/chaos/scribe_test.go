//go:build linux

package chaos

import (
	"testing"
	"time"

	"github.com/signalbox/signalbox/test/history"
)

func TestASessionThatEndsWhileItsClientStandsStillMayHaveEndedAtAnyMomentSince(t *testing.T) {
	j := newJournal(newClock(machineTime() - time.Hour))
	s := newScribe(j.clock, Orders{Client: 3, Life: 1}, j)
	s.close() // from here on the test says when the process runs
	began := s.Now()
	if from, ok := s.asleep(began); ok {
		t.Fatalf("it stands still since %v, and it runs", from)
	}
	end := s.session(history.Session{ID: 1, Timeout: time.Second})
	s.mu.Lock()
	s.last = s.Now() - time.Minute
	slept := s.last
	s.mu.Unlock()
	from, ok := s.asleep(began)
	if !ok || from != slept {
		t.Fatalf("it stood still since %v, %v, want %v", from, ok, slept)
	}
	if from, ok := s.asleep(s.Now()); ok {
		t.Errorf("it stands still since %v, and it is awake again", from)
	}
	end(from, history.Silent, "")
	end(s.Now(), history.Closed, "only the first end counts")
	h := j.history("", grace)
	if x := h.Sessions[0]; x.End != history.Silent || x.To != x.From {
		t.Errorf("the session, which began at %v, ended at %v: %s", x.From, x.To, x.End)
	}
	if len(h.Faults) != 1 || h.Faults[0].Client != 3 || h.Faults[0].From >= slept || h.Faults[0].To < slept+time.Minute {
		t.Errorf("the faults are %+v", h.Faults)
	}
}

func TestWhoWakesAndClosesMayHaveHadNoSessionAnyMore(t *testing.T) {
	for _, x := range []struct {
		still time.Duration
		why   history.End
		want  history.End
	}{
		{time.Minute, history.Closed, history.Silent},
		{time.Minute, history.Expired, history.Silent},
		{time.Minute, history.Ended, history.Ended},
		{2 * stillness, history.Closed, history.Closed}, // no lease ends in that time
		{2 * stillness, history.Expired, history.Silent},
		{0, history.Closed, history.Closed},
		{0, history.Expired, history.Expired},
	} {
		s := newScribe(newClock(machineTime()-time.Hour), Orders{}, newJournal(newClock(machineTime()-time.Hour)))
		s.close() // from here on the test says when the process runs
		began := s.Now() - 2*time.Minute
		slept := s.Now() - x.still
		s.last = slept
		at, why := s.endOf(2*time.Second, began, x.why)
		if why != x.want || (at == slept) != (x.want == history.Silent) {
			t.Errorf("%s after %v: %s, at %v after it fell asleep", x.why, x.still, why, at-slept)
		}
	}
}
