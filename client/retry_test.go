package client

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
)

func TestPausesGrowAndAreBounded(t *testing.T) {
	for failures := range 100 {
		most := time.Duration(0)
		for range 200 {
			d := pause(failures, 0)
			if d <= 0 || d > maxPause {
				t.Fatalf("after %d failures: %v", failures, d)
			}
			most = max(most, d)
		}
		if failures > 8 && most < maxPause/2 {
			t.Errorf("after %d failures at most %v", failures, most)
		}
		if failures == 0 && most > firstPause {
			t.Errorf("at first %v", most)
		}
	}
	if d := pause(0, time.Minute); d != time.Minute {
		t.Errorf("a host asked for a minute and got %v", d)
	}
}

func TestWhatIsTriedAgainAndWhen(t *testing.T) {
	gone := &transportError{address: "x", err: errors.New("gone")}
	for what, test := range map[string]struct {
		err   error
		first time.Duration // the longest pause before the second try; negative for none
	}{
		"lost connection":    {gone, 0},
		"moved":              {&protocol.Error{Status: protocol.StatusMoved}, 0},
		"stale":              {&protocol.Error{Status: protocol.StatusStale}, 0},
		"unavailable":        {&protocol.Error{Status: protocol.StatusUnavailable}, firstPause},
		"overloaded":         {&protocol.Error{Status: protocol.StatusOverloaded, Wait: 3 * time.Second}, 3 * time.Second},
		"refused":            {&protocol.Error{Status: protocol.StatusNotFound}, -1},
		"not known here":     {&protocol.Error{Status: 99}, -1},
		"something else":     {errors.New("something else"), -1},
		"a host's goodbye":   {&transportError{address: "x", err: ErrUnauthorized}, 0},
		"a refused greeting": {&protocol.Error{Status: protocol.StatusUnauthorized}, -1},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var r retries
				started := time.Now()
				err := r.again(t.Context(), t.Context(), test.err)
				if test.first < 0 {
					if !errors.Is(err, test.err) {
						t.Errorf("got %v", err)
					}
					return
				}
				if took := time.Since(started); err != nil || took > test.first || test.first > time.Second && took < test.first {
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
			var r retries
			if err := r.again(contexts[0], contexts[1], slow); !errors.Is(err, why) {
				t.Errorf("got %v", err)
			}
		}
		var r retries
		if err := r.again(ctx, t.Context(), slow); !errors.Is(err, why) || !errors.Is(err, ErrOverloaded) {
			t.Errorf("got %v", err)
		}
	})
}

func TestMarginsAreBelowTheTimeout(t *testing.T) {
	for timeout, want := range map[time.Duration]time.Duration{
		10 * time.Second: time.Second, 30 * time.Minute: 3 * time.Minute, 50 * time.Millisecond: minMargin, 4 * time.Millisecond: 2 * time.Millisecond,
	} {
		if got := margin(timeout); got != want {
			t.Errorf("of %v: %v, want %v", timeout, got, want)
		}
	}
}
