package client_test

import (
	"errors"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

func TestASessionIsBoundAgainAtAHostThatForgotIt(t *testing.T) {
	unknown := fault{refuse: &protocol.Result{Status: protocol.StatusBadSession}}
	playFake(t, 2, 2, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		s := session(t, c)
		sem := s.Semaphore(name, client.Limit(1))
		fake.once(protocol.KindAcquire, unknown)
		lease := acquire(t, sem)
		fake.once(protocol.KindSemaphoreDescribe, unknown)
		second(sem.Describe(t.Context(), client.OnChanged(func(bool, bool) {})))
		fake.times(3, protocol.KindRelease, unknown)
		check(t, lease.Release(t.Context()))
		fake.times(1000, protocol.KindAcquire, unknown)
		if _, err := sem.Acquire(t.Context()); !errors.Is(err, client.ErrBadSession) {
			t.Errorf("without end: %v", err)
		}
		fake.on(nil)
		check(t, acquire(t, sem).Release(t.Context()))
	})
}

func TestABindingThatIsRefusedForAMomentIsTriedAgain(t *testing.T) {
	playFake(t, 3, 3, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		s := session(t, c)
		fake.times(5, protocol.KindSessionBind, fault{refuse: unavailable})
		for i := range 9 {
			acquire(t, s.Semaphore(string(rune('a'+i)), client.Limit(1)))
		}
		if n := fake.count(protocol.KindSessionBind); n != 7 {
			t.Errorf("asked %d times for two bindings", n)
		}
	})
}

func TestALossThatComesBeforeTheAnswerIsNotOverlooked(t *testing.T) {
	playFake(t, 2, 2, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		s := session(t, c)
		// A semaphore in a shard with another leader than the session's home.
		name := ""
		fake.do(func() {
			fake.lossAtHome = true
			for i := 0; ; i++ {
				name = string(rune('a' + i))
				if fake.shardOf(slotOf(s.ID(), fake, name)).leader != fake.home(s.ID()).leader {
					return
				}
			}
		})
		sem := s.Semaphore(name)
		check(t, sem.Create(t.Context(), 1, nil))
		fake.once(protocol.KindAcquire, fault{delay: time.Second})
		done := acquiring(t, t.Context(), sem)
		other := open(t, fake)
		check(t, other.Node(path).Delete(t.Context(), name, client.Force()))
		if r := <-done; !errors.Is(r.err, client.ErrLeaseLost) || !errors.Is(r.err, client.ErrDeleted) {
			t.Errorf("got %v, %v", r.lease, r.err)
		}
		if _, err := sem.Acquire(t.Context()); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("after that: %v", err)
		}
	})
}

func TestAnAcquireThatWasReplacedInAGapLearnsSo(t *testing.T) {
	playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		acquire(t, session(t, c).Semaphore(name, client.Limit(1)))
		sem := session(t, c).Semaphore(name)
		older := acquiring(t, t.Context(), sem)
		fake.once(protocol.KindAcquire, fault{ignore: true})
		acquiring(t, t.Context(), sem)
		fake.cut() // the newer one is first in the queue, and is repeated first
		if r := <-older; !errors.Is(r.err, client.ErrReplaced) {
			t.Errorf("the older one ended with %v", r.err)
		}
		if d := describe(t, c); len(d.Waiters) != 1 {
			t.Errorf("waiters: %+v", d.Waiters)
		}
	})
}

func TestARenewedSessionThatDiesAtOnceIsNotRenewedWithoutAPause(t *testing.T) {
	playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		s := session(t, c, client.Recreate())
		stop := time.Now().Add(10 * time.Second)
		for time.Now().Before(stop) {
			fake.do(func() {
				for id := range fake.sessions {
					fake.home(id).end(id, shard.Command{Kind: shard.CmdSessionEnd, Flags: shard.FlagOperator})
				}
			})
			time.Sleep(time.Millisecond)
		}
		if n := fake.count(protocol.KindSessionStart); n > 60 {
			t.Errorf("started %d times in 10 seconds", n)
		}
		eventually(t, 5*time.Second, "it lives", func() bool { return s.State() == client.Attached })
	})
}

func TestAChangeWithoutSessionIsNotTriedAgainWhereItMayHaveBeenDone(t *testing.T) {
	playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		n := c.Node(path)
		fake.once(protocol.KindSemaphoreCreate, lostAfter)
		if err := n.Create(t.Context(), name, 1, nil); !errors.Is(err, client.ErrUnavailable) {
			t.Errorf("got %v", err)
		}
		if err := n.Create(t.Context(), name, 1, nil); !errors.Is(err, client.ErrAlreadyExists) {
			t.Errorf("got %v", err)
		}
		fake.once(protocol.KindSemaphoreUpdate, fault{refuse: &protocol.Result{Status: protocol.StatusOverloaded}})
		check(t, n.Update(t.Context(), name, []byte("x")))
		check(t, n.Delete(t.Context(), name))
		if err := n.Delete(t.Context(), name); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("got %v", err)
		}
	})
}

func TestAnAnswerToANodesDropThatWasLostIsNoError(t *testing.T) {
	playFake(t, 1, 1, func(t *testing.T, fake *fakeCluster, c *client.Client) {
		fake.once(protocol.KindNodeDrop, lostAfter)
		check(t, c.DropNode(t.Context(), path))
		fake.once(protocol.KindNodeCreate, lostAfter)
		n, err := c.CreateNode(t.Context(), path, client.NodeConfig{})
		check(t, err)
		fake.once(protocol.KindSessionStart, lostAfter)
		s := session(t, c)
		fake.once(protocol.KindSessionStop, lostAfter)
		check(t, s.Close(t.Context()))
		fake.once(protocol.KindSessionDestroy, lostAfter)
		check(t, c.DestroySession(t.Context(), session(t, c).ID()))
		if n.ID == 0 {
			t.Error("no id")
		}
	})
}

func TestAnEphemeralSemaphoreDoesWhatASemaphoreDoes(t *testing.T) {
	playFake(t, 1, 1, func(t *testing.T, _ *fakeCluster, c *client.Client) {
		x := session(t, c).Ephemeral(name)
		lease, err := x.Acquire(t.Context(), client.Count(5))
		check(t, err)
		if _, ok, err := x.TryAcquire(t.Context(), client.Count(3)); !ok || err != nil || lease.Count() != 3 ||
			lease.Name() != x.Name() {
			t.Errorf("%v, %v, %d", ok, err, lease.Count())
		}
		check(t, x.Update(t.Context(), []byte("x"), client.Guard(lease)))
		for v, err := range x.Watch(t.Context()) {
			if err != nil || string(v.Data) != "x" || !v.Ephemeral || v.Limit != client.All {
				t.Errorf("%+v, %v", v, err)
			}
			if o, ok := v.Owner(lease.Fence()); !ok || o.Count != 3 {
				t.Errorf("%+v, %v", o, ok)
			}
			break
		}
		if released, err := x.Release(t.Context()); !released || err != nil || lease.Err() == nil {
			t.Errorf("%v, %v, %v", released, err, lease.Err())
		}
		if err := lease.Change(t.Context(), client.Count(1)); !errors.Is(err, client.ErrReleased) {
			t.Errorf("changing what is released: %v", err)
		}
	})
}
