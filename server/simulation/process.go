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
	"github.com/signalbox/signalbox/server/history"
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
	programs []*program
	watchers map[int]string // the semaphores that are watched now
	work     sync.WaitGroup
	over     bool
	// Sessions that live, for the operator to end.
	sessions []uint64
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
	p.work.Go(func() { p.run(dice) })
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
	for i, timeout := range p.plan.Timeouts {
		q := &program{process: p, client: c, timeout: timeout, think: p.plan.Think, dice: p.world.dice(p.id*100 + p.lives + 10_000*(i+1)), done: make(chan struct{})}
		p.programs = append(p.programs, q)
		ctx := p.ctx
		p.work.Go(func() { q.run(ctx) })
	}
	for range p.plan.Watchers {
		name := pick(dice, scenery...).name
		ctx, w := p.watch, &watcher{process: p, client: c, name: name, id: p.world.nextWatcher()}
		p.watchers[w.id] = name
		p.work.Go(func() { w.run(ctx) })
	}
}

// open opens the client, however long that takes.
func (p *process) open() *client.Client {
	dial := func(ctx context.Context, address string) (net.Conn, error) {
		return p.world.wires.dial(ctx, p.id, address)
	}
	for {
		c, err := client.Open(p.ctx, p.world.cluster.Addresses(),
			client.WithDialer(p.world.bug.tamper(dial)), client.WithName(fmt.Sprintf("client-%d", p.id)))
		if err == nil {
			return c
		}
		if !sleep(p.ctx, 100*time.Millisecond) {
			return nil
		}
	}
}

// die ends the process in the middle of what it does: nothing that it sends from now on arrives.
func (p *process) die() {
	p.world.wires.holdClient(p.id, true)
	defer p.world.wires.holdClient(p.id, false)
	p.mu.Lock()
	stop, unwatch, programs := p.stop, p.unwatch, p.programs
	p.mu.Unlock()
	if stop == nil {
		return
	}
	for _, q := range programs {
		q.forget()
	}
	stop()
	unwatch()
	p.work.Wait()
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
	stop, programs := p.stop, slices.Clone(p.programs)
	p.mu.Unlock()
	if stop != nil {
		stop()
	}
	for _, q := range programs {
		<-q.done
	}
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
	p.work.Wait()
}

// watching returns the watchers of a semaphore.
func (p *process) watching(name string) (ids []int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, n := range p.watchers {
		if n == name {
			ids = append(ids, id)
		}
	}
	return ids
}

// started takes down the beginning of a session, and its end when it comes.
func (p *process) started(s *client.Session, timeout time.Duration) (end func(history.End, string)) {
	id := s.ID()
	end = p.world.record.Session(history.Session{ID: id, Client: p.id, Node: path, Timeout: timeout})
	p.mu.Lock()
	p.sessions = append(p.sessions, id)
	p.mu.Unlock()
	context.AfterFunc(s.Context(), func() {
		end(endOf(context.Cause(s.Context())))
		p.mu.Lock()
		p.sessions = slices.DeleteFunc(p.sessions, func(other uint64) bool { return other == id })
		p.mu.Unlock()
	})
	return end
}

// living draws one of the sessions that live, 0 if there are none.
func (p *process) living(dice *rand.Rand) uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.sessions) == 0 {
		return 0
	}
	return pick(dice, p.sessions...)
}

// checkNotices looks for one-shot watches that were never told of a change that there was.
func (p *process) checkNotices(revisions map[string]uint64) {
	p.mu.Lock()
	programs := slices.Clone(p.programs)
	p.mu.Unlock()
	for _, q := range programs {
		q.mu.Lock()
		for name, n := range q.awaits {
			if !n.told && revisions[name] != n.revision && q.session.Context().Err() == nil {
				p.world.record.Note("session %x described %s at revision %d and was never told that it is at %d now",
					q.session.ID(), name, n.revision, revisions[name])
			}
		}
		q.mu.Unlock()
	}
}

func endOf(cause error) (history.End, string) {
	var e *client.SessionEnd
	if !errors.As(cause, &e) {
		return history.Closed, fmt.Sprint(cause)
	}
	switch e.Reason {
	case client.EndClosed:
		return history.Closed, e.Error()
	case client.EndSilence:
		return history.Silent, e.Error()
	case client.EndDestroyed, client.EndNodeDropped:
		return history.Ended, e.Error()
	}
	return history.Expired, e.Error()
}
