package discovery_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/discovery"
	"github.com/signalbox/signalbox/server/servertest"
)

func register(t *testing.T, s *client.Session, address string) *discovery.Registration {
	t.Helper()
	r, err := discovery.Register(t.Context(), s, name, discovery.Endpoint{Address: address})
	check(t, err)
	return r
}

// addresses returns the listed addresses as one text.
func addresses(list []discovery.Endpoint) string {
	var all []string
	for _, e := range list {
		all = append(all, e.Address)
	}
	return strings.Join(all, " ")
}

// listed fails the test unless exactly the given addresses are listed.
func listed(t *testing.T, c *client.Client, want string) {
	t.Helper()
	list, err := discovery.List(t.Context(), c, path, name)
	check(t, err)
	if got := addresses(list); got != want {
		t.Errorf("listed are %q, want %q", got, want)
	}
}

func TestAnEndpointIsListedFromRegisterToClose(t *testing.T) {
	play(t, 3, func(t *testing.T, srv *servertest.Cluster, c *client.Client) {
		listed(t, c, "")
		a, b := register(t, session(t, open(t, srv)), "a"), register(t, session(t, c), "b")
		listed(t, c, "a b")
		fence := a.Fence()
		check(t, a.Update(t.Context(), discovery.Endpoint{Address: "c", Metadata: map[string]string{"zone": "x"}}))
		listed(t, c, "c b")
		list, err := discovery.List(t.Context(), c, path, name)
		check(t, err)
		if list[0].Metadata["zone"] != "x" || list[0].OrderID != fence || a.Fence() != fence {
			t.Errorf("updated: %+v, registered as %d", list[0], fence)
		}
		if a.Err() != nil || b.Err() != nil {
			t.Errorf("published, with %v and %v", a.Err(), b.Err())
		}
		check(t, a.Close(t.Context()))
		listed(t, c, "b")
		check(t, a.Close(t.Context()))
		<-a.Done()
		if err := a.Update(t.Context(), discovery.Endpoint{Address: "d"}); !errors.Is(err, discovery.ErrWithdrawn) ||
			!errors.Is(a.Err(), discovery.ErrWithdrawn) {
			t.Errorf("after Close: %v, %v", err, a.Err())
		}
		listed(t, c, "b")
	})
}

func TestAListOfANodeThatDoesNotExistIsAnError(t *testing.T) {
	play(t, 1, func(t *testing.T, _ *servertest.Cluster, c *client.Client) {
		if list, err := discovery.List(t.Context(), c, "/no/such", name); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("listed %v, %v", list, err)
		}
	})
}

func TestAnUpdateThatFailsLeavesTheEarlierEndpoint(t *testing.T) {
	play(t, 1, func(t *testing.T, srv *servertest.Cluster, c *client.Client) {
		a := register(t, session(t, c), "a")
		if err := a.Update(t.Context(), discovery.Endpoint{}); !errors.Is(err, client.ErrBadRequest) {
			t.Errorf("without an address: %v", err)
		}
		if err := a.Update(t.Context(), discovery.Endpoint{Address: strings.Repeat("x", 1<<21)}); err == nil {
			t.Error("an address of two megabytes was published")
		}
		// The host executes this request after the caller has stopped waiting.
		srv.Pause(1)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if err := a.Update(ctx, discovery.Endpoint{Address: "b"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("not answered: %v", err)
		}
		srv.Resume(1)
		time.Sleep(time.Second)
		waitForQuiet()
		listed(t, c, "a")
		if a.Err() != nil {
			t.Error(a.Err())
		}
	})
}

func TestAnEndpointIsPublishedAgainAfterItsSessionExpired(t *testing.T) {
	play(t, 1, func(t *testing.T, srv *servertest.Cluster, c *client.Client) {
		s := session(t, open(t, srv), client.SessionTimeout(2*time.Second), client.Recreate())
		a := register(t, s, "a")
		check(t, a.Update(t.Context(), discovery.Endpoint{Address: "b"}))
		for range 3 {
			id, fence := s.ID(), a.Fence()
			srv.Stop(1) // long enough for the client to give up its session
			time.Sleep(5 * time.Second)
			if a.Err() == nil {
				t.Error("nothing is published, and Err does not tell")
			}
			check(t, srv.Restart(1))
			time.Sleep(20 * time.Second) // the previous session's grace period
			listed(t, c, "b")
			if s.ID() == id || a.Fence() <= fence || a.Err() != nil {
				t.Errorf("session %d after %d, order %d after %d, %v", s.ID(), id, a.Fence(), fence, a.Err())
			}
		}
		check(t, a.Close(t.Context()))
		listed(t, c, "")
	})
}

func TestAnEndpointIsPublishedAgainWhenItsSessionIsDestroyedOrItsNameDeleted(t *testing.T) {
	play(t, 1, func(t *testing.T, _ *servertest.Cluster, c *client.Client) {
		s := session(t, c, client.Recreate())
		a := register(t, s, "a")
		for i := range 5 {
			check(t, c.DestroySession(t.Context(), s.ID()))
			waitForQuiet()
			listed(t, c, "a")
			check(t, c.Node(path).Delete(t.Context(), name, client.Force()))
			waitForQuiet()
			check(t, a.Update(t.Context(), discovery.Endpoint{Address: fmt.Sprint(i)}))
			check(t, c.DestroySession(t.Context(), s.ID()))
			check(t, a.Update(t.Context(), discovery.Endpoint{Address: "a"}))
			waitForQuiet()
			listed(t, c, "a")
		}
	})
}

func TestARegistrationEndsWithASessionThatIsNotRenewed(t *testing.T) {
	play(t, 1, func(t *testing.T, _ *servertest.Cluster, c *client.Client) {
		s, closed, dropped := session(t, c), session(t, c, client.Recreate()), session(t, c, client.Recreate())
		a, b, d := register(t, s, "a"), register(t, closed, "b"), register(t, dropped, "d")
		check(t, c.DestroySession(t.Context(), s.ID()))
		<-a.Done()
		if !errors.Is(a.Err(), client.ErrSessionExpired) {
			t.Errorf("destroyed: %v", a.Err())
		}
		check(t, a.Close(t.Context()))
		check(t, closed.Close(t.Context()))
		<-b.Done()
		if !errors.Is(b.Err(), client.ErrSessionClosed) {
			t.Errorf("closed: %v", b.Err())
		}
		waitForQuiet() // the session's shard must report the end to the semaphore's shard
		listed(t, c, "d")
		check(t, c.DropNode(t.Context(), path))
		<-d.Done()
		var end *client.SessionEnd
		if !errors.As(d.Err(), &end) || end.Reason != client.EndNodeDropped {
			t.Errorf("dropped: %v", d.Err())
		}
	})
}

func TestCloseDoesNotWaitForASessionThatIsAway(t *testing.T) {
	play(t, 1, func(t *testing.T, srv *servertest.Cluster, c *client.Client) {
		a := register(t, session(t, open(t, srv), client.SessionTimeout(time.Second), client.Recreate()), "a")
		srv.Stop(1)
		time.Sleep(3 * time.Second)
		began := time.Now()
		check(t, a.Close(t.Context()))
		if took := time.Since(began); took > 0 {
			t.Errorf("it took %v", took)
		}
		check(t, srv.Restart(1))
		time.Sleep(30 * time.Second)
		listed(t, c, "")
	})
}

func TestASemaphoreWithALimitTakesNoMoreThanThat(t *testing.T) {
	play(t, 1, func(t *testing.T, _ *servertest.Cluster, c *client.Client) {
		check(t, c.Node(path).Create(t.Context(), name, 1, nil))
		register(t, session(t, c), "a")
		_, err := discovery.Register(t.Context(), session(t, c), name, discovery.Endpoint{Address: "b"})
		if !errors.Is(err, discovery.ErrFull) {
			t.Errorf("registered with %v", err)
		}
	})
}
