package limiter_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/limiter"
	"github.com/signalbox/signalbox/client/lock"
	"github.com/signalbox/signalbox/test/clienttest"
)

func TestOneProcessFillsAllSlots(t *testing.T) {
	play(t, func(t *testing.T, g stage) {
		l := g.process(5)
		var slots []*limiter.Slot
		fences := make(map[uint64]bool)
		for range 5 {
			s := g.acquire(l)
			slots = append(slots, s)
			fences[s.Fence()] = true
		}
		if d := g.describe(); d.Count != 5 || d.Limit != 5 || len(fences) != 5 {
			t.Fatalf("%d of %d are taken, with %d fences", d.Count, d.Limit, len(fences))
		}
		if s, ok, err := l.TryAcquire(t.Context()); ok || err != nil {
			t.Fatal(s, ok, err)
		}
		last := slots[4].Fence()
		for _, s := range slots {
			clienttest.Check(t, s.Release(t.Context()))
			if err := s.Err(); !errors.Is(err, lock.ErrNotHeld) || s.Context().Err() == nil {
				t.Fatal(err)
			}
			if err := s.Release(t.Context()); !errors.Is(err, lock.ErrNotHeld) {
				t.Fatal(err)
			}
		}
		s, ok, err := l.TryAcquire(t.Context())
		if !ok || err != nil || s.Fence() <= last {
			t.Fatal(s, ok, err)
		}
		clienttest.Check(t, s.Release(t.Context()))
		if d := g.describe(); d.Count != 0 {
			t.Fatalf("%d are taken", d.Count)
		}
	})
}

func TestGoroutinesOfThreeProcessesFillAllSlotsAndNoMore(t *testing.T) {
	play(t, func(t *testing.T, g stage) {
		var inside, most, full, done atomic.Int32
		var all sync.WaitGroup
		for range 3 {
			l := g.process(5)
			for range 50 {
				all.Go(func() {
					for range 4 {
						err := l.Do(t.Context(), func(ctx context.Context, _ uint64) error {
							n := inside.Add(1)
							defer inside.Add(-1)
							if most.Store(max(most.Load(), n)); n == 5 {
								full.Add(1)
							}
							time.Sleep(time.Second)
							done.Add(1)
							return lock.Err(ctx)
						})
						if err != nil {
							t.Error(err)
						}
					}
				})
			}
		}
		began := time.Now()
		all.Wait()
		if most.Load() != 5 || done.Load() != 600 {
			t.Fatalf("%d of 5 at the most, %d ran", most.Load(), done.Load())
		}
		// 600 seconds of work in five slots.
		if d := time.Since(began); d > 130*time.Second {
			t.Fatalf("it took %v", d)
		}
	})
}

func TestSlotsAreGrantedInTheOrderOfComingOverProcesses(t *testing.T) {
	play(t, func(t *testing.T, g stage) {
		a, b := g.process(1), g.process(1)
		held := g.acquire(a)
		var mu sync.Mutex
		var order []int
		var all sync.WaitGroup
		for i := range 40 {
			l := []*limiter.Limiter{a, b, a}[i%3]
			ctx, cancel := context.WithCancel(t.Context())
			all.Go(func() {
				err := l.Do(ctx, func(context.Context, uint64) error {
					mu.Lock()
					defer mu.Unlock()
					order = append(order, i)
					return nil
				})
				if (err != nil) != (i%4 == 3) {
					t.Error(i, err)
				}
			})
			synctest.Wait()
			if i%4 == 3 { // the waiter gives up; no other waiter moves ahead of its turn
				all.Go(func() {
					time.Sleep(time.Minute)
					cancel()
				})
			} else {
				defer cancel()
			}
		}
		time.Sleep(2 * time.Minute)
		clienttest.Check(t, held.Release(t.Context()))
		all.Wait()
		if len(order) != 30 || !slices.IsSorted(order) {
			t.Fatal(order)
		}
	})
}

func TestAnAcquireThatIsGivenUpLeavesNothingBehind(t *testing.T) {
	play(t, func(t *testing.T, g stage) {
		l := g.process(1)
		held := g.acquire(l)
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("enough"))
		defer cancel()
		if _, err := l.Acquire(ctx); !errors.Is(err, limiter.ErrNotAcquired) || err == nil ||
			context.Cause(ctx).Error() != "enough" {
			t.Fatal(err)
		}
		synctest.Wait()
		if d := g.describe(); len(d.Owners) != 1 || len(d.Waiters) != 0 {
			t.Fatalf("%d owners, %d waiters", len(d.Owners), len(d.Waiters))
		}
		clienttest.Check(t, held.Release(t.Context()))
		clienttest.Check(t, g.acquire(l).Release(t.Context()))
	})
}

func TestALostSlotEndsItsContextWithTheReasonAndNoOther(t *testing.T) {
	play(t, func(t *testing.T, g stage) {
		l := g.process(2)
		kept := g.acquire(l)
		keeper := g.describe().Owners[0].SessionID
		entered := make(chan struct{})
		done := make(chan error, 1)
		go func() {
			done <- l.Do(t.Context(), func(ctx context.Context, _ uint64) error {
				close(entered)
				<-ctx.Done()
				return context.Cause(ctx)
			})
		}()
		<-entered
		for _, o := range g.describe().Owners {
			if o.SessionID != keeper {
				clienttest.Check(t, g.Client.DestroySession(t.Context(), o.SessionID))
			}
		}
		var end *client.SessionEnd
		if err := <-done; !errors.Is(err, limiter.ErrLost) || !errors.As(err, &end) ||
			end.Reason != client.EndDestroyed {
			t.Fatal(err)
		}
		clienttest.Check(t, kept.Err())
		clienttest.Check(t, g.acquire(l).Release(t.Context())) // through a new session
	})
}

func TestAWaiterWhoseSessionIsLostWaitsThroughAnother(t *testing.T) {
	play(t, func(t *testing.T, g stage) {
		l := g.process(1)
		held := g.acquire(l)
		got := make(chan *limiter.Slot, 1)
		go func() { got <- g.acquire(l) }()
		synctest.Wait()
		clienttest.Check(t, g.Client.DestroySession(t.Context(), g.describe().Waiters[0].SessionID))
		time.Sleep(time.Second)
		if d := g.describe(); len(d.Waiters) != 1 {
			t.Fatalf("%d wait", len(d.Waiters))
		}
		clienttest.Check(t, held.Release(t.Context()))
		clienttest.Check(t, (<-got).Release(t.Context()))
	})
}

func TestSessionsAreReusedBoundedAndClosed(t *testing.T) {
	play(t, func(t *testing.T, g stage) {
		l := g.process(2, limiter.Sessions(3))
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				if err := l.Do(t.Context(), func(context.Context,
					uint64) error {
					time.Sleep(time.Second)
					return nil
				}); err != nil {
					t.Error(err)
				}
			})
		}
		time.Sleep(1500 * time.Millisecond)
		if n := g.sessions(); n != 3 {
			t.Errorf("%d sessions, not 3", n)
		}
		all.Wait()
		if n := g.sessions(); n != 3 {
			t.Errorf("%d sessions after the work, not 3", n)
		}
		time.Sleep(3 * time.Minute)
		if n := g.sessions(); n != 0 {
			t.Errorf("%d sessions though nobody has needed them for minutes", n)
		}
		s := g.acquire(l)
		clienttest.Check(t, l.Close(t.Context()))
		if err := s.Err(); !errors.Is(err, limiter.ErrLost) || !errors.Is(err, client.ErrSessionClosed) {
			t.Error(err)
		}
		if _, err := l.Acquire(t.Context()); !errors.Is(err, limiter.ErrClosed) {
			t.Error(err)
		}
		if n := g.sessions(); n != 0 {
			t.Errorf("%d sessions after Close", n)
		}
	})
}

func TestCloseEndsWhoWaits(t *testing.T) {
	play(t, func(t *testing.T, g stage) {
		other := g.acquire(g.process(1))
		l := g.process(1)
		done := make(chan error, 3)
		for range 3 {
			go func() { _, err := l.Acquire(t.Context()); done <- err }()
		}
		synctest.Wait()
		clienttest.Check(t, l.Close(t.Context()))
		for range 3 {
			if err := <-done; !errors.Is(err, limiter.ErrClosed) || !errors.Is(err, limiter.ErrNotAcquired) {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if d := g.describe(); len(d.Waiters) != 0 || len(d.Owners) != 1 {
			t.Fatal(d)
		}
		clienttest.Check(t, other.Release(t.Context()))
	})
}

func TestWhatCannotSucceedIsSaidToEachWhoAsks(t *testing.T) {
	play(t, func(t *testing.T, g stage) {
		for _, o := range []struct {
			limit uint64
			n     int
		}{{0, 1}, {1, 0}} {
			if _, err := limiter.New(g.Client, path, name, o.limit, limiter.Sessions(o.n)); !errors.Is(err,
				client.ErrBadRequest) {
				t.Error(err)
			}
		}
		l, err := limiter.New(g.Client, "/nowhere", name, 1)
		clienttest.Check(t, err)
		defer l.Close(t.Context())
		for i := range 3 {
			if _, err := l.Acquire(t.Context()); !errors.Is(err, client.ErrNodeNotFound) {
				t.Error(i, err)
			}
		}
		boom := errors.New("boom")
		ok := g.process(1, limiter.Data([]byte("10.0.0.7:80")))
		if err := ok.Do(t.Context(), func(context.Context, uint64) error {
			if d := g.describe(); string(d.Owners[0].Data) != "10.0.0.7:80" {
				t.Error(d.Owners)
			}
			return boom
		}); err != boom {
			t.Error(err)
		}
		func() {
			defer func() { _ = recover() }()
			_ = ok.Do(t.Context(), func(context.Context, uint64) error { panic(fmt.Sprint(boom)) })
		}()
		clienttest.Check(t, g.acquire(ok).Release(t.Context()))
	})
}
