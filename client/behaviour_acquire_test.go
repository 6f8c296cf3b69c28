package client_test

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
)

func TestALeaseIsOwnedUntilItIsReleased(t *testing.T) {
	play(t, 1, 1, func(t *testing.T, _ stage, c *client.Client) {
		sem := session(t, c).Semaphore(name, client.Limit(3))
		lease := acquire(t, sem, client.Count(2), client.Data([]byte("me")))
		d := describe(t, c)
		if len(d.Owners) != 1 || d.Owners[0].OrderID != lease.Fence() || d.Owners[0].Count != 2 ||
			string(d.Owners[0].Data) != "me" || d.Count != 2 {
			t.Errorf("owners: %+v", d)
		}
		ctx := lease.Context()
		check(t, ctx.Err())
		check(t, lease.Release(t.Context()))
		if cause := context.Cause(ctx); !errors.Is(cause, client.ErrReleased) {
			t.Errorf("the context ended with %v", cause)
		}
		if !errors.Is(lease.Err(), client.ErrReleased) {
			t.Errorf("Err is %v", lease.Err())
		}
		check(t, lease.Release(t.Context()))
		if d := describe(t, c); d.Count != 0 {
			t.Errorf("after the release: %+v", d)
		}
		if next := acquire(t, sem); next.Fence() <= lease.Fence() || next == lease {
			t.Errorf("the fence went from %d to %d", lease.Fence(), next.Fence())
		}
	})
}

func TestASemaphoreWithoutLimitIsNotCreated(t *testing.T) {
	play(t, 1, 1, func(t *testing.T, _ stage, c *client.Client) {
		s := session(t, c)
		if _, err := s.Semaphore(name).Acquire(t.Context()); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("got %v", err)
		}
		acquire(t, s.Semaphore(name, client.Limit(2), client.InitialData([]byte("x"))))
		if d := describe(t, c); d.Limit != 2 || string(d.Data) != "x" {
			t.Errorf("created as %+v", d)
		}
		if err := s.Semaphore(name).Create(t.Context(), 7, nil); !errors.Is(err, client.ErrAlreadyExists) {
			t.Errorf("create again: %v", err)
		}
	})
}

func TestAnAcquireEndsWithItsTimeout(t *testing.T) {
	play(t, 1, 1, func(t *testing.T, _ stage, c *client.Client) {
		acquire(t, session(t, c).Semaphore(name, client.Limit(1)))
		sem := session(t, c).Semaphore(name)
		started := time.Now()
		timeout := either(5*time.Second, time.Second)
		_, err := sem.Acquire(t.Context(), client.Wait(timeout))
		if !errors.Is(err, client.ErrNotAcquired) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(started); took < timeout || inBubble && took > timeout+200*time.Millisecond {
			t.Errorf("it took %v", took)
		}
		if d := describe(t, c); len(d.Waiters) != 0 {
			t.Errorf("waiters: %+v", d.Waiters)
		}
	})
}

func TestTryAcquireDoesNotWait(t *testing.T) {
	play(t, 1, 1, func(t *testing.T, _ stage, c *client.Client) {
		acquire(t, session(t, c).Semaphore(name, client.Limit(1)))
		lease, ok, err := session(t, c).Semaphore(name).TryAcquire(t.Context())
		if lease != nil || ok || err != nil {
			t.Errorf("got %v, %v, %v", lease, ok, err)
		}
	})
}

func TestAWaiterLearnsItsPlaceAndIsGrantedUnderIt(t *testing.T) {
	play(t, 1, 1, func(t *testing.T, _ stage, c *client.Client) {
		first := acquire(t, session(t, c).Semaphore(name, client.Limit(1)))
		place := uint64(0)
		done := queueing(t, t.Context(), session(t, c).Semaphore(name), func(order uint64) { place = order })
		if place <= first.Fence() {
			t.Fatalf("queued under %d, behind %d", place, first.Fence())
		}
		check(t, first.Release(t.Context()))
		r := <-done
		check(t, r.err)
		if r.lease.Fence() != place {
			t.Errorf("granted under %d, queued under %d", r.lease.Fence(), place)
		}
	})
}

func TestANewerAcquireTakesThePlaceOfTheOlder(t *testing.T) {
	play(t, 1, 1, func(t *testing.T, _ stage, c *client.Client) {
		first := acquire(t, session(t, c).Semaphore(name, client.Limit(3)), client.Count(3))
		sem := session(t, c).Semaphore(name)
		var places []uint64
		note := func(order uint64) { places = append(places, order) }
		older := queueing(t, t.Context(), sem, note, client.Count(2))
		newer := queueing(t, t.Context(), sem, note, client.Count(1))
		if r := <-older; !errors.Is(r.err, client.ErrAborted) || !errors.Is(r.err, client.ErrReplaced) {
			t.Errorf("the older one ended with %v, %v", r.lease, r.err)
		}
		check(t, first.Release(t.Context()))
		r := <-newer
		check(t, r.err)
		if len(places) != 2 || places[0] != places[1] || r.lease.Fence() != places[0] || r.lease.Count() != 1 {
			t.Errorf("places %v, granted %d of %d", places, r.lease.Count(), r.lease.Fence())
		}
	})
}

func TestAnAcquireThatWantsMoreIsRefusedAndTheOlderWaitsOn(t *testing.T) {
	play(t, 1, 1, func(t *testing.T, _ stage, c *client.Client) {
		first := acquire(t, session(t, c).Semaphore(name, client.Limit(3)), client.Count(3))
		sem := session(t, c).Semaphore(name)
		older := acquiring(t, t.Context(), sem)
		if _, err := sem.Acquire(t.Context(), client.Count(2)); !errors.Is(err, client.ErrBadRequest) {
			t.Errorf("the newer one ended with %v", err)
		}
		check(t, first.Release(t.Context()))
		check(t, (<-older).err)
	})
}

func TestAnOwnerLowersItsCountAndKeepsItsLease(t *testing.T) {
	play(t, 1, 1, func(t *testing.T, _ stage, c *client.Client) {
		sem := session(t, c).Semaphore(name, client.Limit(3))
		lease := acquire(t, sem, client.Count(3))
		waiter := acquiring(t, t.Context(), session(t, c).Semaphore(name), client.Count(2))
		same := acquire(t, sem, client.Count(1), client.Data([]byte("less")))
		if same != lease || lease.Count() != 1 {
			t.Errorf("got another lease, or the count %d", lease.Count())
		}
		check(t, (<-waiter).err)
		if _, err := sem.Acquire(t.Context(), client.Count(2)); !errors.Is(err, client.ErrBadRequest) {
			t.Errorf("raised: %v", err)
		}
		check(t, lease.Err())
		check(t, lease.Change(t.Context(), client.Data([]byte("new"))))
		if d := describe(t, c); d.Count != 3 || string(d.Owners[0].Data) != "new" || d.Owners[0].Count != 1 {
			t.Errorf("after the change: %+v", d.Owners)
		}
	})
}

func TestReleasingWhileWaitingAbortsTheAcquire(t *testing.T) {
	play(t, 1, 1, func(t *testing.T, _ stage, c *client.Client) {
		acquire(t, session(t, c).Semaphore(name, client.Limit(1)))
		sem := session(t, c).Semaphore(name)
		done := acquiring(t, t.Context(), sem)
		released, err := sem.Release(t.Context())
		if !released || err != nil {
			t.Errorf("released %v, %v", released, err)
		}
		if r := <-done; !errors.Is(r.err, client.ErrAborted) || !errors.Is(r.err, client.ErrReleased) {
			t.Errorf("the acquire ended with %v", r.err)
		}
		if released, err = sem.Release(t.Context()); released || err != nil {
			t.Errorf("released again: %v, %v", released, err)
		}
	})
}

func TestAForcedDeleteIsReportedToOwnersAndWaiters(t *testing.T) {
	play(t, 2, 2, func(t *testing.T, _ stage, c *client.Client) {
		lease := acquire(t, session(t, c).Semaphore(name, client.Limit(1)))
		ctx := lease.Context()
		waiter := acquiring(t, t.Context(), session(t, c).Semaphore(name))
		operator := c.Node(path)
		if err := operator.Delete(t.Context(), name); !errors.Is(err, client.ErrPreconditionFailed) {
			t.Errorf("without force: %v", err)
		}
		check(t, operator.Delete(t.Context(), name, client.Force()))
		<-ctx.Done()
		if cause := context.Cause(ctx); !errors.Is(cause, client.ErrLeaseLost) || !errors.Is(cause, client.ErrDeleted) {
			t.Errorf("the lease ended with %v", cause)
		}
		if err := lease.Release(t.Context()); !errors.Is(err, client.ErrLeaseLost) {
			t.Errorf("releasing what is lost: %v", err)
		}
		if r := <-waiter; !errors.Is(r.err, client.ErrAborted) || !errors.Is(r.err, client.ErrDeleted) {
			t.Errorf("the waiter ended with %v", r.err)
		}
	})
}

func TestAnUpdateCanBeGuardedByALease(t *testing.T) {
	play(t, 2, 2, func(t *testing.T, _ stage, c *client.Client) {
		sem := session(t, c).Semaphore(name, client.Limit(1))
		lease := acquire(t, sem)
		check(t, sem.Update(t.Context(), []byte("mine"), client.Guard(lease)))
		check(t, lease.Update(t.Context(), []byte("still mine")))
		check(t, lease.Release(t.Context()))
		if err := lease.Update(t.Context(), []byte("late")); !errors.Is(err, client.ErrReleased) {
			t.Errorf("a released lease: %v", err)
		}
		other := session(t, c)
		stolen := acquire(t, other.Semaphore(name))
		check(t, other.Semaphore(name).Update(t.Context(), []byte("theirs"), client.Guard(stolen)))
		if d := describe(t, c); string(d.Data) != "theirs" {
			t.Errorf("data %q", d.Data)
		}
		if err := sem.Update(t.Context(), nil, client.Guard(acquire(t,
			session(t, c).Semaphore("other", client.Limit(1))))); !errors.Is(err, client.ErrBadRequest) {
			t.Errorf("a lease of another semaphore: %v", err)
		}
	})
}

func TestAnUpdateCanAskForARevision(t *testing.T) {
	play(t, 2, 2, func(t *testing.T, _ stage, c *client.Client) {
		ctx, node := t.Context(), c.Node(path)
		sem := session(t, c).Semaphore(name)
		check(t, sem.Create(ctx, 1, []byte("a")))
		read := describe(t, c).Revision
		check(t, sem.Update(ctx, []byte("b"), client.IfRevision(read)))
		if err := sem.Update(ctx, []byte("c"), client.IfRevision(read)); !errors.Is(err, client.ErrPreconditionFailed) {
			t.Errorf("of an old revision: %v", err)
		}
		if err := node.Update(ctx, name, []byte("c"), client.IfRevision(read)); !errors.Is(err,
			client.ErrPreconditionFailed) {
			t.Errorf("of an old revision, by nobody: %v", err)
		}
		check(t, node.Update(ctx, name, []byte("c"), client.IfRevision(describe(t, c).Revision)))
		read = describe(t, c).Revision
		lease := acquire(t, sem)
		if err := lease.Update(ctx, []byte("d"), client.IfRevision(read)); !errors.Is(err,
			client.ErrPreconditionFailed) {
			t.Errorf("of a revision before it was owned: %v", err)
		}
		check(t, lease.Update(ctx, []byte("d"), client.IfRevision(describe(t, c).Revision)))
		if err := node.Update(ctx, name, nil, client.Guard(lease)); !errors.Is(err, client.ErrBadRequest) {
			t.Errorf("a node has no leases: %v", err)
		}
		if d := describe(t, c); string(d.Data) != "d" {
			t.Errorf("data %q", d.Data)
		}
	})
}

func TestAnErrorSaysWhatWasNotFound(t *testing.T) {
	play(t, 2, 2, func(t *testing.T, _ stage, c *client.Client) {
		ctx, s, nowhere := t.Context(), session(t, c), c.Node("/nowhere")
		for what, err := range map[string]error{
			"acquire":          second(s.Semaphore(name).Acquire(ctx)),
			"update":           s.Semaphore(name).Update(ctx, nil),
			"delete":           s.Semaphore(name).Delete(ctx),
			"describe":         second(s.Semaphore(name).Describe(ctx)),
			"describe by node": second(c.Node(path).Describe(ctx, name)),
			"update by node":   c.Node(path).Update(ctx, name, nil),
		} {
			if !errors.Is(err, client.ErrSemaphoreNotFound) || errors.Is(err, client.ErrNodeNotFound) ||
				!errors.Is(err, client.ErrNotFound) {
				t.Errorf("no semaphore, %s: %v", what, err)
			}
		}
		for what, err := range map[string]error{
			"session":       second(c.Session(ctx, "/nowhere")),
			"describe node": second(c.DescribeNode(ctx, "/nowhere")),
			"drop node":     c.DropNode(ctx, "/nowhere"),
			"alter node":    second(c.AlterNode(ctx, "/nowhere", client.NodeConfig{})),
			"describe":      second(nowhere.Describe(ctx, name)),
			"create":        nowhere.Create(ctx, name, 1, nil),
		} {
			if errors.Is(err, client.ErrSemaphoreNotFound) || !errors.Is(err, client.ErrNodeNotFound) ||
				!errors.Is(err, client.ErrNotFound) {
				t.Errorf("no node, %s: %v", what, err)
			}
			if err != nil && !strings.Contains(err.Error(), "/nowhere: ") {
				t.Errorf("no node, %s, which does not name it: %v", what, err)
			}
		}
	})
}

func TestAnEphemeralSemaphoreIsLockedAndShared(t *testing.T) {
	play(t, 2, 2, func(t *testing.T, _ stage, c *client.Client) {
		a, b := session(t, c).Ephemeral("object/17"), session(t, c).Ephemeral("object/17")
		lock, err := a.Lock(t.Context())
		check(t, err)
		if _, ok, err := b.TryRLock(t.Context()); ok || err != nil {
			t.Errorf("shared what is locked: %v, %v", ok, err)
		}
		check(t, lock.Release(t.Context()))
		one, err := a.RLock(t.Context())
		check(t, err)
		two, err := b.RLock(t.Context())
		check(t, err)
		if _, ok, err := b.TryLock(t.Context()); ok || !errors.Is(err, client.ErrBadRequest) {
			t.Errorf("an upgrade: %v, %v", ok, err)
		}
		check(t, one.Release(t.Context()))
		check(t, two.Release(t.Context()))
		if _, err := a.Describe(t.Context()); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("it is still there: %v", err)
		}
		if _, err := session(t, c).Semaphore(name, client.Limit(1)).Acquire(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := session(t, c).Ephemeral(name).Lock(t.Context()); !errors.Is(err, client.ErrPreconditionFailed) {
			t.Errorf("a persistent one taken for an ephemeral one: %v", err)
		}
	})
}

func TestACancelledAcquireLeavesNoWaiter(t *testing.T) {
	play(t, 2, 2, func(t *testing.T, _ stage, c *client.Client) {
		first := acquire(t, session(t, c).Semaphore(name, client.Limit(1)))
		ctx, cancel := context.WithCancel(t.Context())
		done := acquiring(t, ctx, session(t, c).Semaphore(name))
		if d := describe(t, c); len(d.Waiters) != 1 {
			t.Fatalf("waiters: %+v", d.Waiters)
		}
		cancel()
		if r := <-done; !errors.Is(r.err, context.Canceled) {
			t.Errorf("got %v", r.err)
		}
		eventually(t, time.Millisecond, "nobody waits", func() bool { return len(describe(t, c).Waiters) == 0 })
		if d := describe(t, c); len(d.Owners) != 1 {
			t.Errorf("left behind: %+v", d)
		}
		check(t, first.Err())
	})
}

func TestAcquiresOfOneSessionTakeTurns(t *testing.T) {
	play(t, 1, 1, func(t *testing.T, _ stage, c *client.Client) {
		s := session(t, c)
		var all sync.WaitGroup
		var mu sync.Mutex
		var got []uint64
		for range 50 {
			all.Go(func() {
				lease, ok, err := s.Semaphore(name, client.Limit(1)).TryAcquire(t.Context())
				if err != nil || !ok {
					t.Errorf("got %v, %v", ok, err)
					return
				}
				mu.Lock()
				got = append(got, lease.Fence())
				mu.Unlock()
			})
		}
		all.Wait()
		if slices.Sort(got); len(got) == 0 || got[0] != got[len(got)-1] {
			t.Errorf("one session has several leases: %v", got)
		}
	})
}

func TestWhatCannotBeIsRefusedAtOnce(t *testing.T) {
	play(t, 1, 1, func(t *testing.T, _ stage, c *client.Client) {
		sem := session(t, c).Semaphore(name, client.Limit(1))
		for what, option := range map[string]client.AcquireOption{
			"no count": client.Count(0), "more than the limit": client.Count(2),
			"too long":      client.Wait(25 * time.Hour),
			"too much data": client.Data(make([]byte, 1<<20)), "a timeout below zero": client.Wait(-time.Second),
		} {
			if _, err := sem.Acquire(t.Context(), option); !errors.Is(err, client.ErrBadRequest) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if _, err := sem.Describe(t.Context(), client.WithConsistency(client.Strict)); !errors.Is(err,
			client.ErrSemaphoreNotFound) {
			t.Errorf("a refused acquire has created it: %v", err)
		}
		if _, err := sem.Acquire(t.Context(), client.Wait(-1)); !errors.Is(err, client.ErrBadRequest) {
			t.Errorf("a timeout below zero where it is free: %v", err)
		}
		acquire(t, sem)
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := sem.Acquire(cancelled); !errors.Is(err, context.Canceled) {
			t.Errorf("a context that is over: %v", err)
		}
	})
}

func TestALimitOfNothingIsRefused(t *testing.T) {
	play(t, 1, 1, func(t *testing.T, _ stage, c *client.Client) {
		s := session(t, c)
		if _, err := s.Semaphore(name, client.Limit(0)).Acquire(t.Context()); !errors.Is(err, client.ErrBadRequest) {
			t.Errorf("where there is none: %v", err)
		}
		check(t, s.Semaphore(name).Create(t.Context(), 3, nil))
		if _, _, err := s.Semaphore(name, client.Limit(0)).TryAcquire(t.Context()); !errors.Is(err,
			client.ErrBadRequest) {
			t.Errorf("where there is one: %v", err)
		}
		// The limit applies only to creation: an existing semaphore has its own, larger limit.
		acquire(t, s.Semaphore(name, client.Limit(1)), client.Count(3))
	})
}

// TestAnUpdateWithoutTheLeaseIsFencedAndSaysWhy: an update by an ended lease, or under its guard, fails with the
// reason, whether the client or the host noticed the end first.
func TestAnUpdateWithoutTheLeaseIsFencedAndSaysWhy(t *testing.T) {
	play(t, 1, 1, func(t *testing.T, _ stage, c *client.Client) {
		s := session(t, c)
		sem := s.Semaphore(name, client.Limit(1))
		for what, test := range map[string]struct {
			end func(*client.Lease) error
			why error
		}{
			"released": {func(l *client.Lease) error { return l.Release(t.Context()) }, client.ErrReleased},
			"deleted": {func(l *client.Lease) error { return sem.Delete(t.Context(), client.Force()) },
				client.ErrLeaseLost},
		} {
			lease := acquire(t, sem)
			check(t, test.end(lease))
			<-lease.Context().Done()
			for how, err := range map[string]error{
				"Lease.Update": lease.Update(t.Context(), []byte("late")),
				"Guard":        sem.Update(t.Context(), []byte("late"), client.Guard(lease)),
			} {
				if !errors.Is(err, client.ErrFenced) || !errors.Is(err, test.why) {
					t.Errorf("%s, %s: %v", what, how, err)
				}
			}
		}
		lease := acquire(t, sem)
		check(t, s.Close(t.Context()))
		if err := lease.Update(t.Context(), nil); !errors.Is(err, client.ErrFenced) ||
			!errors.Is(err, client.ErrSessionClosed) {
			t.Errorf("closed: %v", err)
		}
	})
}

func TestNamesThatCannotBeAreRefusedAlike(t *testing.T) {
	play(t, 1, 1, func(t *testing.T, _ stage, c *client.Client) {
		s, ctx := session(t, c), t.Context()
		for _, bad := range []string{"", strings.Repeat("n", 1025)} {
			sem, ephemeral, node := s.Semaphore(bad, client.Limit(1)), s.Ephemeral(bad), c.Node(path)
			for what, err := range map[string]error{
				"Acquire": second(sem.Acquire(ctx)), "TryAcquire": third(sem.TryAcquire(ctx)),
				"Release": second(sem.Release(ctx)),
				"Create":  sem.Create(ctx, 1, nil), "Update": sem.Update(ctx, nil), "Delete": sem.Delete(ctx),
				"Describe": second(sem.Describe(ctx)), "Watch": firstOf(sem.Watch(ctx)),
				"Lock": second(ephemeral.Lock(ctx)), "Ephemeral.Describe": second(ephemeral.Describe(ctx)),
				"Node.Create": node.Create(ctx, bad, 1, nil), "Node.Update": node.Update(ctx, bad, nil),
				"Node.Delete": node.Delete(ctx, bad), "Node.Describe": second(node.Describe(ctx, bad)),
				"Node.Watch": firstOf(node.Watch(ctx, bad)), "of no node": second(c.Node("/nowhere").Describe(ctx,
					bad)),
				"CreateNode": second(c.CreateNode(ctx, bad,
					client.NodeConfig{})), "DescribeNode": second(c.DescribeNode(ctx, bad)),
				"AlterNode": second(c.AlterNode(ctx, bad, client.NodeConfig{})), "DropNode": c.DropNode(ctx, bad),
				"Session": second(c.Session(ctx, bad)),
			} {
				if !errors.Is(err, client.ErrBadRequest) {
					t.Errorf("%s of a name of %d bytes: %v", what, len(bad), err)
				}
			}
		}
	})
}

func third[T, U any](_ T, _ U, err error) error { return err }

// firstOf returns a watch's first error.
func firstOf(views iter.Seq2[*client.View, error]) error {
	for _, err := range views {
		return err
	}
	return nil
}
