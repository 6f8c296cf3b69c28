package client_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
)

// stateLog records a session's states.
type stateLog struct {
	mu     sync.Mutex
	states []client.State
}

func (l *stateLog) option() client.SessionOption {
	return client.OnState(func(s client.State) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.states = append(l.states, s)
	})
}

func (l *stateLog) is(t *testing.T, want ...client.State) {
	t.Helper()
	eventually(t, 0, fmt.Sprintf("the states were %v", want), func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return slices.Equal(l.states, want)
	})
}

func TestAClosedSessionFreesWhatItOwned(t *testing.T) {
	play(t, 2, 2, func(t *testing.T, _ stage, c *client.Client) {
		var states stateLog
		s := session(t, c, states.option())
		lease := acquire(t, s.Semaphore(name, client.Limit(1)))
		waiting := acquiring(t, t.Context(), session(t, c).Semaphore(name))
		own := acquiring(t, t.Context(), s.Semaphore("other", client.Limit(1)))
		check(t, (<-own).err)
		check(t, s.Close(t.Context()))
		check(t, (<-waiting).err)
		for what, ctx := range map[string]context.Context{"lease": lease.Context(), "session": s.Context()} {
			if cause := context.Cause(ctx); !errors.Is(cause, client.ErrSessionClosed) ||
				errors.Is(cause, client.ErrSessionExpired) {
				t.Errorf("the %s ended with %v", what, cause)
			}
		}
		if _, err := s.Semaphore(name).Acquire(t.Context()); !errors.Is(err, client.ErrSessionClosed) {
			t.Errorf("used after its end: %v", err)
		}
		check(t, s.Close(t.Context()))
		check(t, lease.Release(t.Context()))
		states.is(t, client.Attached, client.Closed)
	})
}

func TestWaitersOfAClosedSessionLearnSo(t *testing.T) {
	play(t, 2, 2, func(t *testing.T, _ stage, c *client.Client) {
		acquire(t, session(t, c).Semaphore(name, client.Limit(1)))
		s := session(t, c)
		waiting := acquiring(t, t.Context(), s.Semaphore(name))
		turn := acquiring(t, t.Context(), s.Semaphore(name), client.Count(1))
		check(t, s.Close(t.Context()))
		if r := <-waiting; !errors.Is(r.err, client.ErrAborted) && !errors.Is(r.err, client.ErrSessionClosed) {
			t.Errorf("the first one: %v", r.err)
		}
		if r := <-turn; !errors.Is(r.err, client.ErrSessionClosed) {
			t.Errorf("the second one: %v", r.err)
		}
	})
}

func TestASessionThatComesBackInTimeKeepsItsLeases(t *testing.T) {
	play(t, 3, 3, func(t *testing.T, st stage, c *client.Client) {
		var states stateLog
		s := session(t, c, states.option())
		id := s.ID()
		lease := acquire(t, s.Semaphore(name, client.Limit(1)))
		waiting := acquiring(t, t.Context(), session(t, c).Semaphore(name))
		place := describe(t, c).Waiters[0].OrderID
		st.cut()
		eventually(t, time.Second, "the session is attached", func() bool { return s.State() == client.Attached })
		states.is(t, client.Attached, client.Detached, client.Attached)
		if err := lease.Err(); err != nil || s.ID() != id || s.Err() != nil {
			t.Errorf("lease %v, session %d and then %d, %v", err, id, s.ID(), s.Err())
		}
		check(t, lease.Release(t.Context()))
		r := <-waiting
		check(t, r.err)
		if r.lease.Fence() != place {
			t.Errorf("the waiter lost its place: %d, then %d", place, r.lease.Fence())
		}
	})
}

func TestLeasesHoldWhileDetachedAndEndBeforeTheHostGivesThemAway(t *testing.T) {
	play(t, 1, 1, func(t *testing.T, st stage, c *client.Client) {
		var states stateLog
		timeout := either(10*time.Second, 8*time.Second)
		s := session(t, c, client.SessionTimeout(timeout), states.option())
		lease := acquire(t, s.Semaphore(name, client.Limit(1)))
		ctx := lease.Context()
		time.Sleep(timeout * 3 / 2) // pings keep it
		check(t, lease.Err())
		for i := range st.size() {
			st.take(i)
		}
		down := time.Now()
		eventually(t, timeout*4/10, "detached", func() bool { return s.State() == client.Detached })
		if lease.Err() != nil || s.State() != client.Detached || s.Err() == nil {
			t.Errorf("detached: %v, %v, %v", lease.Err(), s.State(), s.Err())
		}
		<-ctx.Done()
		if after := time.Since(down); inBubble && (after < timeout/2 || after > timeout*9/10) {
			t.Errorf("given up after %v", after)
		}
		cause := context.Cause(ctx)
		var end *client.SessionEnd
		if !errors.Is(cause, client.ErrSessionExpired) || !errors.As(cause, &end) ||
			end.Reason != client.EndUnreachable {
			t.Errorf("the lease ended with %v", cause)
		}
		if cause := context.Cause(s.Context()); !errors.Is(cause, client.ErrSessionExpired) {
			t.Errorf("the session ended with %v", cause)
		}
		states.is(t, client.Attached, client.Detached, client.Expired)
		for i := range st.size() {
			st.bring(i)
		}
		st.ready()
		// Another session gets the semaphore within the lost session's timeout.
		acquire(t, session(t, open(t, st)).Semaphore(name))
	})
}

func TestAnExpiredSessionIsRenewed(t *testing.T) {
	play(t, 2, 2, func(t *testing.T, st stage, c *client.Client) {
		var states stateLog
		s := session(t, c, client.SessionTimeout(either(2*time.Second, 8*time.Second)), client.Recreate(),
			states.option())
		old := s.ID()
		lease := acquire(t, s.Semaphore(name, client.Limit(1)))
		st.take(0)
		st.take(1)
		<-lease.Context().Done()
		if !errors.Is(lease.Err(), client.ErrSessionExpired) {
			t.Errorf("the lease: %v", lease.Err())
		}
		st.bring(0)
		st.bring(1)
		if next := acquire(t, s.Semaphore(name)); next.Session() == old || s.ID() == old || next == lease {
			t.Errorf("the session is still %d", s.ID())
		}
		states.is(t, client.Attached, client.Detached, client.Expired, client.Attached)
		check(t, s.Context().Err())
	})
}

func TestADestroyedSessionLearnsSo(t *testing.T) {
	play(t, 2, 2, func(t *testing.T, st stage, c *client.Client) {
		s := session(t, c)
		lease := acquire(t, s.Semaphore(name, client.Limit(1)))
		waiting := acquiring(t, t.Context(), session(t, c).Semaphore(name))
		operator := open(t, st)
		check(t, operator.DestroySession(t.Context(), s.ID()))
		<-lease.Context().Done()
		var end *client.SessionEnd
		if !errors.As(lease.Err(), &end) || end.Reason != client.EndDestroyed {
			t.Errorf("the lease ended with %v", lease.Err())
		}
		check(t, (<-waiting).err)
		check(t, operator.DestroySession(t.Context(), s.ID()))
	})
}

func TestADroppedNodeEndsItsSessionsForGood(t *testing.T) {
	play(t, 2, 2, func(t *testing.T, _ stage, c *client.Client) {
		s := session(t, c, client.Recreate())
		lease := acquire(t, s.Semaphore(name, client.Limit(1)))
		check(t, c.DropNode(t.Context(), path))
		<-s.Context().Done()
		var end *client.SessionEnd
		if !errors.As(context.Cause(s.Context()), &end) || end.Reason != client.EndNodeDropped {
			t.Errorf("the session ended with %v", context.Cause(s.Context()))
		}
		if lease.Err() == nil {
			t.Error("the lease holds")
		}
		if _, err := c.Session(t.Context(), path); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("a session in a node that is not there: %v", err)
		}
		if err := c.DropNode(t.Context(), path); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("dropped twice: %v", err)
		}
	})
}

func TestASessionWithoutTimeoutEndsWithItsConnection(t *testing.T) {
	play(t, 1, 1, func(t *testing.T, st stage, c *client.Client) {
		s := session(t, c, client.SessionTimeout(0))
		lease := acquire(t, s.Semaphore(name, client.Limit(1)))
		time.Sleep(either(time.Minute, time.Second))
		check(t, lease.Err())
		st.cut()
		<-s.Context().Done()
		if !errors.Is(lease.Err(), client.ErrSessionExpired) {
			t.Errorf("the lease: %v", lease.Err())
		}
		acquire(t, session(t, c).Semaphore(name))
	})
}

func TestLeadersMoveAndNothingIsLost(t *testing.T) {
	play(t, 3, 4, func(t *testing.T, st stage, c *client.Client) {
		timeout := client.SessionTimeout(either(client.DefaultSessionTimeout, time.Minute))
		s := session(t, c, timeout)
		lease := acquire(t, s.Semaphore(name, client.Limit(1)))
		waiting := acquiring(t, t.Context(), session(t, c, timeout).Semaphore(name))
		for i := range either(9, 3) {
			st.lead(i % 3)
			check(t, s.Semaphore(name).Update(t.Context(), []byte{byte(i)}))
			eventually(t, time.Second, "the session is attached", func() bool { return s.State() == client.Attached })
		}
		check(t, lease.Err())
		check(t, lease.Release(t.Context()))
		check(t, (<-waiting).err)
	})
}

func TestSessionsShareTheirConnections(t *testing.T) {
	play(t, 2, 2, func(t *testing.T, st stage, c *client.Client) {
		for range 100 {
			acquire(t, session(t, c).Semaphore(name, client.Limit(1000)))
		}
		eventually(t, 0, "there is one connection to each host", func() bool {
			hosts, err := c.Status(t.Context())
			check(t, err)
			for _, h := range hosts {
				check(t, h.Err)
				if h.Connections != 1 {
					return false
				}
			}
			return len(hosts) == st.size()
		})
	})
}

func TestAClosedClientEndsItsSessions(t *testing.T) {
	play(t, 2, 2, func(t *testing.T, st stage, c *client.Client) {
		s := session(t, c, client.SessionTimeout(either(client.DefaultSessionTimeout, 10*time.Minute)))
		lease := acquire(t, s.Semaphore(name, client.Limit(1)))
		check(t, c.Close())
		if lease.Err() == nil || s.Context().Err() == nil {
			t.Errorf("lease %v, session %v", lease.Err(), s.Context().Err())
		}
		check(t, c.Close())
		other := open(t, st)
		// The session's end reaches another shard after a moment; the timeout would take far longer.
		soon := client.Wait(either(time.Second, realPatience))
		if _, err := session(t, other).Semaphore(name).Acquire(t.Context(), soon); err != nil {
			t.Errorf("what a closed client owned is not free: %v", err)
		}
		for what, err := range map[string]error{
			"session":  second(c.Session(t.Context(), path)),
			"describe": second(c.Node(path).Describe(t.Context(), name)),
			"ping":     c.Ping(t.Context()),
			"acquire":  second(s.Semaphore(name).Acquire(t.Context())),
		} {
			if !errors.Is(err, client.ErrClosed) && !errors.Is(err, client.ErrSessionClosed) {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
}

func TestSessionOptionsAreChecked(t *testing.T) {
	play(t, 1, 1, func(t *testing.T, _ stage, c *client.Client) {
		for _, d := range []time.Duration{-1, time.Hour, time.Microsecond, client.MinSessionTimeout - 1} {
			if _, err := c.Session(t.Context(), path, client.SessionTimeout(d)); !errors.Is(err, client.ErrBadRequest) {
				t.Errorf("a timeout of %v: %v", d, err)
			}
		}
		s := session(t, c, client.Description("worker-1"), client.SessionTimeout(7*time.Second))
		info, err := c.DescribeSession(t.Context(), s.ID())
		check(t, err)
		if info.Description != "worker-1" || info.Timeout != 7*time.Second || !info.Attached {
			t.Errorf("described as %+v", info)
		}
		if text := (&client.SessionEnd{SessionID: 3, Reason: client.EndTakenOver}).Error(); !strings.Contains(text,
			"another client took over the session") {
			t.Error(text)
		}
	})
}

func second[T any](_ T, err error) error { return err }
