package client_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol"
)

// endOf waits for a lease's end and returns the time.
func endOf(lease *client.Lease) time.Time {
	<-lease.Context().Done()
	return time.Now()
}

func within(t *testing.T, what string, got, low, high time.Duration) {
	t.Helper()
	if got < low || got > high {
		t.Errorf("%s: %v, want %v to %v", what, got, low, high)
	}
}

func TestALeaseCountsFromTheSendingOfTheStart(t *testing.T) {
	playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		fake.once(protocol.KindSessionStart, fault{delay: 2 * time.Second})
		sent := time.Now()
		s := session(t, c, client.SessionTimeout(10*time.Second))
		lease := acquire(t, s.Semaphore(name, client.Limit(1)))
		fake.on(func(_ *fakeHost, r *protocol.Request) fault { return fault{ignore: true} })
		within(t, "the lease", endOf(lease).Sub(sent), 9*time.Second, 9*time.Second)
	})
}

func TestALeaseCountsFromTheSendingOfThePing(t *testing.T) {
	playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		s := session(t, c, client.SessionTimeout(10*time.Second))
		lease := acquire(t, s.Semaphore(name, client.Limit(1)))
		var sent time.Time
		fake.on(func(_ *fakeHost, r *protocol.Request) fault {
			switch {
			case !sent.IsZero():
				return fault{ignore: true}
			case r.Kind == protocol.KindPing:
				sent = time.Now()
				return fault{delay: 2 * time.Second}
			}
			return fault{}
		})
		within(t, "the lease", endOf(lease).Sub(sent), 9*time.Second, 9*time.Second)
	})
}

// TestAPingFromBeforeASessionWasThereDoesNotCountForIt: a ping sent during a session's start proves nothing about the
// session, no matter when the answer comes.
func TestAPingFromBeforeASessionWasThereDoesNotCountForIt(t *testing.T) {
	playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		began := time.Now()
		session(t, c, client.SessionTimeout(9*time.Second)) // pings every three seconds
		time.Sleep(2500 * time.Millisecond)
		fake.once(protocol.KindSessionStart, fault{delay: time.Second})
		sent := time.Now()
		s := session(t, c, client.SessionTimeout(10*time.Second))
		if n := fake.count(protocol.KindPing); n != 1 || time.Since(began) != 3500*time.Millisecond {
			t.Fatalf("%d pings in %v", n, time.Since(began))
		}
		fake.on(func(*fakeHost, *protocol.Request) fault { return fault{ignore: true} })
		<-s.Context().Done()
		within(t, "the lease", time.Since(sent), 9*time.Second, 9*time.Second)
	})
}

func TestALeaseCountsFromTheSendingOfTheAttach(t *testing.T) {
	playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		s := session(t, c, client.SessionTimeout(10*time.Second))
		lease := acquire(t, s.Semaphore(name, client.Limit(1)))
		time.Sleep(2 * time.Second)
		var sent time.Time
		fake.on(func(_ *fakeHost, r *protocol.Request) fault {
			switch {
			case !sent.IsZero():
				return fault{ignore: true}
			case r.Kind == protocol.KindSessionAttach:
				sent = time.Now()
				return fault{delay: time.Second}
			}
			return fault{}
		})
		fake.cut()
		within(t, "the lease", endOf(lease).Sub(sent), 9*time.Second, 9*time.Second)
	})
}

func TestAnAcquireThatIsGrantedTooLateIsNotALease(t *testing.T) {
	playFake(t, 2, 2, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		sem := session(t, c, client.SessionTimeout(2*time.Second)).Semaphore(name)
		check(t, sem.Create(t.Context(), 1, nil))
		fake.on(func(_ *fakeHost, r *protocol.Request) fault {
			switch r.Kind {
			case protocol.KindAcquire:
				return fault{delay: 1850 * time.Millisecond}
			case protocol.KindPing, protocol.KindSessionAttach:
				return fault{ignore: true}
			}
			return fault{}
		})
		if lease, err := sem.Acquire(t.Context()); !errors.Is(err, client.ErrSessionExpired) {
			t.Errorf("got %v, %v", lease, err)
		}
	})
}

func TestOnePingServesAllSessionsOfAConnection(t *testing.T) {
	playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		var all []*client.Session
		for range 50 {
			all = append(all, session(t, c, client.SessionTimeout(30*time.Second)))
		}
		all = append(all, session(t, c, client.SessionTimeout(9*time.Second)))
		before := fake.count(protocol.KindPing)
		time.Sleep(time.Minute)
		if n := fake.count(protocol.KindPing) - before; n < 19 || n > 21 {
			t.Errorf("%d pings in a minute, with a smallest timeout of 9 seconds", n)
		}
		for _, s := range all {
			if s.State() != client.Attached {
				t.Errorf("a session is %v", s.State())
			}
		}
		check(t, all[50].Close(t.Context()))
		before = fake.count(protocol.KindPing)
		time.Sleep(time.Minute)
		if n := fake.count(protocol.KindPing) - before; n < 11 || n > 13 {
			t.Errorf("%d pings in a minute without it", n)
		}
	})
}

func TestASilentConnectionIsLeftInTimeForAnother(t *testing.T) {
	playFake(t, 2, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		fake.lead(0)
		s := session(t, c, client.SessionTimeout(10*time.Second))
		lease := acquire(t, s.Semaphore(name, client.Limit(1)))
		synctest.Wait()
		// Host 1 is isolated without notice, and another host is elected.
		fake.do(func() { fake.hosts[0].mute, fake.hosts[0].hang = true, true })
		time.Sleep(time.Second)
		fake.do(func() {
			fake.meta = 1
			fake.shards[0].moveTo(1)
		})
		time.Sleep(30 * time.Second)
		if err := lease.Err(); err != nil || s.State() != client.Attached {
			t.Errorf("the lease: %v; the session is %v: %v", err, s.State(), s.Err())
		}
		check(t, s.Semaphore(name).Update(t.Context(), nil))
	})
}

func TestPongsThatAreWithheldEndTheLease(t *testing.T) {
	playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		s := session(t, c, client.SessionTimeout(10*time.Second))
		lease := acquire(t, s.Semaphore(name, client.Limit(1)))
		started := time.Now()
		fake.on(func(_ *fakeHost, r *protocol.Request) fault {
			// All traffic except messages that confirm the session.
			return fault{ignore: r.Kind == protocol.KindPing || r.Kind == protocol.KindSessionAttach}
		})
		within(t, "the lease", endOf(lease).Sub(started), 8*time.Second, 9*time.Second)
		if s.State() != client.Expired {
			t.Errorf("the session is %v", s.State())
		}
	})
}

func TestASessionThatWasGivenUpIsEndedAtItsHost(t *testing.T) {
	playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		s := session(t, c, client.SessionTimeout(10*time.Second))
		id := s.ID()
		withhold := true
		fake.on(func(_ *fakeHost, r *protocol.Request) fault {
			// The host hears the client, but cannot confirm the session.
			return fault{ignore: withhold && r.Kind == protocol.KindSessionAttach, silent: withhold &&
				r.Kind == protocol.KindPing}
		})
		<-s.Context().Done()
		fake.do(func() {
			withhold = false
			if fake.sessions[id] == nil {
				t.Fatal("the host has ended the session before its client")
			}
		})
		eventually(t, 3*time.Second, "the host has ended it", func() (gone bool) {
			fake.do(func() { gone = fake.sessions[id] == nil })
			return gone
		})
	})
}

func TestAStolenSessionIsLetGo(t *testing.T) {
	playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		var states stateLog
		s := session(t, c, states.option())
		lease := acquire(t, s.Semaphore(name, client.Limit(1)))
		fake.do(func() {
			x := fake.sessions[s.ID()]
			x.sequence += 100
			x.detach(x.conn, &protocol.Result{Status: protocol.StatusBadSession})
		})
		<-lease.Context().Done()
		var end *client.SessionEnd
		if cause := lease.Err(); !errors.As(cause, &end) || end.Reason != client.EndTakenOver ||
			!errors.Is(cause, client.ErrBadSession) || !errors.Is(cause, client.ErrSessionExpired) {
			t.Errorf("the lease ended with %v", cause)
		}
		states.is(t, client.Attached, client.Expired)
		if fake.count(protocol.KindSessionAttach) != 0 {
			t.Error("it was taken back")
		}
	})
}

func TestASessionWhoseEndIsUnderWayIsGivenUpAtOnce(t *testing.T) {
	playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		s := session(t, c)
		lease := acquire(t, s.Semaphore(name, client.Limit(1)))
		fake.do(func() {
			x := fake.sessions[s.ID()]
			x.detach(x.conn, &protocol.Result{Status: protocol.StatusHeartbeatTimeout})
		})
		synctest.Wait()
		if !errors.Is(lease.Err(), client.ErrSessionExpired) {
			t.Errorf("the lease: %v", lease.Err())
		}
		// The request to end the session was lost. The client ends the session later.
		eventually(t, 15*time.Second, "it is free", func() bool { return describe(t, c).Count == 0 })
	})
}

// TestASessionThatIsOverByTheClientsClockWasNotEndedByItsHost: the answer to a start arrives after the lease has run
// out, together with the host's notice of the session's end. The client had already given up the session.
func TestASessionThatIsOverByTheClientsClockWasNotEndedByItsHost(t *testing.T) {
	playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		fake.once(protocol.KindSessionStart, fault{delay: 3 * time.Second})
		time.AfterFunc(1900*time.Millisecond, func() {
			fake.do(func() {
				for _, x := range fake.sessions {
					x.detach(x.conn, &protocol.Result{Status: protocol.StatusHeartbeatTimeout})
				}
			})
		})
		s, err := c.Session(t.Context(), path, client.SessionTimeout(2*time.Second))
		if err == nil {
			<-s.Context().Done()
			err = context.Cause(s.Context())
		}
		var end *client.SessionEnd
		if !errors.As(err, &end) || end.Reason != client.EndUnreachable {
			t.Errorf("the session ended with %v", err)
		}
		// The request to end the session was lost. The client ends the session later.
		eventually(t, 5*time.Second, "the session is over", func() (over bool) {
			fake.do(func() { over = len(fake.sessions) == 0 })
			return over
		})
	})
}

func TestAStolenSessionIsNotTakenBackOnReturning(t *testing.T) {
	playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		s := session(t, c)
		fake.do(func() { fake.sessions[s.ID()].sequence += 100 })
		fake.cut()
		<-s.Context().Done()
		if cause := context.Cause(s.Context()); !errors.Is(cause, client.ErrBadSession) {
			t.Errorf("the session ended with %v", cause)
		}
	})
}

func TestExpiryWhileWaitingIsReported(t *testing.T) {
	playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		acquire(t, session(t, c, client.SessionTimeout(time.Minute)).Semaphore(name, client.Limit(1)))
		s := session(t, c, client.SessionTimeout(2*time.Second))
		waiting := acquiring(t, t.Context(), s.Semaphore(name))
		fake.take(0)
		if r := <-waiting; !errors.Is(r.err, client.ErrSessionExpired) {
			t.Errorf("the acquire ended with %v", r.err)
		}
		fake.bring(0)
		eventually(t, 10*time.Second, "nobody waits", func() bool { return len(describe(t, c).Waiters) == 0 })
	})
}

func TestALeaseThatWasLostInAGapIsFoundOut(t *testing.T) {
	for _, how := range []string{"deleted", "deleted and made again", "untouched"} {
		t.Run(how, func(t *testing.T) {
			playFake(t, 2, 3, func(t *testing.T, fake *fakeCluster, c *client.Client) {
				s := session(t, c)
				lease := acquire(t, s.Semaphore(name, client.Limit(1)))
				kept := acquire(t, s.Semaphore("kept", client.Limit(1)))
				other := open(t, fake)
				away := true
				fake.on(func(_ *fakeHost, r *protocol.Request) fault {
					return fault{ignore: away && (r.Kind == protocol.KindSessionAttach ||
						r.Kind == protocol.KindSessionBind)}
				})
				fake.cut()
				quiet() // the client does not repeat a change without a session after its connection was cut
				if how != "untouched" {
					check(t, other.Node(path).Delete(t.Context(), name, client.Force()))
				}
				if how == "deleted and made again" {
					check(t, other.Node(path).Create(t.Context(), name, 1, nil))
				}
				time.Sleep(time.Second)
				check(t, lease.Err()) // no client can know
				fake.do(func() { away = false })
				eventually(t, 5*time.Second, "the session is attached",
					func() bool { return s.State() == client.Attached })
				time.Sleep(time.Second)
				if err := lease.Err(); (how == "untouched") != (err == nil) || err != nil &&
					!errors.Is(err, client.ErrLeaseLost) {
					t.Errorf("the lease: %v", err)
				}
				check(t, kept.Err())
			})
		})
	}
}

func TestTheUserLearnsWhyASessionIsDetached(t *testing.T) {
	playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		s := session(t, c)
		fake.do(func() { fake.token = "another" })
		fake.cut()
		time.Sleep(time.Second)
		if s.State() != client.Detached || !errors.Is(s.Err(), client.ErrUnauthorized) {
			t.Errorf("the session is %v: %v", s.State(), s.Err())
		}
		fake.do(func() { fake.token = "" })
		eventually(t, 3*time.Second, "the session is attached", func() bool { return s.State() == client.Attached })
	})
}

// TestTheSmallestTimeoutOutlivesASilentConnection: the smallest timeout leaves enough time to notice a silent
// connection and to attach over another one.
func TestTheSmallestTimeoutOutlivesASilentConnection(t *testing.T) {
	playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		s := session(t, c, client.SessionTimeout(client.MinSessionTimeout))
		lease := acquire(t, s.Semaphore(name, client.Limit(1)))
		for range 20 {
			time.Sleep(997 * time.Millisecond)
			silent := true
			fake.on(func(_ *fakeHost, r *protocol.Request) fault {
				if r.Kind == protocol.KindSessionAttach {
					silent = false // the attach comes over another connection
					return fault{delay: 49 * time.Millisecond}
				}
				return fault{ignore: silent && r.Kind == protocol.KindPing}
			})
			attached := fake.count(protocol.KindSessionAttach)
			eventually(t, time.Second, "it is attached again", func() bool {
				return fake.count(protocol.KindSessionAttach) > attached && s.State() == client.Attached
			})
			if err := lease.Err(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
