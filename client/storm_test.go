package client_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
)

// storm is a random game: workers acquire one semaphore, give up at any moment, and release, during disturbances.
// Workers that believe to own it never exceed the limit; after the disturbances hosts and workers agree about the
// owners, and no worker waits.
type storm struct {
	seed    uint64
	workers []*stormWorker

	mu sync.Mutex
}

type stormWorker struct {
	session *client.Session
	lease   *client.Lease // guarded by the storm's lock
	got     int
}

const stormLimit = 2

// rage runs the game. It calls disturb 30 times, at intervals up to calm, and then with nil, which ends all
// disturbances.
func rage(
	t *testing.T, seed uint64, c *client.Client, calm time.Duration, disturb func(random *rand.Rand),
	options ...client.SessionOption,
) {
	g := &storm{seed: seed}
	check(t, session(t, c).Semaphore(name).Create(t.Context(), stormLimit, nil))
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 6 {
		g.workers = append(g.workers, &stormWorker{session: session(t, c, options...)})
	}
	for i, w := range g.workers {
		all.Go(func() { g.work(t, ctx, w, rand.New(rand.NewPCG(seed, uint64(i)))) })
	}
	random := rand.New(rand.NewPCG(seed, 1000))
	for range either(30, 12) {
		time.Sleep(time.Duration(random.Int64N(int64(calm))))
		disturb(random)
	}
	disturb(nil)
	stop()
	all.Wait()
	time.Sleep(either(30*time.Second, 0)) // background work is done by then
	got := 0
	for _, w := range g.workers {
		got += w.got
	}
	if got < either(20, 5) {
		t.Errorf("seed %d: only %d leases: not much of a storm", seed, got)
	}
	var differences []string
	defer func() {
		for _, d := range differences {
			t.Errorf("seed %d: %s", seed, d)
		}
	}()
	eventually(t, 0, "hosts and workers agree", func() bool {
		differences = g.differences(t, c)
		return len(differences) == 0
	})
}

func (s *storm) work(t *testing.T, ctx context.Context, w *stormWorker, random *rand.Rand) {
	sem := w.session.Semaphore(name)
	for ctx.Err() == nil {
		patience := time.Duration(random.IntN(30)) * time.Millisecond
		if random.IntN(4) == 0 {
			patience = time.Duration(random.IntN(2000)) * time.Millisecond
		}
		call, cancel := context.WithTimeout(ctx, patience)
		lease, err := sem.Acquire(call, client.Wait(time.Duration(random.IntN(300))*time.Millisecond))
		cancel()
		if err == nil {
			s.owns(t, w, lease)
			time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond)
			if random.IntN(6) > 0 {
				s.mu.Lock()
				w.lease = nil
				s.mu.Unlock()
				call, cancel := context.WithTimeout(ctx, time.Duration(random.IntN(5))*time.Millisecond)
				_ = lease.Release(call)
				cancel()
			}
		}
		time.Sleep(time.Duration(random.IntN(20)) * time.Millisecond)
	}
}

// owns records a lease and counts the workers that believe to own.
func (s *storm) owns(t *testing.T, w *stormWorker, lease *client.Lease) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.lease = lease
	w.got++
	owners := 0
	for _, other := range s.workers {
		if other.lease != nil && other.lease.Err() == nil {
			owners++
		}
	}
	if owners > stormLimit {
		t.Errorf("seed %d: %d believe that they own", s.seed, owners)
	}
}

// differences compares the workers' and the hosts' views.
func (s *storm) differences(t *testing.T, c *client.Client) (found []string) {
	owners := make(map[uint64]uint64)
	for _, w := range s.workers {
		if w.session.State() != client.Attached {
			found = append(found, fmt.Sprintf("session %d is %v: %v", w.session.ID(), w.session.State(),
				w.session.Err()))
		}
		if w.lease != nil && w.lease.Err() == nil {
			owners[w.session.ID()] = w.lease.Fence()
		}
	}
	d := describe(t, c)
	if len(d.Waiters) != 0 {
		found = append(found, fmt.Sprintf("waiters are left: %+v", d.Waiters))
	}
	for _, o := range d.Owners {
		if owners[o.SessionID] != o.OrderID {
			found = append(found, fmt.Sprintf("session %d owns under %d and believes %d", o.SessionID, o.OrderID,
				owners[o.SessionID]))
		}
		delete(owners, o.SessionID)
	}
	if len(owners) > 0 {
		found = append(found, fmt.Sprintf("sessions %v believe that they own", owners))
	}
	return found
}

// storms is the number of storms in bubbles of time; shortStorms, in short runs: each takes seconds under the race
// detector.
const storms, shortStorms = 15, 2

// playStorm plays one storm for each seed in bubbles of time, and one on real processes.
func playStorm(t *testing.T, f func(t *testing.T, seed uint64, st stage, c *client.Client)) {
	seeds := storms
	if testing.Short() {
		seeds = shortStorms
	}
	for seed := range uint64(seeds) {
		playInBubbles(t, 3, 3, func(t *testing.T, st stage, c *client.Client) { f(t, seed, st, c) })
	}
	playOnProcesses(t, 3, func(t *testing.T, st stage, c *client.Client) { f(t, storms, st, c) })
}

func TestCancellingAtAnyMomentLeavesNothingBehind(t *testing.T) {
	playStorm(t, func(t *testing.T, seed uint64, st stage, c *client.Client) {
		rage(t, seed, c, 150*time.Millisecond, func(random *rand.Rand) {
			switch {
			case random == nil:
			case random.IntN(3) == 0:
				st.cut()
			case random.IntN(2) == 0:
				st.lead(random.IntN(3))
			}
		}, client.SessionTimeout(20*time.Second))
	})
}

func TestNoTwoBelieveThatTheyOwnWhenSessionsExpire(t *testing.T) {
	playStorm(t, func(t *testing.T, seed uint64, st stage, c *client.Client) {
		rage(t, seed, c, 1500*time.Millisecond, func(random *rand.Rand) {
			for i := range 3 {
				st.bring(i)
			}
			switch {
			case random == nil:
			case random.IntN(4) == 0:
				for i := range 3 {
					st.take(i)
				}
				time.Sleep(time.Duration(random.IntN(3000)) * time.Millisecond)
				for i := range 3 {
					st.bring(i)
				}
			case random.IntN(2) == 0:
				st.take(random.IntN(3))
			default:
				st.lead(random.IntN(3))
			}
		}, client.SessionTimeout(either(time.Second, 4*time.Second)), client.Recreate())
	})
}
