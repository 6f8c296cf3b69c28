//go:build linux

package chaos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/test/history"
	"github.com/signalbox/signalbox/test/workload"
)

// Assignment is what the workers of a client get before they begin, as JSON where the client has a process of its own.
type Assignment struct {
	Client      int               `json:"client"`
	Incarnation int               `json:"incarnation"`
	Epoch       time.Duration     `json:"epoch"` // of the clock
	Seed        uint64            `json:"seed"`
	Node        string            `json:"node"`
	Routes      map[string]string `json:"routes"` // where to connect instead of to a host's address
	Timeouts    []time.Duration   `json:"timeouts"`
	Watched     []string          `json:"watched"`
	Think       time.Duration     `json:"think"`
	Grace       time.Duration     `json:"grace"` // of the node
	// WorkerPools: the client works with the rollouts and processes of the node besides.
	WorkerPools bool `json:"worker_pools"`
	// Gathers: epochs of a process open with the last member that they need.
	Gathers bool `json:"gathers"`
	// FirstWatcher is the number of the first watcher.
	FirstWatcher int `json:"first_watcher"`
	// Profile, if it is set, is another than that of all programs, for a client behind a driver.
	Profile *workload.Profile `json:"-"`
}

// workers are what works in one client process, and what records it.
type workers struct {
	workload.Workers
	recorder *recorder
}

// newWorkers returns the workers of a client, which are not started.
func newWorkers(a Assignment, to workload.Collector) *workers {
	r := newRecorder(history.NewClock(since(a.Epoch)), a, to)
	return &workers{recorder: r, Workers: workload.Workers{
		Addresses: strings.Join(slices.Sorted(maps.Keys(a.Routes)), ","),
		Options: []client.Option{
			client.WithDialer(dialer(a.Routes)), client.WithName(fmt.Sprintf("chaos-%d-%d", a.Client, a.Incarnation)),
		},
		Recorder: r, Profile: cmp.Or(a.Profile, profile), Node: a.Node, Timeouts: a.Timeouts, Think: a.Think,
		Staleness: a.Grace + a.Grace/10, // as old as the grace period, by a clock that is a little slow
		Watched:   a.Watched, FirstWatcher: a.FirstWatcher,
		Random: func(program int) *rand.Rand {
			return rand.New(rand.NewPCG(a.Seed, uint64(a.Client*1000+a.Incarnation*100+program)))
		},
	}}
}

// startWorkers starts the workers of a client.
func startWorkers(a Assignment, to workload.Collector) *workers {
	w := newWorkers(a, to)
	if a.WorkerPools {
		w.Rollouts, w.Processes = newWorkerPool(a, w.recorder, 1_000_000), newWorkerPool(a, w.recorder, 2_000_000)
	}
	w.Start()
	return w
}

// newWorkerPool returns what works with rollouts or with processes, and draws from the parts behind a number.
func newWorkerPool(a Assignment, r *recorder, part int) *workload.WorkerPool {
	return &workload.WorkerPool{
		Recorder: r, Node: a.Node, Number: a.Client, Timeout: a.Timeouts[0], Think: poolThink, Pace: poolPace,
		Gathers: a.Gathers,
		Random: func(worker int) *rand.Rand {
			return rand.New(rand.NewPCG(a.Seed, uint64(part+a.Client*1000+a.Incarnation*100+worker)))
		},
	}
}

// dialer connects by routes.
func dialer(routes map[string]string) client.DialFunc {
	return func(ctx context.Context, address string) (net.Conn, error) {
		route, ok := routes[address]
		if !ok {
			return nil, fmt.Errorf("chaos: a host names an address that no host has: %s", address)
		}
		var d net.Dialer
		return d.DialContext(ctx, "tcp", route)
	}
}

// stopPrograms implements clientProcess.
func (w *workers) stopPrograms() error {
	w.StopPrograms()
	return nil
}

// close implements clientProcess.
func (w *workers) close() error {
	w.checkOneShotWatches()
	w.recorder.endHolds()
	began := w.recorder.Now()
	err := w.Close()
	// A client tries for a second only, which a busy machine may not have for it: the rest ends by its timeout.
	inTime := !errors.Is(err, client.ErrSessionExpired) && !errors.Is(err, context.DeadlineExceeded)
	if _, slept := w.recorder.stoodStill(began - time.Second); err != nil && !slept && inTime {
		w.recorder.NoteUnless(began-time.Second, "the client did not end in order: %v", err)
	}
	w.recorder.close()
	return nil
}

// oneShotTimeout is how long a one-shot watch may take to fire, when all faults are over.
const oneShotTimeout = 10 * time.Second

// checkOneShotWatches notes one-shot watches that do not fire though their semaphore has changed.
func (w *workers) checkOneShotWatches() {
	ctx, cancel := withRunningTime(context.Background(), oneShotTimeout)
	defer cancel()
	for _, watch := range w.OneShotWatches() {
		for w.missed(ctx, watch) {
			if !workload.Sleep(ctx, pollPause) {
				w.recorder.Note("session %x described %s at revision %d, and its one-shot watch missed a change",
					watch.Session.ID(), watch.Name, watch.Revision)
				break
			}
		}
	}
}

// missed reports whether a one-shot watch has not fired at a change.
func (w *workers) missed(ctx context.Context, watch *workload.OneShotWatch) bool {
	if !watch.Armed() {
		return false
	}
	state, err := watch.Session.Describe(ctx, workload.Target{Name: watch.Name}, client.Strict, nil)
	// A semaphore that cannot be described has changed too: it is gone, or its state is not known.
	return (err != nil || state.Revision != watch.Revision) && watch.Armed()
}
