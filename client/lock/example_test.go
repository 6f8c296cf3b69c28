package lock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/lock"
	"github.com/signalbox/signalbox/test/clienttest"
)

// connect starts a server in this process, with a session.
func connect(ctx context.Context) (s *client.Session, stop func()) {
	_, s, stop = clienttest.Connect(ctx, "/jobs")
	return s, stop
}

func ExampleDo() {
	ctx := context.Background()
	s, stop := connect(ctx)
	defer stop()

	err := lock.Do(ctx, s, "nightly", func(ctx context.Context, fence uint64) error {
		fmt.Println("no other process runs this now")
		return nil
	})
	switch {
	case errors.Is(err, lock.ErrNotAcquired):
		fmt.Println("nothing was run:", err)
	case errors.Is(err, lock.ErrLost):
		fmt.Println("somebody else may have been in:", err)
	case err != nil:
		fmt.Println("the work failed:", err)
	}
	// Output: no other process runs this now
}

func ExampleTryDo() {
	ctx := context.Background()
	s, stop := connect(ctx)
	defer stop()

	work := func(ctx context.Context, fence uint64) error {
		again, err := lock.TryDo(ctx, s, "nightly", func(context.Context, uint64) error { return nil })
		fmt.Println("taken a second time:", again)
		return err
	}
	ok, err := lock.TryDo(ctx, s, "nightly", work)
	fmt.Println("taken:", ok, err)
	// Output:
	// taken a second time: false
	// taken: true <nil>
}

func ExampleSlots() {
	ctx := context.Background()
	s, stop := connect(ctx)
	defer stop()

	err := lock.Do(ctx, s, "builders", func(context.Context, uint64) error {
		fmt.Println("at most three build at once")
		return nil
	}, lock.Slots(3, 1))
	if err != nil {
		fmt.Println(err)
	}
	// Output: at most three build at once
}

func ExampleMutex() {
	ctx := context.Background()
	s, stop := connect(ctx)
	defer stop()

	m := lock.NewMutex(s, "nightly")
	if _, err := m.Lock(ctx); err != nil {
		fmt.Println(err)
		return
	}
	select {
	case <-m.Lost():
		fmt.Println("lost")
	default:
		fmt.Println("held")
	}
	fmt.Println(m.Unlock(ctx))
	// Output:
	// held
	// <nil>
}

// store is a resource behind a lock. It checks the fence too.
type store struct {
	mu      sync.Mutex
	highest uint64
	value   string
}

var errStale = errors.New("the fence is stale")

func (s *store) write(fence uint64, value string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if fence < s.highest {
		return errStale
	}
	s.highest, s.value = fence, value
	return nil
}

// Example_guardedStore: a store that remembers the largest fence refuses a paused holder's write. The holder does not
// know of the lock's next owner.
func Example_guardedStore() {
	ctx := context.Background()
	s, stop := connect(ctx)
	defer stop()
	var guarded store

	var paused uint64
	_ = lock.Do(ctx, s, "report", func(_ context.Context, fence uint64) error {
		paused = fence // the holder is paused before its write
		return nil
	})
	_ = lock.Do(ctx, s, "report", func(_ context.Context, fence uint64) error {
		return guarded.write(fence, "new")
	})
	fmt.Println(guarded.write(paused, "old"))
	fmt.Println(guarded.value)
	// Output:
	// the fence is stale
	// new
}

func ExampleRWMutex() {
	ctx := context.Background()
	s, stop := connect(ctx)
	defer stop()

	m := lock.NewRWMutex(s, "catalogue")
	var readers []*lock.Lock
	for range 2 { // readers share the lock, also within one session
		hold, err := m.RLock(ctx)
		if err != nil {
			log.Fatal(err)
		}
		readers = append(readers, hold)
	}
	_, ok, err := m.TryLock(ctx)
	fmt.Println("alone while others read:", ok, err)
	for _, hold := range readers {
		if err := hold.Unlock(ctx); err != nil {
			log.Fatal(err)
		}
	}
	_, ok, err = m.TryLock(ctx)
	fmt.Println("alone:", ok, err)
	// Output:
	// alone while others read: false <nil>
	// alone: true <nil>
}
