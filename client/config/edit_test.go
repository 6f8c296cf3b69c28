package config_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/config"
	"github.com/signalbox/signalbox/server/servertest"
)

// increment is an edit that adds one to a number, or to 0 for no value.
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

func TestAnEditIsAbandonedWithItsContextAndBlocksNoOther(t *testing.T) {
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

func TestAnEditLosesNoPutThatComesInBetween(t *testing.T) {
	play(t, 3, func(t *testing.T, _ *servertest.Cluster, c *client.Client) {
		var given []string
		err := config.Edit(t.Context(), c, path, name, func(old []byte) ([]byte, error) {
			given = append(given, string(old))
			if len(given) <= 3 {
				if err := config.Put(t.Context(), c, path, name,
					strconv.AppendInt(nil, int64(len(given)), 10)); err != nil {
					return nil, err
				}
			}
			return append(old, '!'), nil
		})
		check(t, err)
		if want := []string{"", "1", "2", "3"}; !slices.Equal(given, want) || value(t, c) != "3!" {
			t.Errorf("given %q, and it is %q", given, value(t, c))
		}
	})
}

func TestAnEditOfWhatIsDeletedMeanwhileBeginsAnew(t *testing.T) {
	play(t, 1, func(t *testing.T, _ *servertest.Cluster, c *client.Client) {
		check(t, config.Put(t.Context(), c, path, name, []byte("1")))
		deleted := false
		check(t, config.Edit(t.Context(), c, path, name, func(old []byte) ([]byte, error) {
			if !deleted {
				deleted = true
				return old, c.Node(path).Delete(t.Context(), name)
			}
			return append(old, '!'), nil
		}))
		if got := value(t, c); got != "!" {
			t.Errorf("it is %q", got)
		}
	})
}

func TestAnEditWaitsForWhoOwnsTheSemaphore(t *testing.T) {
	play(t, 1, func(t *testing.T, _ *servertest.Cluster, c *client.Client) {
		check(t, config.Put(t.Context(), c, path, name, []byte("1")))
		semaphore := session(t, c).Semaphore(name)
		lease, err := semaphore.Acquire(t.Context())
		check(t, err)
		done := make(chan error, 1)
		go func() { done <- config.Edit(t.Context(), c, path, name, increment) }()
		waitForQuiet()
		check(t, config.PutGuarded(t.Context(), lease, []byte("10")))
		waitForQuiet()
		select {
		case err := <-done:
			t.Fatalf("it did not wait: %v", err)
		default:
		}
		check(t, lease.Release(t.Context()))
		check(t, <-done)
		if got := value(t, c); got != "11" {
			t.Errorf("it is %q", got)
		}

		// An edit also notices a new owner in between.
		first := true
		check(t, config.Edit(t.Context(), c, path, name, func(old []byte) ([]byte, error) {
			if first {
				first = false
				lease, err = semaphore.Acquire(t.Context())
				check(t, err)
				go func() {
					check(t, config.PutGuarded(t.Context(), lease, []byte("20")))
					check(t, lease.Release(t.Context()))
				}()
			}
			return increment(old)
		}))
		if got := value(t, c); got != "21" {
			t.Errorf("it is %q", got)
		}
	})
}

func TestAPutOfACertainRevisionOverwritesNothingElse(t *testing.T) {
	play(t, 3, func(t *testing.T, _ *servertest.Cluster, c *client.Client) {
		put := func(value string, revision uint64) error {
			return config.Put(t.Context(), c, path, name, []byte(value), config.IfRevision(revision))
		}
		if err := put("x", 7); !errors.Is(err, client.ErrPreconditionFailed) ||
			!errors.Is(err, client.ErrSemaphoreNotFound) {
			t.Errorf("where there is none: %v", err)
		}
		check(t, put("a", 0))
		if err := put("b", 0); !errors.Is(err, client.ErrPreconditionFailed) {
			t.Errorf("as if there were none: %v", err)
		}
		_, read, err := config.Get(t.Context(), c, path, name)
		check(t, err)
		check(t, put("c", read))
		if err := put("d", read); !errors.Is(err, client.ErrPreconditionFailed) {
			t.Errorf("of an old revision: %v", err)
		}
		if got := value(t, c); got != "c" {
			t.Errorf("it is %q", got)
		}
	})
}

func TestAStaleLeaseIsRefused(t *testing.T) {
	const destroyed = "its session destroyed"
	ends := map[string]func(t *testing.T, c *client.Client, s *client.Session, lease *client.Lease){
		"released": func(t *testing.T, _ *client.Client, _ *client.Session, lease *client.Lease) {
			check(t, lease.Release(t.Context()))
		},
		destroyed: func(t *testing.T, c *client.Client, s *client.Session, _ *client.Lease) {
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
				err = config.PutGuarded(t.Context(), lease, []byte("stale"))
				// the session learned of its end before the answer
				toldMeanwhile := how == destroyed && errors.Is(err, client.ErrSessionExpired)
				if !errors.Is(err, client.ErrFenced) && !toldMeanwhile {
					t.Errorf("put with %v", err)
				}
				if got := value(t, c); got != "new" {
					t.Errorf("got %q", got)
				}
			})
		})
	}
}
