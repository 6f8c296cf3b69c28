package lock_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/lock"
)

func start(f func() error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return done
}

func TestTwoSessionsAreNeverInTogetherAndFencesGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		var inside atomic.Int32
		fences := make(chan uint64, 40)
		var all []<-chan error
		for range 2 {
			s := g.Session()
			for range 2 { // goroutines of one session exclude each other too
				all = append(all, start(func() error {
					for range 10 {
						err := lock.Do(t.Context(), s, "nightly", func(_ context.Context, fence uint64) error {
							if inside.Add(1) != 1 {
								t.Error("two are in at once")
							}
							time.Sleep(time.Millisecond)
							fences <- fence
							inside.Add(-1)
							return nil
						})
						if err != nil {
							return err
						}
					}
					return nil
				}))
			}
		}
		for _, done := range all {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		close(fences)
		n, last := 0, uint64(0)
		for f := range fences {
			if n++; f <= last {
				t.Fatalf("fence %d came after %d", f, last)
			}
			last = f
		}
		if n != 40 {
			t.Fatalf("%d were in, not 40", n)
		}
		g.want("nightly", 0, 0)
	})
}

func TestTheErrorOfTheFunctionIsReturnedAsItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		boom := errors.New("boom")
		err := lock.Do(t.Context(), g.Session(), "nightly", func(context.Context, uint64) error { return boom })
		if err != boom {
			t.Fatal(err)
		}
		g.want("nightly", 0, 0)
	})
}

func TestAPanicGivesTheLockBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		s := g.Session()
		func() {
			defer func() { _ = recover() }()
			_ = lock.Do(t.Context(), s, "nightly", func(context.Context, uint64) error { panic("boom") })
		}()
		g.want("nightly", 0, 0)
	})
}

func TestLosingTheSessionEndsTheContextWithTheCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		s, h := g.Session(), newHold()
		done := start(func() error { return lock.Do(t.Context(), s, "nightly", h.run) })
		<-h.in
		g.Destroy(s)
		err := <-done
		var end *client.SessionEnd
		if !errors.Is(err, lock.ErrLost) || !errors.As(err, &end) || errors.Is(err, lock.ErrNotAcquired) {
			t.Fatal(err)
		}
	})
}

func TestALossThatTheFunctionDidNotNoticeIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		s, boom := g.Session(), errors.New("boom")
		for _, own := range []error{nil, boom} {
			err := lock.Do(t.Context(), s, "nightly", func(ctx context.Context, _ uint64) error {
				if err := s.Close(t.Context()); err != nil {
					t.Error(err)
				}
				return own
			})
			if !errors.Is(err, lock.ErrLost) || own != nil && !errors.Is(err, own) {
				t.Fatal(err)
			}
			s = g.Session()
		}
	})
}

func TestACancelledDoLeavesNothingInTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		h := newHold()
		holder := start(func() error { return lock.Do(t.Context(), g.Session(), "nightly", h.run) })
		<-h.in
		s, why := g.Session(), errors.New("changed my mind")
		ctx, cancel := context.WithCancelCause(t.Context())
		var second []<-chan error
		for range 2 { // one waits in the cluster, one for its turn in the session
			second = append(second, start(func() error {
				return lock.Do(ctx, s, "nightly", func(context.Context, uint64) error {
					t.Error("it was run")
					return nil
				})
			}))
		}
		synctest.Wait()
		g.want("nightly", 1, 1)
		cancel(why)
		for _, done := range second {
			if err := <-done; !errors.Is(err, lock.ErrNotAcquired) || !errors.Is(err, why) {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		g.want("nightly", 1, 0)
		close(h.leave)
		if err := <-holder; err != nil {
			t.Fatal(err)
		}
	})
}

func TestWaitBoundsTheWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		h := newHold()
		s := g.Session()
		holder := start(func() error { return lock.Do(t.Context(), s, "nightly", h.run) })
		<-h.in
		for _, other := range []*client.Session{s, g.Session()} {
			began := time.Now()
			err := lock.Do(t.Context(), other, "nightly", h.run, lock.Wait(3*time.Second))
			if !errors.Is(err, lock.ErrNotAcquired) || !errors.Is(err, client.ErrNotAcquired) {
				t.Fatal(err)
			}
			if d := time.Since(began); d < 3*time.Second || d > 4*time.Second {
				t.Fatalf("it waited %v", d)
			}
		}
		synctest.Wait()
		g.want("nightly", 1, 0)
		close(h.leave)
		<-holder
	})
}

func TestTryDoDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		h, s := newHold(), g.Session()
		nothing := func(context.Context, uint64) error { return nil }
		holder := start(func() error { _, err := lock.TryDo(t.Context(), s, "nightly", h.run); return err })
		<-h.in
		for _, other := range []*client.Session{s, g.Session()} {
			if ok, err := lock.TryDo(t.Context(), other, "nightly", nothing); ok || err != nil {
				t.Fatal(ok, err)
			}
		}
		close(h.leave)
		if err := <-holder; err != nil {
			t.Fatal(err)
		}
		if ok, err := lock.TryDo(t.Context(), s, "nightly", nothing); !ok || err != nil {
			t.Fatal(ok, err)
		}
	})
}

func TestSharersAreInTogetherAndExcludeTheExclusive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		a, b := g.Session(), g.Session()
		var sharers []*hold
		var all []<-chan error
		for _, s := range []*client.Session{a, a, b} {
			h := newHold()
			sharers = append(sharers, h)
			all = append(all, start(func() error { return lock.Do(t.Context(), s, "cache", h.run, lock.Shared()) }))
			<-h.in
		}
		g.want("cache", 2, 0)
		alone := newHold()
		all = append(all, start(func() error { return lock.Do(t.Context(), a, "cache", alone.run) }))
		for _, h := range sharers {
			time.Sleep(never)
			if len(alone.in) > 0 {
				t.Fatal("the exclusive one is in with those who share")
			}
			close(h.leave)
		}
		<-alone.in
		if ok, err := lock.TryDo(t.Context(), b, "cache", newHold().run, lock.Shared()); ok || err != nil {
			t.Fatal(ok, err)
		}
		close(alone.leave)
		for _, done := range all {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		g.want("cache", 0, 0)
	})
}

func TestSlotsLetANumberIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		var inside, most atomic.Int32
		var all []<-chan error
		for range 5 {
			s := g.Session()
			all = append(all, start(func() error {
				return lock.Do(t.Context(), s, "pool", func(context.Context, uint64) error {
					most.Store(max(most.Load(), inside.Add(2)))
					time.Sleep(time.Second)
					inside.Add(-2)
					return nil
				}, lock.Slots(5, 2))
			}))
		}
		for _, done := range all {
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		if most.Load() != 4 {
			t.Fatalf("%d of 5 slots were taken at most, not 4", most.Load())
		}
	})
}

func TestWrongOptionsAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t).Session()
		for _, o := range [][]lock.Option{
			{lock.Slots(0, 0)}, {lock.Slots(2, 3)}, {lock.Slots(1, 0)}, {lock.Wait(0)}, {lock.Slots(1, 1),
				lock.Shared()},
		} {
			err := lock.Do(t.Context(), s, "nightly", newHold().run, o...)
			if !errors.Is(err, lock.ErrNotAcquired) || !errors.Is(err, client.ErrBadRequest) {
				t.Fatal(err)
			}
		}
	})
}

func TestTheDataOfTheHolderCanBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		err := lock.Do(t.Context(), g.Session(), "nightly", func(ctx context.Context, fence uint64) error {
			d, err := g.Client.Node(path).Describe(ctx, "nightly", client.WithOwners())
			if err == nil && (string(d.Owners[0].Data) != "worker 7" || d.Owners[0].OrderID != fence) {
				t.Errorf("the owner is %+v", d.Owners[0])
			}
			return err
		}, lock.Data([]byte("worker 7")))
		if err != nil {
			t.Fatal(err)
		}
	})
}

func TestSlotsGoByTheLimitThatThereIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		s, other := g.Session(), g.Session()
		if err := s.Semaphore("slots").Create(t.Context(), 2, nil); err != nil {
			t.Fatal(err)
		}
		nothing := func(context.Context, uint64) error { return nil }
		var is *client.LimitMismatch
		err := lock.Do(t.Context(), s, "slots", nothing, lock.Slots(5, 3))
		if !errors.Is(err, lock.ErrNotAcquired) || !errors.As(err, &is) || is.Asked != 5 || is.Limit != 2 {
			t.Errorf("3 of 5, where 2 are: %v", err)
		}
		err = lock.Do(t.Context(), s, "slots", func(ctx context.Context, _ uint64) error {
			if ok, err := lock.TryDo(ctx, other, "slots", nothing, lock.Slots(5, 1)); ok || err != nil {
				t.Errorf("a third of 2: %v, %v", ok, err)
			}
			if err := other.Semaphore("slots").Resize(ctx, 3); err != nil {
				return err
			}
			if ok, err := lock.TryDo(ctx, other, "slots", nothing, lock.Slots(5, 1)); !ok || err != nil {
				t.Errorf("a third of 3: %v, %v", ok, err)
			}
			return nil
		}, lock.Slots(5, 2))
		if err != nil {
			t.Error(err)
		}
	})
}
