package workload

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/test/history"
)

// WorkerPool works with rollouts, or with processes, in one client process, with separate sessions. Set the exported
// fields before its start.
type WorkerPool struct {
	Client   *client.Client
	Recorder Recorder
	Node     string
	Number   int           // of the client
	Timeout  time.Duration // of sessions
	Think    time.Duration // mean pause between a worker's actions
	Pace     time.Duration // pace of Rollouts or Processes
	Gathers  bool          // of Processes
	// Random returns a worker's random source, by index.
	Random func(worker int) *rand.Rand

	calm    atomic.Bool // nothing fails any more, and nothing new begins
	ctx     context.Context
	stop    context.CancelFunc
	group   sync.WaitGroup
	ending  sync.WaitGroup // activities that end after the client: members, and their handlers' requests
	workers int
}

// begin is called before the first worker starts.
func (p *WorkerPool) begin() { p.ctx, p.stop = context.WithCancel(context.Background()) }

// next returns the next worker, for a named object.
func (p *WorkerPool) next(name string) worker {
	p.workers++
	return worker{WorkerPool: p, random: p.Random(p.workers), number: p.workers, name: name}
}

// run has a worker work, until Close.
func (p *WorkerPool) run(work func(ctx context.Context)) { p.group.Go(func() { work(p.ctx) }) }

// Calm ends what stands in the way: from now on nothing fails, no version is published or made, and no member leaves.
// Instances, sources, checkers and members stay.
func (p *WorkerPool) Calm() { p.calm.Store(true) }

// Close ends the work, before the client ends.
func (p *WorkerPool) Close() {
	p.stop()
	p.group.Wait()
}

// Await waits, after the client has ended, for activities that end with it.
func (p *WorkerPool) Await() { p.ending.Wait() }

// worker is one goroutine that works with an object.
type worker struct {
	*WorkerPool
	random *rand.Rand
	number int
	name   string // of the object
	marks  int
}

// inSessions works in one session at a time, until the context ends.
func (w *worker) inSessions(ctx context.Context, work func(ctx context.Context, s *client.Session)) {
	for ctx.Err() == nil {
		s, err := w.Client.Session(ctx, w.Node, client.SessionTimeout(w.Timeout))
		if err != nil {
			w.pause(ctx)
			continue
		}
		closed := w.Recorder.Session(goSession{s}, history.Session{ID: s.ID(), Node: w.Node, Timeout: w.Timeout})
		working, cancel := context.WithCancel(ctx)
		end := context.AfterFunc(s.Context(), cancel)
		work(working, s)
		end()
		cancel()
		if ctx.Err() != nil {
			return // the session ends with its client
		}
		closed()
		closing, cancel := context.WithTimeout(ctx, time.Second)
		_ = s.Close(closing) // a close that reaches no host leaves the session to its timeout
		cancel()
	}
}

// pause waits for a while, and reports whether the context is still alive.
func (w *worker) pause(ctx context.Context) bool { return Sleep(ctx, UpTo(w.random, 2*w.Think)) }

// one is true once in `of` calls, unless calm.
func (w *worker) one(of int) bool { return w.random.IntN(of) == 0 && !w.calm.Load() }

// mark is a unique label for a publish, send or action.
func (w *worker) mark(s *client.Session, kind string) string {
	w.marks++
	return fmt.Sprintf("%s-%x-%d", kind, s.ID(), w.marks)
}
