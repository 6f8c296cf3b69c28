package client_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/lifecycle"
)

// TestLeaseGoesOnWhileTheMachineIsSuspended: timers and CLOCK_MONOTONIC stand still meanwhile, and the lease does not.
func TestLeaseGoesOnWhileTheMachineIsSuspended(t *testing.T) {
	var suspended atomic.Int64
	defer func(was func() time.Duration) { lifecycle.Suspension = was }(lifecycle.Suspension)
	lifecycle.Suspension = func() time.Duration { return time.Duration(suspended.Load()) }
	for _, detached := range []bool{false, true} {
		playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, _ *client.Client) {
			c := open(t, fake)
			s := session(t, c, client.SessionTimeout(30*time.Second))
			lease := acquire(t, s.Semaphore(name, client.Limit(1)))
			time.Sleep(2 * time.Second)
			suspended.Add(int64(time.Second))
			time.Sleep(2 * time.Second)
			check(t, lease.Err()) // because the suspension was short
			if detached {
				fake.take(0)
			}
			resumed := time.Now()
			suspended.Add(int64(time.Minute))
			within(t, "the context of the lease ended", endOf(lease).Sub(resumed), 0, 1100*time.Millisecond)
			if err := lease.Err(); err == nil {
				t.Error("the lease is held")
			}
		})
	}
}

// TestLeaseThatEndedWhileTheMachineWasSuspendedIsNotHeld: Lease.Err reports the end before any timer fires.
func TestLeaseThatEndedWhileTheMachineWasSuspendedIsNotHeld(t *testing.T) {
	var suspended atomic.Int64
	defer func(was func() time.Duration) { lifecycle.Suspension = was }(lifecycle.Suspension)
	lifecycle.Suspension = func() time.Duration { return time.Duration(suspended.Load()) }
	playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, _ *client.Client) {
		lease := acquire(t, session(t, open(t, fake)).Semaphore(name, client.Limit(1)))
		suspended.Add(int64(time.Minute))
		time.Sleep(200 * time.Millisecond) // the wall clock of a bubble does not show the suspension
		if lease.Err() == nil {
			t.Error("the lease is held")
		}
	})
}
