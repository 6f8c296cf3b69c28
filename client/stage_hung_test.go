//go:build unix

package client_test

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
)

// hungRounds is how often TestCallersGoOnWhileTheLeaderHangs stops a leader.
var hungRounds = flag.Int("hung-rounds", 1, "how many leaders TestCallersGoOnWhileTheLeaderHangs stops")

// hungPatience is the time within which every caller continues. The goal is 3 s on an otherwise idle machine.
const hungPatience = 5 * time.Second

// locker is a client that locks and unlocks in a loop. It records its latest acquire's request time and grant time.
type locker struct {
	mu                sync.Mutex
	asked, acquiredAt time.Time
}

func (l *locker) run(ctx context.Context, s *client.Session, name string) error {
	for ctx.Err() == nil {
		asked := time.Now()
		lease, err := s.Semaphore(name, client.Limit(1)).Acquire(ctx)
		if err == nil {
			l.mu.Lock()
			l.asked, l.acquiredAt = asked, time.Now()
			l.mu.Unlock()
			err = lease.Release(ctx)
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// since returns the grant time of a lock requested after t; ok is false before such a grant.
func (l *locker) since(t time.Time) (acquired time.Time, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.acquiredAt, l.asked.After(t)
}

// TestCallersGoOnWhileTheLeaderHangs: requests under way at a leader stopped by SIGSTOP go to the next leader at once,
// although the silent host's connections are open.
func TestCallersGoOnWhileTheLeaderHangs(t *testing.T) {
	if testing.Short() {
		t.Skip("real processes")
	}
	playInRealTime(t, started.stage(t, 3), func(t *testing.T, st *processStage, _ *client.Client) {
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		defer running.Wait()
		defer stop()
		lockers := make([]*locker, 8)
		for i := range lockers {
			l := &locker{}
			lockers[i] = l
			s := session(t, open(t, st))
			running.Go(func() {
				if err := l.run(ctx, s, fmt.Sprint("lock-", i)); err != nil {
					t.Error(err)
				}
			})
		}
		var took []time.Duration // until every caller has a lock
		for range *hungRounds {
			calm := time.Now()
			awaitAll(t, lockers, calm)
			hung := st.leaderOfMost(t)
			paused := time.Now()
			check(t, hung.Pause())
			took = append(took, awaitAll(t, lockers, paused))
			check(t, hung.Signal(syscall.SIGCONT))
			st.ready()
		}
		slices.Sort(took)
		t.Logf("until every caller had a lock: median %v, worst %v, all %v", took[len(took)/2], took[len(took)-1], took)
		if worst := took[len(took)-1]; worst > hungPatience {
			t.Errorf("a caller waited for %v", worst)
		}
	})
}

// awaitAll waits until every locker has a lock requested after a time, and returns the slowest locker's time.
func awaitAll(t *testing.T, lockers []*locker, after time.Time) (took time.Duration) {
	t.Helper()
	for i, l := range lockers {
		eventually(t, time.Minute, fmt.Sprintf("caller %d has a lock", i), func() bool {
			at, ok := l.since(after)
			took = max(took, at.Sub(after))
			return ok
		})
	}
	return took
}
