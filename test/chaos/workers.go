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

// Assignment configures a client's workers, as JSON for a client in a separate process.
type Assignment struct {
	Client      int               `json:"client"`
	Incarnation int               `json:"incarnation"`
	Epoch       time.Duration     `json:"epoch"` // of the clock
	Seed        uint64            `json:"seed"`
	Node        string            `json:"node"`
	Routes      map[string]string `json:"routes"` // replacement addresses for host addresses
	Timeouts    []time.Duration   `json:"timeouts"`
	Watched     []string          `json:"watched"`
	Think       time.Duration     `json:"think"`
	Grace       time.Duration     `json:"grace"` // of the node
	// WorkerPools: the client also works with the node's rollouts and processes.
	WorkerPools bool `json:"worker_pools"`
	// Gathers: epochs of a process open only with the last required member.
	Gathers bool `json:"gathers"`
	// FirstWatcher is the number of the first watcher.
	FirstWatcher int `json:"first_watcher"`
	// Profile, if set, overrides the common profile, for a driven client.
	Profile *workload.Profile `json:"-"`
}

// workers are the workers of one client process, and their recorder.
type workers struct {
	workload.Workers
	recorder *recorder
}

// newWorkers returns a client's workers, not started.
func newWorkers(a Assignment, to workload.Collector) *workers {
	r := newRecorder(history.NewClock(since(a.Epoch)), a, to)
	return &workers{recorder: r, Workers: workload.Workers{
		Addresses: strings.Join(slices.Sorted(maps.Keys(a.Routes)), ","),
		Options: []client.Option{
			client.WithDialer(dialer(a.Routes)), client.WithName(fmt.Sprintf("chaos-%d-%d", a.Client, a.Incarnation)),
		},
		Recorder: r, Profile: cmp.Or(a.Profile, profile), Node: a.Node, Timeouts: a.Timeouts, Think: a.Think,
		Staleness: a.Grace + a.Grace/10, // as old as the grace period, by a slightly slow clock
		Watched:   a.Watched, FirstWatcher: a.FirstWatcher,
		Random: func(program int) *rand.Rand {
			return rand.New(rand.NewPCG(a.Seed, uint64(a.Client*1000+a.Incarnation*100+program)))
		},
	}}
}

// startWorkers starts a client's workers.
func startWorkers(a Assignment, to workload.Collector) *workers {
	w := newWorkers(a, to)
	if a.WorkerPools {
		w.Rollouts, w.Processes = newWorkerPool(a, w.recorder, 1_000_000), newWorkerPool(a, w.recorder, 2_000_000)
	}
	w.Start()
	return w
}

// newWorkerPool returns workers for rollouts or processes, with random sources from a part number on.
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
	// A client tries for only a second, possibly too little on a busy machine: the rest ends by timeout.
	inTime := !errors.Is(err, client.ErrSessionExpired) && !errors.Is(err, context.DeadlineExceeded)
	if _, slept := w.recorder.stoodStill(began - time.Second); err != nil && !slept && inTime {
		w.recorder.NoteUnless(began-time.Second, "the client did not end in order: %v", err)
	}
	w.recorder.close()
	return nil
}

// oneShotTimeout is the maximum delay of a one-shot watch after all faults.
const oneShotTimeout = 10 * time.Second

// checkOneShotWatches notes one-shot watches that do not fire although their semaphore has changed.
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

// missed reports whether a one-shot watch missed a change.
func (w *workers) missed(ctx context.Context, watch *workload.OneShotWatch) bool {
	if !watch.Armed() {
		return false
	}
	state, err := watch.Session.Describe(ctx, workload.Target{Name: watch.Name}, client.Strict, nil)
	// A semaphore that cannot be described counts as changed: it is gone, or its state is unknown.
	return (err != nil || state.Revision != watch.Revision) && watch.Armed()
}
