package config_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/config"
	"github.com/signalbox/signalbox/server/servertest"
)

// increment is an edit that adds one to a number, which is 0 where there is none.
func increment(old []byte) ([]byte, error) {
	n := 0
	if len(old) > 0 {
		var err error
		if n, err = strconv.Atoi(string(old)); err != nil {
			return nil, err
		}
	}
	return strconv.AppendInt(nil, int64(n)+1, 10), nil
}

func TestEditsAtTheSameTimeLoseNothing(t *testing.T) {
	play(t, 3, func(t *testing.T, srv *servertest.Cluster, c *client.Client) {
		clients := []*client.Client{c, open(t, srv), open(t, srv)}
		const editors, edits = 9, 5
		var wg sync.WaitGroup
		for i := range editors {
			wg.Go(func() {
				for range edits {
					if err := config.Edit(t.Context(), clients[i%len(clients)], path, name, increment); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if got := value(t, c); got != strconv.Itoa(editors*edits) {
			t.Errorf("%d edits have counted to %s", editors*edits, got)
		}
	})
}

func TestAnEditThatFailsChangesNothing(t *testing.T) {
	play(t, 1, func(t *testing.T, _ *servertest.Cluster, c *client.Client) {
		no := errors.New("no")
		refuse := func([]byte) ([]byte, error) { return nil, no }
		if err := config.Edit(t.Context(), c, path, name, refuse); !errors.Is(err, no) {
			t.Errorf("of nothing: %v", err)
		}
		if _, _, err := config.Get(t.Context(), c, path, name); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("an edit that failed has left something: %v", err)
		}
		check(t, config.Put(t.Context(), c, path, name, []byte("1")))
		if err := config.Edit(t.Context(), c, path, name, refuse); !errors.Is(err, no) {
			t.Errorf("of something: %v", err)
		}
		began := time.Now()
		check(t, config.Edit(t.Context(), c, path, name, increment))
		if got, took := value(t, c), time.Since(began); got != "2" || took > time.Second {
			t.Errorf("the next edit made it %s, after %v", got, took)
		}
	})
}

func TestAnEditIsAbandonedWithItsContextAndHoldsNobodyUp(t *testing.T) {
	play(t, 1, func(t *testing.T, _ *servertest.Cluster, c *client.Client) {
		check(t, config.Put(t.Context(), c, path, name, []byte("1")))
		ctx, cancel := context.WithCancel(t.Context())
		err := config.Edit(ctx, c, path, name, func(old []byte) ([]byte, error) {
			cancel()
			return increment(old)
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}
		for left, err := range c.Node(path).Sessions(t.Context()) {
			t.Errorf("session %+v is left, %v", left, err)
		}
		began := time.Now()
		check(t, config.Edit(t.Context(), c, path, name, func(old []byte) ([]byte, error) { return []byte("x"), nil }))
		if took := time.Since(began); took > time.Second {
			t.Errorf("the next one took %v", took)
		}
	})
}

func TestTheLongestNameCanBeEdited(t *testing.T) {
	play(t, 1, func(t *testing.T, _ *servertest.Cluster, c *client.Client) {
		check(t, config.Edit(t.Context(), c, path, strings.Repeat("x", 1024), increment))
	})
}

func TestASemaphoreThatManyCanOwnIsNotEdited(t *testing.T) {
	play(t, 1, func(t *testing.T, _ *servertest.Cluster, c *client.Client) {
		check(t, c.Node(path).Create(t.Context(), name, 2, []byte("1")))
		if err := config.Edit(t.Context(), c, path, name, increment); !errors.Is(err, client.ErrPreconditionFailed) {
			t.Errorf("edited with %v", err)
		}
		if got := value(t, c); got != "1" {
			t.Errorf("got %s", got)
		}
	})
}

func TestAStaleLeaseIsRefused(t *testing.T) {
	ends := map[string]func(t *testing.T, c *client.Client, s *client.Session, lease *client.Lease){
		"released": func(t *testing.T, _ *client.Client, _ *client.Session, lease *client.Lease) {
			check(t, lease.Release(t.Context()))
		},
		"its session destroyed": func(t *testing.T, c *client.Client, s *client.Session, _ *client.Lease) {
			check(t, c.DestroySession(t.Context(), s.ID()))
		},
		"its semaphore deleted": func(t *testing.T, c *client.Client, _ *client.Session, _ *client.Lease) {
			check(t, c.Node(path).Delete(t.Context(), name, client.Force()))
		},
	}
	for how, end := range ends {
		t.Run(how, func(t *testing.T) {
			play(t, 1, func(t *testing.T, srv *servertest.Cluster, c *client.Client) {
				s := session(t, open(t, srv))
				lease, err := s.Semaphore(name, client.Limit(1)).Acquire(t.Context())
				check(t, err)
				check(t, config.PutGuarded(t.Context(), lease, []byte("old")))
				end(t, c, s, lease)
				next, err := session(t, c).Semaphore(name, client.Limit(1)).Acquire(t.Context())
				check(t, err)
				check(t, config.PutGuarded(t.Context(), next, []byte("new")))
				if err := config.PutGuarded(t.Context(), lease, []byte("stale")); !errors.Is(err, client.ErrFenced) {
					t.Errorf("put with %v", err)
				}
				if got := value(t, c); got != "new" {
					t.Errorf("got %q", got)
				}
			})
		})
	}
}
