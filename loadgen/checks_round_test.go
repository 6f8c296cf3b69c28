package loadgen

import (
	"testing"
	"testing/synctest"
)

func TestAWatcherThatWasSlowToSayItHasSeenOneChangeDoesNotEndTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRound()
		r.begin(1, 1)
		r.left.Add(-1) // as saw does, which is interrupted there
		check(t, r.wait(t.Context(), newAlarm()))
		r.begin(2, 1)
		r.all <- struct{}{} // and goes on
		done := make(chan error, 1)
		go func() { done <- r.wait(t.Context(), newAlarm()) }()
		synctest.Wait()
		select {
		case err := <-done:
			t.Errorf("nobody has seen it, and the session is over: %v", err)
		default:
		}
		r.saw()
		check(t, <-done)
	})
}
