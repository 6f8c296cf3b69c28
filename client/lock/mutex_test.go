package lock_test

import (
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/lock"
)

func TestAMutexIsLockedByOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		s := g.Session()
		a, sameSession, other := lock.NewMutex(s, "m"), lock.NewMutex(s, "m"), lock.NewMutex(g.Session(), "m")
		first, err := a.Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range []*lock.Mutex{a, sameSession, other} {
			if _, ok, err := m.TryLock(t.Context()); ok || err != nil {
				t.Fatal(ok, err)
			}
		}
		done := start(func() error {
			second, err := other.Lock(t.Context())
			if second <= first {
				t.Errorf("fence %d came after %d", second, first)
			}
			return err
		})
		time.Sleep(never)
		lost := a.Lost()
		select {
		case <-lost:
			t.Fatal("the lock is lost")
		case <-done:
			t.Fatal("both have it")
		default:
		}
		if err := a.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-lost
		if err := <-done; err != nil {
			t.Fatal(err)
		}
		if err := a.Unlock(t.Context()); !errors.Is(err, lock.ErrNotHeld) {
			t.Fatal(err)
		}
		<-a.Lost()
	})
}

func TestAMutexThatWasLostCanBeLockedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		s := g.Session(client.Recreate())
		m := lock.NewMutex(s, "m")
		first, err := m.Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		g.Destroy(s)
		<-m.Lost()
		if err := m.Unlock(t.Context()); !errors.Is(err, lock.ErrLost) {
			t.Fatal(err)
		}
		second, err := m.Lock(t.Context())
		if err != nil || second <= first {
			t.Fatal(first, second, err)
		}
		if err := m.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
		g.want("m", 0, 0)
	})
}

func TestReadersShareAnRWMutex(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		a, b := lock.NewRWMutex(g.Session(), "m"), lock.NewRWMutex(g.Session(), "m")
		var holds []*lock.Lock
		for _, m := range []*lock.RWMutex{a, a, b} {
			h, err := m.RLock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			holds = append(holds, h)
		}
		for _, m := range []*lock.RWMutex{a, b} {
			if _, ok, err := m.TryLock(t.Context()); ok || err != nil {
				t.Fatal(ok, err)
			}
		}
		for _, h := range holds {
			if err := h.Unlock(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := h.Unlock(t.Context()); !errors.Is(err, lock.ErrNotHeld) {
				t.Fatal(err)
			}
		}
		if _, err := a.Lock(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, m := range []*lock.RWMutex{a, b} {
			if _, ok, err := m.TryRLock(t.Context()); ok || err != nil {
				t.Fatal(ok, err)
			}
		}
		if err := a.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
		g.want("m", 0, 0)
	})
}

func TestReadersAndWritersOfOneAndSeveralSessionsKeepApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		var readers, writers, together atomic.Int32
		var all []<-chan error
		for range 3 {
			m := lock.NewRWMutex(g.Session(), "m")
			for range 3 {
				all = append(all, start(func() error {
					for range 20 {
						time.Sleep(rand.N(5 * time.Millisecond))
						h, err := m.RLock(t.Context())
						if err != nil {
							return err
						}
						together.Store(max(together.Load(), readers.Add(1)))
						time.Sleep(rand.N(time.Millisecond))
						if writers.Load() != 0 {
							t.Error("a writer is in with readers")
						}
						readers.Add(-1)
						if err := h.Unlock(t.Context()); err != nil {
							return err
						}
					}
					return nil
				}), start(func() error {
					for range 5 {
						time.Sleep(rand.N(20 * time.Millisecond))
						if _, err := m.Lock(t.Context()); err != nil {
							return err
						}
						if writers.Add(1) != 1 || readers.Load() != 0 {
							t.Error("a writer is not alone")
						}
						time.Sleep(rand.N(time.Millisecond))
						writers.Add(-1)
						if err := m.Unlock(t.Context()); err != nil {
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
		if together.Load() < 2 {
			t.Error("no two readers were in together")
		}
		g.want("m", 0, 0)
	})
}

func TestAReaderThatLostTheLockDoesNotUnlockThatOfTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		s := g.Session(client.Recreate())
		m := lock.NewRWMutex(s, "m")
		old, err := m.RLock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		g.Destroy(s)
		<-old.Lost()
		var next *lock.Lock
		done := start(func() (err error) { next, err = m.RLock(t.Context()); return err })
		time.Sleep(never)
		select {
		case <-done:
			t.Fatal("the next reader did not wait for the one that is still at work")
		default:
		}
		if err := old.Unlock(t.Context()); !errors.Is(err, lock.ErrLost) {
			t.Fatal(err)
		}
		if err := <-done; err != nil || next.Fence() <= old.Fence() {
			t.Fatal(err)
		}
		g.want("m", 1, 0)
		if err := next.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
		g.want("m", 0, 0)
	})
}

// TestATryDoesNotWaitForTheReleaseOfASharer: a release takes as long as it takes to reach a host. A try answers at
// once, as the place is not free before.
func TestATryDoesNotWaitForTheReleaseOfASharer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		m := lock.NewRWMutex(g.Session(), "m")
		h, err := m.RLock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		g.Server.Stop(1)
		unlocked := start(func() error { return h.Unlock(t.Context()) })
		synctest.Wait()
		began := time.Now()
		if _, ok, err := m.TryLock(t.Context()); ok || err != nil {
			t.Error(ok, err)
		}
		if _, ok, err := m.TryRLock(t.Context()); ok || err != nil {
			t.Error(ok, err)
		}
		if d := time.Since(began); d > 0 {
			t.Errorf("the tries took %v", d)
		}
		select {
		case err := <-unlocked:
			t.Fatalf("the release was over before: %v", err)
		default:
		}
		if err := g.Server.Restart(1); err != nil {
			t.Fatal(err)
		}
		<-unlocked
		if _, err := m.Lock(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
