package client_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
)

// watcher follows a semaphore on its own goroutine, and keeps all views.
type watcher struct {
	mu    sync.Mutex
	views []*client.View
	// changes are the changes of each view.
	changes []client.Changes
	err     error
}

// watching follows a semaphore until its context ends.
func watching(
	t *testing.T, ctx context.Context, c *client.Client, name string, options ...client.WatchOption,
) *watcher {
	t.Helper()
	return dawdling(t, ctx, c, name, func() {}, options...)
}

// dawdling is like watching, but calls dawdle after each view.
func dawdling(
	t *testing.T, ctx context.Context, c *client.Client, name string, dawdle func(), options ...client.WatchOption,
) *watcher {
	t.Helper()
	w := &watcher{}
	go func() {
		for v, err := range c.Node(path).Watch(ctx, name, options...) {
			w.mu.Lock()
			if w.err = err; err == nil {
				w.views = append(w.views, v)
				w.changes = append(w.changes, v.Changes())
			}
			w.mu.Unlock()
			dawdle()
		}
	}()
	eventually(t, time.Second, "a view is shown", func() bool {
		_, _, n, err := w.last()
		return n > 0 || err != nil
	})
	return w
}

func (w *watcher) last() (v *client.View, changes client.Changes, n int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n = len(w.views); n > 0 {
		v, changes = w.views[n-1], w.changes[n-1]
	}
	return v, changes, n, w.err
}

// waitForQuiet waits, in a bubble, until all changes have arrived.
func waitForQuiet() {
	time.Sleep(100 * time.Millisecond)
	quiet()
}

// caughtUp waits until the watcher has the semaphore's present state. After an outage the wait may include two pauses
// of up to a second: before the dial, and before the next request.
func (w *watcher) caughtUp(t *testing.T, c *client.Client) {
	t.Helper()
	d, err := c.Node(path).Describe(t.Context(), name, client.WithConsistency(client.Strict))
	if !errors.Is(err, client.ErrSemaphoreNotFound) {
		check(t, err)
	}
	eventually(t, 5*time.Second, "the watch has caught up", func() bool {
		v, _, _, _ := w.last()
		if d == nil {
			return !v.Exists
		}
		return v.Revision >= d.Revision
	})
}

// over waits until the loop has ended with an error.
func (w *watcher) over(t *testing.T, want error) {
	t.Helper()
	eventually(t, time.Second, fmt.Sprintf("the loop has ended with: %v", want), func() bool {
		_, _, _, err := w.last()
		return errors.Is(err, want)
	})
}

func ids(owners []client.Owner) (list []uint64) {
	for _, o := range owners {
		list = append(list, o.OrderID)
	}
	return list
}

func TestAWatchShowsASemaphoreFromBeforeItsBeginToAfterItsEnd(t *testing.T) {
	play(t, 2, 2, func(t *testing.T, _ stage, c *client.Client) {
		ctx, cancel := context.WithCancel(t.Context())
		w := watching(t, ctx, c, name)
		v, changes, n, err := w.last()
		if n != 1 || err != nil || v.Exists || !changes.First || changes.Created {
			t.Fatalf("at first: %+v, %+v, %d views, %v", v, changes, n, err)
		}
		sem := session(t, c).Semaphore(name)
		check(t, sem.Create(t.Context(), 3, []byte("x")))
		w.caughtUp(t, c)
		if v, changes, _, _ = w.last(); !v.Exists || v.Limit != 3 || string(v.Data) != "x" || v.Ephemeral ||
			!changes.Created || !changes.DataChanged || changes.First {
			t.Errorf("created: %+v, %+v", v, changes)
		}
		lease := acquire(t, sem, client.Count(2), client.Data([]byte("me")))
		w.caughtUp(t, c)
		first, ok := must(w).First()
		if !ok || first.OrderID != lease.Fence() || string(first.Data) != "me" || first.Count != 2 ||
			must(w).Count() != 2 || must(w).Len() != 1 {
			t.Errorf("acquired: %+v", first)
		}
		if _, changes, _, _ = w.last(); !slices.Equal(ids(changes.Joined), []uint64{lease.Fence()}) ||
			changes.DataChanged {
			t.Errorf("acquired: %+v", changes)
		}
		check(t, lease.Change(t.Context(), client.Data([]byte("you"))))
		w.caughtUp(t, c)
		if _, changes, _, _ = w.last(); len(changes.Changed) != 1 || string(changes.Changed[0].Data) != "you" ||
			len(changes.Joined)+len(changes.Left) != 0 {
			t.Errorf("changed: %+v", changes)
		}
		check(t, lease.Update(t.Context(), []byte("y")))
		w.caughtUp(t, c)
		if _, changes, _, _ = w.last(); !changes.DataChanged || string(must(w).Data) != "y" {
			t.Errorf("updated: %+v", changes)
		}
		_, _, before, _ := w.last()
		acquire(t, sem, client.Count(2), client.Data([]byte("you")))
		w.caughtUp(t, c)
		if _, _, n, _ = w.last(); n != before {
			t.Errorf("nothing changed, and %d views were shown", n-before)
		}
		check(t, lease.Release(t.Context()))
		w.caughtUp(t, c)
		if _, changes, _, _ = w.last(); !slices.Equal(ids(changes.Left), []uint64{lease.Fence()}) {
			t.Errorf("released: %+v", changes)
		}
		check(t, sem.Delete(t.Context()))
		w.caughtUp(t, c)
		if v, changes, _, _ = w.last(); v.Exists || !changes.Deleted || changes.Created {
			t.Errorf("deleted: %+v, %+v", v, changes)
		}
		check(t, sem.Create(t.Context(), 5, nil))
		w.caughtUp(t, c)
		if v, changes, _, _ = w.last(); !v.Exists || v.Limit != 5 || v.Data != nil || !changes.Created {
			t.Errorf("made again: %+v, %+v", v, changes)
		}
		cancel()
		w.over(t, context.Canceled)
	})
}

func must(w *watcher) *client.View {
	v, _, _, _ := w.last()
	return v
}

func TestRevisionsOnlyGrowAndNothingIsMissedOrRepeated(t *testing.T) {
	play(t, 3, 2, func(t *testing.T, st stage, c *client.Client) {
		w := watching(t, t.Context(), c, name)
		slow := dawdling(t, t.Context(), c, name, func() {
			select {
			case <-time.After(70 * time.Millisecond):
			case <-t.Context().Done():
			}
		})
		writer := open(t, st)
		s := session(t, writer, client.SessionTimeout(time.Minute))
		var leases []*client.Lease
		for i := range 60 {
			sem := session(t, writer, client.SessionTimeout(time.Minute)).Semaphore(name, client.Limit(1000))
			leases = append(leases, acquire(t, sem, client.Data([]byte(fmt.Sprint(i)))))
			if i%3 == 0 {
				check(t, leases[i/3].Release(t.Context()))
			}
			if i%7 == 0 {
				st.cut()
			}
			if i%10 == 0 {
				st.lead(i % 3)
			}
			check(t, s.Semaphore(name).Update(t.Context(), []byte(fmt.Sprint(i))))
			time.Sleep(20 * time.Millisecond)
		}
		w.caughtUp(t, c)
		slow.caughtUp(t, c)
		want := describe(t, c)
		for who, w := range map[string]*watcher{"fast": w, "slow": slow} {
			joined, gone := make(map[uint64]int), make(map[uint64]int)
			revision := uint64(0)
			w.mu.Lock()
			for i, v := range w.views {
				if v.Revision <= revision && i > 0 {
					t.Errorf("%s: revision %d after %d", who, v.Revision, revision)
				}
				revision = v.Revision
				for _, o := range w.changes[i].Joined {
					joined[o.OrderID]++
				}
				for _, o := range w.changes[i].Left {
					gone[o.OrderID]++
				}
			}
			last := w.views[len(w.views)-1]
			w.mu.Unlock()
			if got := slices.Collect(last.Owners()); !slices.Equal(ids(got), ids(want.Owners)) ||
				string(last.Data) != string(want.Data) || last.Revision != want.Revision {
				t.Errorf("%s: the last view is %d with %v, want %d with %v", who, last.Revision, ids(got),
					want.Revision, ids(want.Owners))
			}
			for order, n := range joined {
				if n != 1 || gone[order] > 1 {
					t.Errorf("%s: %d joined %d times and went %d times", who, order, n, gone[order])
				}
			}
			// The first owner leaves right after its join; its view may be merged away.
			if who == "fast" && inBubble && len(joined) < 59 {
				t.Errorf("%s: %d joined", who, len(joined))
			}
		}
	})
}

func TestASlowLoopIsGivenTheNewestViewWithAllChanges(t *testing.T) {
	play(t, 1, 1, func(t *testing.T, _ stage, c *client.Client) {
		check(t, session(t, c).Semaphore(name).Create(t.Context(), 1000, nil))
		release := make(chan struct{})
		w := dawdling(t, t.Context(), c, name, func() { <-release })
		other := watching(t, t.Context(), c, name)
		var fences []uint64
		for range 100 {
			lease := acquire(t, session(t, c).Semaphore(name))
			fences = append(fences, lease.Fence())
		}
		other.caughtUp(t, c)
		close(release)
		w.caughtUp(t, c)
		v, changes, n, _ := w.last()
		if n != 2 || v.Len() != 100 || !slices.Equal(ids(changes.Joined), fences) {
			t.Errorf("%d views, the last with %d owners, %d of them new", n, v.Len(), len(changes.Joined))
		}
	})
}

func TestAWatchCanLeaveOwnersOrDataOut(t *testing.T) {
	play(t, 1, 1, func(t *testing.T, _ stage, c *client.Client) {
		sem := session(t, c).Semaphore(name, client.Limit(1), client.InitialData([]byte("x")))
		acquire(t, sem)
		data := watching(t, t.Context(), c, name, client.DataOnly())
		owners := watching(t, t.Context(), c, name, client.OwnersOnly())
		if v := must(data); v.Len() != 0 || string(v.Data) != "x" {
			t.Errorf("data only: %+v", v)
		}
		if v := must(owners); v.Len() != 1 || v.Data != nil {
			t.Errorf("owners only: %+v", v)
		}
	})
}

func TestAWatchEndsWithItsNode(t *testing.T) {
	play(t, 2, 2, func(t *testing.T, _ stage, c *client.Client) {
		w := watching(t, t.Context(), c, name)
		check(t, c.DropNode(t.Context(), path))
		w.over(t, client.ErrNodeNotFound)
		w = watching(t, t.Context(), c, name)
		w.over(t, client.ErrNodeNotFound) // the semaphore does not exist
	})
}

func TestAWatchEndsWithItsClient(t *testing.T) {
	play(t, 1, 1, func(t *testing.T, _ stage, c *client.Client) {
		w := watching(t, t.Context(), c, name)
		check(t, c.Close())
		w.over(t, client.ErrClosed)
	})
}

func TestAWatchOutlivesAnInterruption(t *testing.T) {
	play(t, 2, 2, func(t *testing.T, st stage, c *client.Client) {
		w := watching(t, t.Context(), c, name)
		st.take(0)
		st.take(1)
		time.Sleep(either(time.Minute, 2*time.Second))
		if _, _, n, err := w.last(); n != 1 || err != nil {
			t.Errorf("%d views, %v", n, err)
		}
		st.bring(0)
		st.bring(1)
		acquire(t, session(t, c).Semaphore(name, client.Limit(1)))
		w.caughtUp(t, c)
		if v := must(w); v.Len() != 1 {
			t.Errorf("the last view has %d owners", v.Len())
		}
	})
}
