package simulation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/test/history"
	"github.com/signalbox/signalbox/test/workload"
)

// process is a client process. It may be killed and restarted.
type process struct {
	world *world
	id    int
	plan  ClientPlan

	mu       sync.Mutex        // guards what follows
	workers  *workload.Workers // nil while the process does not run
	starts   int
	over     bool     // its programs have ended for good
	sessions []uint64 // live sessions, for the operator to end
}

// leastPoolThink limits the versions of a rollout, in the longest ordinary worlds, to fewer than it remembers.
const leastPoolThink = 200 * time.Millisecond

// start starts the process, unless it runs.
func (p *process) start() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.workers != nil || p.over {
		return
	}
	p.starts++
	part := p.id*100 + p.starts
	random := p.world.random(part)
	dial := func(ctx context.Context, address string) (net.Conn, error) {
		return p.world.network.dial(ctx, p.id, address)
	}
	p.workers = &workload.Workers{
		Addresses: p.world.addresses(),
		Options: []client.Option{
			client.WithDialer(p.world.bug.dialer(dial)), client.WithName(fmt.Sprintf("client-%d", p.id)),
		},
		Recorder: recorder{workload.NewReporter(p.world.record.Clock, p.id, p.starts, p.world.record), p},
		Profile:  profile, Node: path, Timeouts: p.plan.Timeouts, Think: p.plan.Think, Staleness: p.world.staleness(),
		Random:       func(program int) *rand.Rand { return p.world.random(part + 10_000*(program+1)) },
		FirstWatcher: p.id*10_000 + p.starts*100,
	}
	p.workers.Rollouts = p.workerPool(p.world.plan.Rollouts, part, 1_000_000)
	p.workers.Processes = p.workerPool(p.world.plan.Processes, part, 3_000_000)
	for range p.plan.Watchers {
		p.workers.Watched = append(p.workers.Watched, workload.Pick(random, targets...).Name)
	}
	p.workers.Start()
}

// workerPool returns workers for rollouts or processes at a pace, nil for 0.
func (p *process) workerPool(pace time.Duration, part, step int) *workload.WorkerPool {
	if pace == 0 {
		return nil
	}
	return &workload.WorkerPool{
		Recorder: p.workers.Recorder, Node: path, Number: p.id, Timeout: p.plan.Timeouts[0], Pace: pace,
		Gathers: p.world.plan.Gathers,
		Think:   min(max(p.plan.Think, leastPoolThink), pace*time.Second),
		Random:  func(worker int) *rand.Rand { return p.world.random(part + step*worker) },
	}
}

// running returns the workers, nil while the process does not run.
func (p *process) running() *workload.Workers {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.workers
}

// kill ends the process during its work: later messages from it are lost.
func (p *process) kill() {
	p.world.network.holdClient(p.id, true)
	defer p.world.network.holdClient(p.id, false)
	w := p.running()
	if w == nil {
		return
	}
	p.world.record.ClientDied(p.id, p.world.record.Now())
	w.StopPrograms()
	_ = w.Close() // no host is notified
	p.mu.Lock()
	if p.workers == w {
		p.workers, p.sessions = nil, nil
	}
	p.mu.Unlock()
	p.world.network.cut(p.id)
}

// stopPrograms ends the programs for good. Their holdings remain, and watchers continue.
func (p *process) stopPrograms() {
	p.mu.Lock()
	p.over = true
	w := p.workers
	p.mu.Unlock()
	if w != nil {
		w.StopPrograms()
	}
}

// close ends the process in order.
func (p *process) close() {
	if w := p.running(); w != nil {
		if err := w.Close(); err != nil && !errors.Is(err, client.ErrSessionExpired) {
			p.world.record.Note("client %d did not end in order: %v", p.id, err)
		}
	}
}

// watchersOf returns the watchers of a semaphore.
func (p *process) watchersOf(name string) []int {
	if w := p.running(); w != nil {
		return w.WatchersOf(name)
	}
	return nil
}

// anySession draws a live session, 0 if there are none.
func (p *process) anySession(random *rand.Rand) uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.sessions) == 0 {
		return 0
	}
	return workload.Pick(random, p.sessions...)
}

// checkOneShotWatches notes one-shot watches that did not fire although their semaphore has a new revision.
func (p *process) checkOneShotWatches(revisions map[string]uint64) {
	w := p.running()
	if w == nil {
		return
	}
	for _, watch := range w.OneShotWatches() {
		if revisions[watch.Name] != watch.Revision {
			const format = "session %x described %s at revision %d, and its one-shot watch missed revision %d"
			p.world.record.Note(format,
				watch.Session.ID(), watch.Name, watch.Revision, revisions[watch.Name])
		}
	}
}

// recorder records actions and observations of a process's workers.
type recorder struct {
	*workload.Reporter
	process *process
}

var _ workload.Recorder = recorder{}

// Session implements workload.Recorder.
func (r recorder) Session(s workload.Session, x history.Session) (closed func()) {
	p := r.process
	end := r.BeginSession(x)
	p.mu.Lock()
	p.sessions = append(p.sessions, x.ID)
	p.mu.Unlock()
	context.AfterFunc(s.Context(), func() {
		why, detail := workload.EndOf(context.Cause(s.Context()))
		end(r.Now(), why, detail)
		p.mu.Lock()
		p.sessions = slices.DeleteFunc(p.sessions, func(id uint64) bool { return id == x.ID })
		p.mu.Unlock()
	})
	return func() { end(r.Now(), history.Closed, "by its user") }
}

// Hold implements workload.Recorder.
func (r recorder) Hold(lease workload.Lease, h history.Hold) (end func(why string)) {
	h.From, h.To = r.Now(), history.Never
	begun := h
	number := r.Report(history.Entry{Hold: &begun})
	var once sync.Once
	end = func(why string) {
		once.Do(func() {
			h.To, h.Why = r.Now(), why
			r.Replace(number, history.Entry{Hold: &h})
		})
	}
	context.AfterFunc(lease.Context(), func() { end(context.Cause(lease.Context()).Error()) })
	return end
}
