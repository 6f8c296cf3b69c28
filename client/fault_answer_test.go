package client_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol"
)

var (
	lostAfter   = fault{silent: true, cut: true}
	lostBefore  = fault{ignore: true, cut: true}
	unavailable = &protocol.Result{Status: protocol.StatusUnavailable}
)

func TestWhatWasCarriedOutIsNotCarriedOutAgain(t *testing.T) {
	for what, x := range map[string]fault{
		"answer lost": lostAfter, "request lost": lostBefore,
		"unavailable, and done": {refuse: unavailable, after: true}, "unavailable": {refuse: unavailable},
	} {
		t.Run(what, func(t *testing.T) {
			playFake(t, 2, 2, func(t *testing.T, fake *fakeCluster, c *client.Client) {
				sem := session(t, c).Semaphore(name)
				fake.once(protocol.KindSemaphoreCreate, x)
				check(t, sem.Create(t.Context(), 2, []byte("x")))
				fake.once(protocol.KindAcquire, x)
				lease := acquire(t, sem)
				fake.once(protocol.KindSemaphoreUpdate, x)
				check(t, lease.Update(t.Context(), []byte("y")))
				if d := describe(t, c); len(d.Owners) != 1 || d.Owners[0].OrderID != lease.Fence() ||
					string(d.Data) != "y" {
					t.Errorf("described as %+v", d)
				}
				fake.once(protocol.KindRelease, x)
				check(t, lease.Release(t.Context()))
				fake.once(protocol.KindSemaphoreDelete, x)
				check(t, sem.Delete(t.Context()))
				if _, err := sem.Describe(t.Context()); !errors.Is(err, client.ErrNotFound) {
					t.Errorf("described after its end: %v", err)
				}
			})
		})
	}
}

// TestAChangeWithoutSessionIsSentAgainWhereNothingWasDone: the change has no number, so the client repeats it only
// after a refusal with a wait, which proves that nothing happened.
func TestAChangeWithoutSessionIsSentAgainWhereNothingWasDone(t *testing.T) {
	away := &protocol.Result{Status: protocol.StatusUnavailable, WaitMillis: 20}
	for what, x := range map[string]struct {
		refused *protocol.Result
		want    error
		creates int
	}{
		"a host that waits for a leader": {away, nil, 2},
		"a host that does not know":      {unavailable, client.ErrUnavailable, 1},
	} {
		t.Run(what, func(t *testing.T) {
			playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
				sent := 0
				fake.on(func(_ *fakeHost, r *protocol.Request) fault {
					if r.Kind != protocol.KindSemaphoreCreate {
						return fault{}
					}
					if sent++; sent > 1 {
						return fault{}
					}
					return fault{refuse: x.refused}
				})
				err := c.Node(path).Create(t.Context(), name, 1, nil)
				if !errors.Is(err, x.want) || sent != x.creates {
					t.Errorf("sent %d times, %v", sent, err)
				}
			})
		})
	}
}

func TestAQueuedAcquireSurvivesALostAnswer(t *testing.T) {
	for what, x := range map[string]fault{"lost": lostAfter, "unavailable": {refuse: unavailable, after: true}} {
		t.Run(what, func(t *testing.T) {
			playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
				first := acquire(t, session(t, c).Semaphore(name, client.Limit(1)))
				fake.once(protocol.KindAcquire, x)
				waiting := acquiring(t, t.Context(), session(t, c).Semaphore(name))
				time.Sleep(time.Second)
				if d := describe(t, c); len(d.Waiters) != 1 {
					t.Fatalf("waiters: %+v", d.Waiters)
				}
				check(t, first.Release(t.Context()))
				check(t, (<-waiting).err)
			})
		})
	}
}

func TestAStaleMutationIsSentUnderANewNumber(t *testing.T) {
	playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		s := session(t, c)
		fake.once(protocol.KindAcquire, fault{ignore: true})
		done := acquiring(t, t.Context(), s.Semaphore(name, client.Limit(1)))
		acquire(t, s.Semaphore("another", client.Limit(1))) // has a higher number
		fake.cut()
		r := <-done
		check(t, r.err)
		if d := describe(t, c); len(d.Owners) != 1 || d.Owners[0].OrderID != r.lease.Fence() {
			t.Errorf("described as %+v", d)
		}
		check(t, r.lease.Release(t.Context()))
	})
}

func TestAnOverloadedHostIsGivenItsTime(t *testing.T) {
	for _, status := range []protocol.Status{protocol.StatusOverloaded, protocol.StatusStorageFull} {
		playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
			sem := session(t, c).Semaphore(name)
			check(t, sem.Create(t.Context(), 1, nil))
			fake.times(3, protocol.KindAcquire, fault{refuse: &protocol.Result{Status: status, WaitMillis: 2000}})
			started := time.Now()
			lease := acquire(t, sem)
			if took := time.Since(started); took < 6*time.Second || took > 7*time.Second {
				t.Errorf("%v: it took %v", status, took)
			}
			check(t, lease.Release(t.Context()))
			fake.times(1000, protocol.KindAcquire, fault{refuse: &protocol.Result{Status: status, WaitMillis: 2000,
				Message: "no room"}})
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			defer cancel()
			_, err := sem.Acquire(ctx)
			if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no room") {
				t.Errorf("%v without end: %v", status, err)
			}
		})
	}
}

// TestAMutationThatWasRefusedForRoomAcknowledgesWithItsNextTry: a full shard refuses a session's mutations until the
// session acknowledges answers. Each try carries the acknowledgement, so a refused mutation never waits for another
// mutation.
func TestAMutationThatWasRefusedForRoomAcknowledgesWithItsNextTry(t *testing.T) {
	playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		s := session(t, c)
		first, second := s.Semaphore("first"), s.Semaphore("second", client.Limit(1))
		check(t, first.Create(t.Context(), 1, nil))
		var unseen uint64 // the number of the update with a late answer
		refused := 0
		fake.on(func(_ *fakeHost, r *protocol.Request) fault {
			switch {
			case r.Kind == protocol.KindSemaphoreUpdate && refused == 0:
				unseen = r.SemaphoreUpdate.Sequence
				return fault{refuse: &protocol.Result{Status: protocol.StatusUnavailable}}
			case r.Kind == protocol.KindAcquire && r.Acquire.AcknowledgedSequence < unseen:
				refused++
				return fault{refuse: &protocol.Result{Status: protocol.StatusOverloaded, WaitMillis: 5000}}
			}
			return fault{}
		})
		updated := make(chan error)
		go func() { updated <- first.Update(t.Context(), []byte("x")) }()
		synctest.Wait()
		check(t, acquire(t, second).Release(t.Context()))
		check(t, <-updated)
		if unseen == 0 || refused != 1 {
			t.Errorf("number %d was not answered, and the acquire was refused %d times", unseen, refused)
		}
	})
}

func TestARefusalIsFinal(t *testing.T) {
	playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		sem := session(t, c).Semaphore(name, client.Limit(1))
		for status, want := range map[protocol.Status]error{
			protocol.StatusUnauthorized: client.ErrUnauthorized, protocol.StatusInternal: client.ErrInternal,
			protocol.StatusPreconditionFailed: client.ErrPreconditionFailed,
			protocol.StatusUnsupported:        client.ErrUnsupported,
		} {
			fake.once(protocol.KindAcquire, fault{refuse: &protocol.Result{Status: status, Message: "so it is"}})
			if _, err := sem.Acquire(t.Context()); !errors.Is(err, want) ||
				!strings.Contains(err.Error(), "so it is") || !strings.Contains(err.Error(), name) {
				t.Errorf("%v: %v", status, err)
			}
		}
		lease := acquire(t, sem)
		fake.once(protocol.KindRelease, fault{refuse: &protocol.Result{Status: protocol.StatusFenced}})
		if err := lease.Release(t.Context()); !errors.Is(err, client.ErrFenced) ||
			!errors.Is(err, client.ErrLeaseLost) {
			t.Errorf("a release that is fenced: %v", err)
		}
		fake.once(protocol.KindSemaphoreUpdate, fault{refuse: &protocol.Result{Status: protocol.StatusFenced}})
		lease = acquire(t, sem)
		if err := lease.Update(t.Context(), nil); !errors.Is(err, client.ErrFenced) ||
			!errors.Is(err, client.ErrLeaseLost) {
			t.Errorf("an update that is fenced: %v", err)
		}
		if err := lease.Err(); !errors.Is(err, client.ErrLeaseLost) || lease.Context().Err() == nil {
			t.Errorf("a lease that a host has fenced: %v", err)
		}
	})
}

func TestAReleaseGoesOnWithoutItsCaller(t *testing.T) {
	for what, x := range map[string]fault{"answer lost": lostAfter, "request lost": lostBefore} {
		t.Run(what, func(t *testing.T) {
			playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
				lease := acquire(t, session(t, c).Semaphore(name, client.Limit(1)))
				fake.times(2, protocol.KindRelease, x)
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				if err := lease.Release(ctx); !errors.Is(err, context.Canceled) {
					t.Errorf("got %v", err)
				}
				if lease.Err() == nil {
					t.Error("the lease is held after its release")
				}
				eventually(t, 5*time.Second, "it is released", func() bool { return describe(t, c).Count == 0 })
			})
		})
	}
}

func TestAnAcquireThatIsCancelledBeforeItsAnswerIsUndone(t *testing.T) {
	for what, x := range map[string]fault{
		"answer late": {delay: time.Second}, "answer lost": lostAfter, "request lost": lostBefore,
		"late and lost": {delay: time.Second, cut: true}, "unavailable": {refuse: unavailable, after: true},
	} {
		t.Run(what, func(t *testing.T) {
			playFake(t, 2, 2, func(t *testing.T, fake *fakeCluster, c *client.Client) {
				sem := session(t, c).Semaphore(name)
				check(t, sem.Create(t.Context(), 1, nil))
				fake.once(protocol.KindAcquire, x)
				ctx, cancel := context.WithCancel(t.Context())
				fake.on(func(h *fakeHost, r *protocol.Request) fault {
					if r.Kind != protocol.KindAcquire {
						return fault{}
					}
					cancel()
					return x
				})
				_, err := sem.Acquire(ctx)
				if err == nil {
					t.Skip("it was faster than its cancellation")
				}
				if !errors.Is(err, context.Canceled) {
					t.Errorf("got %v", err)
				}
				fake.on(nil)
				time.Sleep(5 * time.Second)
				if d := describe(t, c); d.Count != 0 || len(d.Waiters) != 0 {
					t.Errorf("left behind: %+v", d)
				}
				// The queue's next mutation may begin.
				check(t, acquire(t, sem).Release(t.Context()))
			})
		})
	}
}

func TestCancellingAnOwnersAcquireKeepsItsLease(t *testing.T) {
	playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		sem := session(t, c).Semaphore(name, client.Limit(3))
		lease := acquire(t, sem, client.Count(3))
		fake.once(protocol.KindAcquire, fault{delay: time.Second})
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := sem.Acquire(ctx, client.Count(1)); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		time.Sleep(2 * time.Second)
		check(t, lease.Err())
		if d := describe(t, c); len(d.Owners) != 1 || d.Owners[0].Count != 1 || lease.Count() != 1 {
			t.Errorf("described as %+v, the lease is for %d", d.Owners, lease.Count())
		}
	})
}

func TestSessionsThatNoCallerWaitsForAreStopped(t *testing.T) {
	playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		fake.once(protocol.KindSessionStart, fault{delay: time.Second})
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if _, err := c.Session(ctx, path); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		eventually(t, 2*time.Second, "it is stopped", func() bool { return fake.count(protocol.KindSessionStop) == 1 })
		synctest.Wait()
		fake.do(func() {
			if len(fake.sessions) != 0 {
				t.Errorf("%d sessions are left", len(fake.sessions))
			}
		})
	})
}

func TestMoreRequestsThanAHostTakesWait(t *testing.T) {
	playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, _ *client.Client) {
		fake.do(func() { fake.welcome.Limits.RequestsInFlight = 5 })
		c := open(t, fake)
		s := session(t, c, client.SessionTimeout(3*time.Second))
		var waiting []<-chan result
		fake.times(1, protocol.KindAcquire, fault{delay: 700 * time.Millisecond})
		for i := range 20 {
			waiting = append(waiting, acquiring(t, t.Context(), s.Semaphore(name+string(rune('a'+i)), client.Limit(1))))
		}
		if n := fake.count(protocol.KindAcquire); n > 3 {
			t.Errorf("%d requests are under way", n)
		}
		for _, w := range waiting {
			check(t, (<-w).err)
		}
		if n := fake.count(protocol.KindSessionAttach); n != 0 {
			t.Errorf("the session was attached %d times more", n)
		}
	})
}

func TestASessionWithMoreUnansweredThanAShardKeepsGoesOn(t *testing.T) {
	playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		s := session(t, c)
		fake.once(protocol.KindSemaphoreCreate, fault{ignore: true}) // so that no acknowledgement is possible
		first := make(chan error, 1)
		go func() { first <- s.Semaphore("first").Create(t.Context(), 1, nil) }()
		synctest.Wait()
		done := make(chan error, 1500)
		for i := range 1500 {
			go func() {
				done <- s.Semaphore(strings.Repeat("x", i%500+1)+string(rune('a'+i/500))).Create(t.Context(), 1, nil)
			}()
		}
		synctest.Wait()
		fake.cut()
		for range 1500 {
			check(t, <-done)
		}
		check(t, <-first)
	})
}
