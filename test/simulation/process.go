package simulation

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/test/workload"
)

// process is a client's process: one Client, the programs that use it, each with a session, and watchers. It may
// die and be started again.
type process struct {
	world *world
	id    int
	plan  ClientPlan
	lives int

	mu       sync.Mutex // guards what follows
	client   *client.Client
	ctx      context.Context // of the programs
	stop     context.CancelFunc
	watch    context.Context // of the watchers, which go on after the programs have ended
	unwatch  context.CancelFunc
	programs []*workload.Program
	watchers map[int]string // the semaphores that are watched now
	over     bool
	// Sessions that live, for the operator to end.
	sessions []uint64

	working  sync.WaitGroup // programs
	watching sync.WaitGroup // watchers
}

func newProcess(w *world, id int, p ClientPlan) *process {
	return &process{world: w, id: id, plan: p}
}

// rise starts the process, unless it runs.
func (p *process) rise() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stop != nil || p.over {
		return
	}
	p.lives++
	p.ctx, p.stop = context.WithCancel(context.Background())
	p.watch, p.unwatch = context.WithCancel(context.Background())
	p.watchers = make(map[int]string)
	p.programs = nil
	dice := p.world.dice(p.id*100 + p.lives)
	p.working.Go(func() { p.run(dice) })
}

// run opens the client and starts what uses it.
func (p *process) run(dice *rand.Rand) {
	c := p.open()
	if c == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.client = c
	record := witness{p.world.record, p}
	ctx, watch := p.ctx, p.watch
	for i, timeout := range p.plan.Timeouts {
		q := &workload.Program{
			Client: c, Recorder: record, Habits: habits, Dice: p.world.dice(p.id*100 + p.lives + 10_000*(i+1)),
			Node: path, Timeout: timeout, Think: p.plan.Think, Staleness: p.world.staleness(),
		}
		p.programs = append(p.programs, q)
		p.working.Go(func() { q.Run(ctx) })
	}
	for range p.plan.Watchers {
		name, id := workload.Pick(dice, scenery...).Name, p.world.nextWatcher()
		p.watchers[id] = name
		p.watching.Go(func() { workload.Watch(watch, c, place(name), id, record) })
	}
}

// open opens the client, however long that takes.
func (p *process) open() *client.Client {
	dial := func(ctx context.Context, address string) (net.Conn, error) {
		return p.world.wires.dial(ctx, p.id, address)
	}
	return workload.Open(p.ctx, p.world.cluster.Addresses(),
		client.WithDialer(p.world.bug.tamper(dial)), client.WithName(fmt.Sprintf("client-%d", p.id)))
}

// die ends the process in the middle of what it does: nothing that it sends from now on arrives.
func (p *process) die() {
	p.world.wires.holdClient(p.id, true)
	defer p.world.wires.holdClient(p.id, false)
	p.mu.Lock()
	stop, unwatch := p.stop, p.unwatch
	p.mu.Unlock()
	if stop == nil {
		return
	}
	p.world.record.Bury(p.id)
	stop()
	unwatch()
	p.working.Wait()
	p.watching.Wait()
	p.mu.Lock()
	c := p.client
	p.client, p.stop, p.watchers, p.sessions = nil, nil, nil, nil
	p.mu.Unlock()
	if c != nil {
		_ = c.Close() // reaches nobody
	}
	p.world.wires.cut(p.id)
}

// rest ends the programs. What they hold they keep, and watchers go on.
func (p *process) rest() {
	p.mu.Lock()
	p.over = true
	stop := p.stop
	p.mu.Unlock()
	if stop != nil {
		stop()
	}
	p.working.Wait()
}

// leave ends the process in peace.
func (p *process) leave() {
	p.mu.Lock()
	unwatch, c := p.unwatch, p.client
	p.mu.Unlock()
	if unwatch != nil {
		unwatch()
	}
	if c != nil {
		if err := c.Close(); err != nil && !errors.Is(err, client.ErrSessionExpired) {
			p.world.record.Note("client %d did not end in peace: %v", p.id, err)
		}
	}
	p.watching.Wait()
}

// watchersOf returns the watchers of a semaphore.
func (p *process) watchersOf(name string) (ids []int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, n := range p.watchers {
		if n == name {
			ids = append(ids, id)
		}
	}
	return ids
}

// living draws one of the sessions that live, 0 if there are none.
func (p *process) living(dice *rand.Rand) uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.sessions) == 0 {
		return 0
	}
	return workload.Pick(dice, p.sessions...)
}

// checkNotices looks for one-shot watches that were never told of a change that there was.
func (p *process) checkNotices(revisions map[string]uint64) {
	p.mu.Lock()
	programs := slices.Clone(p.programs)
	p.mu.Unlock()
	for _, q := range programs {
		for n := range q.Notices() {
			if n.Open() && revisions[n.Name] != n.Revision {
				p.world.record.Note("session %x described %s at revision %d and was never told that it is at %d now",
					n.Session.ID(), n.Name, n.Revision, revisions[n.Name])
			}
		}
	}
}
