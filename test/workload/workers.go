package workload

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/test/history"
)

// Workers run in one client process: programs with a session each, and watchers, sharing a client. Set the exported
// fields before Start.
type Workers struct {
	Addresses string
	Options   []client.Option // of the client
	// Connect, if set, opens a client in another language; nil means that the context ended first. Such a client has no
	// worker pools.
	Connect   func(context.Context) Client
	Recorder  Recorder
	Profile   *Profile
	Node      string
	Timeouts  []time.Duration // session timeouts, one program for each
	Think     time.Duration
	Staleness time.Duration
	// Random returns a program's random source, by index.
	Random func(program int) *rand.Rand
	// Watched are the followed semaphores, with one watcher each. Watchers are numbered from FirstWatcher.
	Watched      []string
	FirstWatcher int
	// Rollouts and Processes, if set, also work with rollouts and processes. Their Client is set once opened.
	Rollouts, Processes *WorkerPool

	stopPrograms context.CancelFunc
	stopWatchers context.CancelFunc // watchers go on after the programs have ended
	working      sync.WaitGroup     // programs, and the opening of the client
	watching     sync.WaitGroup     // watchers

	mu       sync.Mutex // guards what follows
	client   Client     // nil until a host was found
	programs []*Program
}

// Start opens the client, with retries, and then starts programs and watchers.
func (w *Workers) Start() {
	var work, watch context.Context
	work, w.stopPrograms = context.WithCancel(context.Background())
	watch, w.stopWatchers = context.WithCancel(context.Background())
	w.working.Go(func() { w.run(work, watch) })
}

func (w *Workers) run(work, watch context.Context) {
	var c Client
	if w.Connect != nil {
		c = w.Connect(work)
	} else if opened := Open(work, w.Addresses, w.Options...); opened != nil {
		c = goClient{opened}
		for _, pool := range w.pools() {
			pool.Client = opened
		}
	}
	if c == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.client = c
	for i, timeout := range w.Timeouts {
		p := &Program{
			Client: c, Recorder: w.Recorder, Profile: w.Profile, Random: w.Random(i), Node: w.Node,
			Timeout: timeout, Think: w.Think, Staleness: w.Staleness,
		}
		w.programs = append(w.programs, p)
		w.working.Go(func() { p.Run(work) })
	}
	if w.Rollouts != nil {
		w.Rollouts.StartRollouts()
	}
	if w.Processes != nil {
		w.Processes.StartProcesses()
	}
	for i, name := range w.Watched {
		of := history.Semaphore{Node: w.Node, Name: name}
		w.watching.Go(func() { Watch(watch, c, of, w.FirstWatcher+i, w.Recorder) })
	}
}

// StopPrograms ends the programs and waits for them. Their holdings remain; watchers continue, and so do worker pools,
// now calm.
func (w *Workers) StopPrograms() {
	w.stopPrograms()
	w.working.Wait()
	for _, pool := range w.pools() {
		pool.Calm()
	}
}

// pools are the existing pools.
func (w *Workers) pools() []*WorkerPool {
	return slices.DeleteFunc([]*WorkerPool{w.Rollouts, w.Processes}, func(p *WorkerPool) bool { return p == nil })
}

// Close ends the watchers and the client, after StopPrograms.
func (w *Workers) Close() (err error) {
	w.stopWatchers()
	w.mu.Lock()
	c := w.client
	w.mu.Unlock()
	if c != nil {
		for _, pool := range w.pools() {
			pool.Close()
		}
		err = c.Close()
		for _, pool := range w.pools() {
			pool.Await()
		}
	}
	w.watching.Wait()
	return err
}

// WatchersOf returns the numbers of a semaphore's watchers.
func (w *Workers) WatchersOf(name string) (numbers []int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.client == nil {
		return nil
	}
	for i, watched := range w.Watched {
		if watched == name {
			numbers = append(numbers, w.FirstWatcher+i)
		}
	}
	return numbers
}

// OneShotWatches returns the armed one-shot watches of the latest sessions, after StopPrograms.
func (w *Workers) OneShotWatches() (armed []*OneShotWatch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range w.programs {
		for watch := range p.Watches() {
			if watch.Armed() {
				armed = append(armed, watch)
			}
		}
	}
	return armed
}
