package discovery_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/discovery"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
)

// watcher keeps the latest set, and its own list, made only from additions and removals.
type watcher struct {
	mu     sync.Mutex
	last   *discovery.Set
	sets   int
	deltas map[uint64]discovery.Endpoint
	err    error
}

func watching(t *testing.T, c *client.Client, pace time.Duration) *watcher {
	w := &watcher{deltas: make(map[uint64]discovery.Endpoint)}
	go func() {
		for s, err := range discovery.Watch(t.Context(), c, path, name) {
			w.take(t, s, err)
			select {
			case <-time.After(pace):
			case <-t.Context().Done():
			}
		}
	}()
	waitForQuiet()
	return w
}

func (w *watcher) take(t *testing.T, s *discovery.Set, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err = err; err != nil {
		return
	}
	w.last = s
	w.sets++
	for _, e := range s.Left {
		if _, ok := w.deltas[e.OrderID]; !ok {
			t.Errorf("%+v left, and was not there", e)
		}
		delete(w.deltas, e.OrderID)
	}
	for _, e := range s.Joined {
		if _, ok := w.deltas[e.OrderID]; ok {
			t.Errorf("%+v joined twice", e)
		}
		w.deltas[e.OrderID] = e
	}
	for _, e := range s.Changed {
		if _, ok := w.deltas[e.OrderID]; !ok {
			t.Errorf("%+v changed, and was not there", e)
		}
		w.deltas[e.OrderID] = e
	}
	if len(w.deltas) != len(s.Endpoints) {
		t.Errorf("%d endpoints, %d by the changes", len(s.Endpoints), len(w.deltas))
	}
	for i, e := range s.Endpoints {
		if !reflect.DeepEqual(w.deltas[e.OrderID], e) || i > 0 && s.Endpoints[i-1].OrderID >= e.OrderID {
			t.Errorf("%+v after %d, and %+v by the changes", e, i, w.deltas[e.OrderID])
		}
	}
}

func (w *watcher) now() (*discovery.Set, int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last, w.sets
}

func (w *watcher) shows(t *testing.T, want string) {
	t.Helper()
	if s, _ := w.now(); s == nil || addresses(s.Endpoints) != want {
		t.Errorf("shown is %+v, want %s", s, want)
	}
}

func TestAWatchTellsWhoJoinedChangedAndLeft(t *testing.T) {
	play(t, 1, func(t *testing.T, _ *servertest.Cluster, c *client.Client) {
		w := watching(t, c, 0)
		if _, n := w.now(); n != 1 {
			t.Fatalf("%d sets of nobody", n)
		}
		a, s := register(t, session(t, c), "a"), session(t, c)
		register(t, s, "b")
		waitForQuiet()
		w.shows(t, "a b")
		check(t, a.Update(t.Context(), discovery.Endpoint{Address: "c"}))
		waitForQuiet()
		w.shows(t, "c b")
		if set, _ := w.now(); addresses(set.Changed) != "c" || len(set.Joined)+len(set.Left) > 0 {
			t.Errorf("changed: %+v", set)
		}
		check(t, s.Close(t.Context()))
		waitForQuiet()
		w.shows(t, "c")
		if set, _ := w.now(); addresses(set.Left) != "b" || len(set.Joined)+len(set.Changed) > 0 {
			t.Errorf("left: %+v", set)
		}
		check(t, c.DropNode(t.Context(), path))
		waitForQuiet()
		if w.mu.Lock(); !errors.Is(w.err, client.ErrNotFound) {
			t.Errorf("dropped: %v", w.err)
		}
		w.mu.Unlock()
	})
}

func TestAnOwnerThatIsNoEndpointIsCounted(t *testing.T) {
	play(t, 1, func(t *testing.T, _ *servertest.Cluster, c *client.Client) {
		w := watching(t, c, 0)
		register(t, session(t, c), "a")
		lease, err := session(t, c).Semaphore(name).Acquire(t.Context(), client.Data([]byte("{")))
		check(t, err)
		for _, step := range []struct {
			data, shown string
			unreadable  int
		}{{"{", "a", 1}, {"b", "a b", 0}, {"{", "a", 1}, {"{}", "a", 1}, {"c", "a c", 0}} {
			check(t, lease.Change(t.Context(), client.Data([]byte(step.data))))
			waitForQuiet()
			w.shows(t, step.shown)
			if s, _ := w.now(); s.Unreadable != step.unreadable {
				t.Errorf("%q: %d unreadable", step.data, s.Unreadable)
			}
			listed(t, c, step.shown)
		}
	})
}

func TestFollowCallsWithEachList(t *testing.T) {
	play(t, 1, func(t *testing.T, _ *servertest.Cluster, c *client.Client) {
		lists := make(chan string, 10)
		ended := make(chan error, 1)
		go func() {
			ended <- discovery.Follow(t.Context(), c, path, name,
				func(list []discovery.Endpoint) { lists <- addresses(list) })
		}()
		if got := <-lists; got != "" {
			t.Errorf("at first %q", got)
		}
		register(t, session(t, c), "a")
		if got := <-lists; got != "a" {
			t.Errorf("then %q", got)
		}
		check(t, c.Close())
		if err := <-ended; !errors.Is(err, client.ErrClosed) {
			t.Errorf("ended with %v", err)
		}
	})
}

// converged fails the test unless all watchers show the listed endpoints and the wanted endpoints.
func converged(t *testing.T, c *client.Client, want []string, watchers ...*watcher) {
	t.Helper()
	list, err := discovery.List(t.Context(), c, path, name)
	check(t, err)
	var got []string
	for _, e := range list {
		got = append(got, e.Address)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("listed are %q, want %q", got, want)
	}
	for i, w := range watchers {
		if s, _ := w.now(); !reflect.DeepEqual(s.Endpoints, list) {
			t.Errorf("watcher %d shows %q, want %q", i, addresses(s.Endpoints), addresses(list))
		}
	}
}

func TestAllWatchersConvergeOnWhatTwentyWorkersDo(t *testing.T) {
	play(t, 3, func(t *testing.T, srv *servertest.Cluster, c *client.Client) {
		var watchers []*watcher
		for i := range 5 {
			watchers = append(watchers, watching(t, open(t, srv), time.Duration(i*i)*20*time.Millisecond))
		}
		clients := []*client.Client{c, open(t, srv), open(t, srv)}
		var want []string
		var wg sync.WaitGroup
		for i := range 20 {
			last := fmt.Sprintf("worker-%d:%d", i, 5)
			if i%4 > 0 {
				want = append(want, last)
			}
			s := session(t, clients[i%len(clients)], client.Recreate())
			wg.Go(func() { churn(t, s, i) })
		}
		wg.Wait()
		time.Sleep(5 * time.Second)
		converged(t, c, want, watchers...)
	})
}

// churn registers and updates and leaves, again and again. Every fourth worker leaves for good.
func churn(t *testing.T, s *client.Session, worker int) {
	for round := range 6 {
		e := discovery.Endpoint{Address: fmt.Sprintf("worker-%d:%d", worker, round),
			Metadata: map[string]string{"load": "0"}}
		r, err := discovery.Register(t.Context(), s, name, e)
		if err != nil {
			t.Error(err)
			return
		}
		time.Sleep(time.Duration(worker%7) * 5 * time.Millisecond)
		e.Metadata = map[string]string{"load": "1"}
		if err := r.Update(t.Context(), e); err != nil {
			t.Error(err)
		}
		if round == 5 && worker%4 > 0 {
			return
		}
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestNoEndpointIsMissedThroughCutsChangesOfLeaderAndALostHost(t *testing.T) {
	play(t, 3, func(t *testing.T, srv *servertest.Cluster, c *client.Client) {
		watchers := []*watcher{watching(t, open(t, srv), 0), watching(t, open(t, srv), 70*time.Millisecond)}
		workers := open(t, srv)
		var want []string
		var all []*discovery.Registration
		for i := range 15 {
			all = append(all, register(t, session(t, workers, client.SessionTimeout(time.Minute), client.Recreate()),
				fmt.Sprint(i)))
			lead(t, srv, shard.HostID(i%3+1))
			if i%3 == 0 {
				check(t, all[i/3].Close(t.Context()))
			}
			time.Sleep(20 * time.Millisecond)
		}
		srv.Isolate(srv.Leader(1))
		for i := 5; i < 15; i++ {
			want = append(want, fmt.Sprint(i, "*"))
			check(t, all[i].Update(t.Context(), discovery.Endpoint{Address: fmt.Sprint(i, "*")}))
		}
		srv.Heal()
		time.Sleep(30 * time.Second)
		converged(t, c, want, watchers...)
		for i, r := range all[5:] {
			if r.Err() != nil {
				t.Errorf("%d: %v", i+5, r.Err())
			}
		}
	})
}
