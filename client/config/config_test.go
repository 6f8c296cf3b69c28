package config_test

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/config"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
)

// seen keeps a watch's results.
type seen struct {
	mu     sync.Mutex
	values []config.Value
	err    error
}

func watching(t *testing.T, c *client.Client) *seen {
	w := &seen{}
	go func() {
		for v, err := range config.Watch(t.Context(), c, path, name) {
			w.mu.Lock()
			if w.err = err; err == nil {
				w.values = append(w.values, v)
			}
			w.mu.Unlock()
		}
	}()
	waitForQuiet()
	return w
}

// texts returns the values; "-" means no value.
func (s *seen) texts() (list []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range s.values {
		if v.Exists {
			list = append(list, string(v.Data))
		} else {
			list = append(list, "-")
		}
	}
	return list
}

func value(t *testing.T, c *client.Client) string {
	t.Helper()
	v, _, err := config.Get(t.Context(), c, path, name)
	check(t, err)
	return string(v)
}

func TestWhatWasPutIsGot(t *testing.T) {
	play(t, 3, func(t *testing.T, srv *servertest.Cluster, c *client.Client) {
		if _, _, err := config.Get(t.Context(), c, path, name); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("before it is put: %v", err)
		}
		if err := config.Put(t.Context(), c, "/no/such", name, nil); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("in no node: %v", err)
		}
		other, last := open(t, srv), uint64(0)
		for _, text := range []string{"a", "b", "", "c"} {
			check(t, config.Put(t.Context(), c, path, name, []byte(text)))
			got, revision, err := config.Get(t.Context(), other, path, name)
			if err != nil || string(got) != text || revision <= last {
				t.Errorf("put %q: got %q of revision %d after %d, %v", text, got, revision, last, err)
			}
			last = revision
		}
	})
}

func TestPutsOfTheSameNewNameAllSucceed(t *testing.T) {
	play(t, 1, func(t *testing.T, _ *servertest.Cluster, c *client.Client) {
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				if err := config.Put(t.Context(), c, path, name, []byte("x")); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if got := value(t, c); got != "x" {
			t.Errorf("got %q", got)
		}
	})
}

func TestAWatchShowsAValueFromBeforeItsBeginToAfterItsEnd(t *testing.T) {
	play(t, 1, func(t *testing.T, _ *servertest.Cluster, c *client.Client) {
		w := watching(t, c)
		for _, text := range []string{"a", "a", "b", ""} {
			check(t, config.Put(t.Context(), c, path, name, []byte(text)))
			waitForQuiet()
		}
		// A change of owners is no event for readers.
		lease, err := session(t, c).Semaphore(name).Acquire(t.Context())
		check(t, err)
		waitForQuiet()
		check(t, config.PutGuarded(t.Context(), lease, []byte("c")))
		waitForQuiet()
		check(t, c.Node(path).Delete(t.Context(), name, client.Force()))
		waitForQuiet()
		if got, want := w.texts(), []string{"-", "a", "b", "", "c", "-"}; !slices.Equal(got, want) {
			t.Errorf("saw %q, want %q", got, want)
		}
		w.mu.Lock()
		for i := 1; i < len(w.values); i++ {
			if w.values[i].Revision <= w.values[i-1].Revision {
				t.Errorf("revision %d after %d", w.values[i].Revision, w.values[i-1].Revision)
			}
		}
		w.mu.Unlock()
		check(t, c.DropNode(t.Context(), path))
		waitForQuiet()
		w.mu.Lock()
		defer w.mu.Unlock()
		if !errors.Is(w.err, client.ErrNotFound) {
			t.Errorf("the node was dropped, and the watch ended with %v", w.err)
		}
	})
}

func TestAWatchSeesTheLastValueThroughCutsAndChangesOfLeader(t *testing.T) {
	play(t, 3, func(t *testing.T, srv *servertest.Cluster, c *client.Client) {
		w, writer := watching(t, c), open(t, srv)
		for i := range 12 {
			check(t, config.Edit(t.Context(), writer, path, name, func(old []byte) ([]byte, error) {
				return append(old, byte('a'+i)), nil
			}))
			lead(t, srv, shard.HostID(i%3+1))
			time.Sleep(30 * time.Millisecond)
		}
		time.Sleep(5 * time.Second)
		if got := w.texts(); got[len(got)-1] != "abcdefghijkl" {
			t.Errorf("saw %q", got)
		}
	})
}
