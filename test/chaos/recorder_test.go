//go:build linux

package chaos

import (
	"testing"
	"time"

	"github.com/signalbox/signalbox/test/history"
)

// stopped is a recorder without background checks: the test decides when its process runs. Its clock stands at one
// hour.
func stopped(a Assignment) (*recorder, *history.Recorder) {
	c := history.NewClock(func() history.Time { return time.Hour })
	record := history.NewRecorder("", c)
	r := newRecorder(c, a, record)
	r.close()
	return r, record
}

func TestASessionThatEndsWhileItsClientStandsStillMayHaveEndedAtAnyMomentSince(t *testing.T) {
	r, record := stopped(Assignment{Client: 3, Incarnation: 1})
	began := r.Now()
	if from, ok := r.stoodStill(began); ok {
		t.Fatalf("it stands still since %v, and it runs", from)
	}
	end := r.BeginSession(history.Session{ID: 1, Timeout: time.Second})
	r.mu.Lock()
	r.last = r.Now() - time.Minute
	slept := r.last
	r.mu.Unlock()
	from, ok := r.stoodStill(began)
	if !ok || from != slept {
		t.Fatalf("it stood still since %v, %v, want %v", from, ok, slept)
	}
	if from, ok := r.stoodStill(r.Now()); ok {
		t.Errorf("it stands still since %v, and it is awake again", from)
	}
	end(from, history.Silent, "")
	end(r.Now(), history.Closed, "only the first end counts")
	h := record.History()
	if x := h.Sessions[0]; x.End != history.Silent || x.To != x.From {
		t.Errorf("the session, which began at %v, ended at %v: %s", x.From, x.To, x.End)
	}
	if len(h.Faults) != 1 || h.Faults[0].Client != 3 || h.Faults[0].From >= slept ||
		h.Faults[0].To < slept+time.Minute {
		t.Errorf("the faults are %+v", h.Faults)
	}
}

func TestAClientThatWakesAndClosesMayHaveHadNoSessionAnyMore(t *testing.T) {
	for _, x := range []struct {
		still time.Duration
		why   history.End
		want  history.End
	}{
		{time.Minute, history.Closed, history.Silent},
		{time.Minute, history.Expired, history.Silent},
		{time.Minute, history.Ended, history.Ended},
		{2 * stillness, history.Closed, history.Closed}, // no lease ends within this time
		{2 * stillness, history.Expired, history.Silent},
		{0, history.Closed, history.Closed},
		{0, history.Expired, history.Expired},
	} {
		r, _ := stopped(Assignment{})
		began := r.Now() - 2*time.Minute
		slept := r.Now() - x.still
		r.last = slept
		at, why := r.endOf(2*time.Second, began, x.why)
		if why != x.want || (at == slept) != (x.want == history.Silent) {
			t.Errorf("%s after %v: %s, at %v after it stood still", x.why, x.still, why, at-slept)
		}
	}
}
