package retry

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/protocol"
)

func TestPausesGrowAndAreBounded(t *testing.T) {
	for failures := range 100 {
		most := time.Duration(0)
		for range 200 {
			d := Requests.Pause(failures)
			if d <= 0 || d > Requests.Most {
				t.Fatalf("after %d failures: %v", failures, d)
			}
			most = max(most, d)
		}
		if failures > 8 && most < Requests.Most/2 {
			t.Errorf("after %d failures at most %v", failures, most)
		}
		if failures == 0 && most > Requests.First {
			t.Errorf("at first %v", most)
		}
	}
	var r Retries
	asked := &protocol.Error{Status: protocol.StatusOverloaded, Wait: time.Minute}
	if d, final := r.Delay(asked); d != time.Minute || final {
		t.Errorf("a host asked for a minute and got %v, %v", d, final)
	}
}

// TestARequestToALaggingHostPauses: the client pauses after a MOVED from a lagging host, and after each further MOVED.
func TestARequestToALaggingHostPauses(t *testing.T) {
	moved := &protocol.Error{Status: protocol.StatusMoved}
	var r Retries
	if d, _ := r.Delay(moved); d != 0 {
		t.Errorf("a redirect is followed after %v", d)
	}
	r.Lags()
	for range 3 {
		if d, final := r.Delay(moved); d <= 0 || final {
			t.Errorf("the owner that is known is asked after %v", d)
		}
	}
}

// TestAHostThatKeepsAskingToWaitIsDoubted: only so many waits in a row are believed.
func TestAHostThatKeepsAskingToWaitIsDoubted(t *testing.T) {
	wait := &protocol.Error{Status: protocol.StatusUnavailable, Wait: time.Millisecond}
	var r Retries
	for range waitsAtOnce {
		if !r.Waits(wait) {
			t.Error("a host that asks to wait is not believed")
		}
		r.Delay(wait)
	}
	if r.Waits(wait) {
		t.Error("a host that keeps asking to wait is believed")
	}
	r.Delay(&protocol.Error{Status: protocol.StatusMoved})
	if !r.Waits(wait) || r.Waits(&protocol.Error{Status: protocol.StatusUnavailable}) {
		t.Error("after a redirect, a host that asks to wait is believed, and one that does not say so is not")
	}
}

func TestWhatIsTriedAgainAndWhen(t *testing.T) {
	gone := &failure.Transport{Address: "x", Err: errors.New("gone")}
	for what, test := range map[string]struct {
		err   error
		first time.Duration // the longest pause before the second try; negative for none
	}{
		"lost connection": {gone, 0},
		"moved":           {&protocol.Error{Status: protocol.StatusMoved}, 0},
		"stale":           {&protocol.Error{Status: protocol.StatusStale}, 0},
		"unavailable":     {&protocol.Error{Status: protocol.StatusUnavailable}, Requests.First},
		"overloaded": {&protocol.Error{Status: protocol.StatusOverloaded, Wait: 3 * time.Second},
			3 * time.Second},
		"refused":            {&protocol.Error{Status: protocol.StatusNotFound}, -1},
		"not known here":     {&protocol.Error{Status: 99}, -1},
		"something else":     {errors.New("something else"), -1},
		"a host's goodbye":   {&failure.Transport{Address: "x", Err: protocol.ErrUnauthorized}, 0},
		"a refused greeting": {&protocol.Error{Status: protocol.StatusUnauthorized}, -1},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var r Retries
				started := time.Now()
				err := r.Again(t.Context(), t.Context(), test.err)
				if test.first < 0 {
					if !errors.Is(err, test.err) {
						t.Errorf("got %v", err)
					}
					return
				}
				if took := time.Since(started); err != nil || took > test.first || test.first > time.Second &&
					took < test.first {
					t.Errorf("%v after %v", err, took)
				}
			})
		})
	}
}

func TestAPauseEndsWithItsContexts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &protocol.Error{Status: protocol.StatusOverloaded, Wait: time.Hour}
		why := errors.New("why")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, why)
		defer cancel()
		for _, contexts := range [][2]context.Context{{ctx, t.Context()}, {t.Context(), ctx}} {
			var r Retries
			if err := r.Again(contexts[0], contexts[1], slow); !errors.Is(err, why) {
				t.Errorf("got %v", err)
			}
		}
		var r Retries
		if err := r.Again(ctx, t.Context(), slow); !errors.Is(err, why) || !errors.Is(err, protocol.ErrOverloaded) {
			t.Errorf("got %v", err)
		}
	})
}

// TestAPauseEndsSoonWhereThereIsALeader: all waiting callers continue soon, and begin again with the first pause. After
// a host's request to wait, a caller waits.
func TestAPauseEndsSoonWhereThereIsALeader(t *testing.T) {
	gone := &failure.Transport{Address: "x", Err: errors.New("gone")}
	for what, test := range map[string]struct {
		err  error
		soon bool
	}{
		"no leader":       {&protocol.Error{Status: protocol.StatusUnavailable, Wait: time.Minute}, true},
		"lost connection": {gone, true},
		"overloaded":      {&protocol.Error{Status: protocol.StatusOverloaded, Wait: time.Minute}, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			leaders := make(chan struct{})
			r := Retries{Leaders: leaders, tries: 1000}
			time.AfterFunc(time.Microsecond, func() { close(leaders) })
			began := time.Now()
			if err := r.Again(t.Context(), t.Context(), test.err); err != nil {
				t.Errorf("%s: %v", what, err)
			}
			took := time.Since(began)
			if soon := took <= spread+time.Microsecond; soon != test.soon || test.soon && r.tries != 1 {
				t.Errorf("%s: after %v, as for try %d", what, took, r.tries)
			}
		})
	}
}
