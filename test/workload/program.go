package workload

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/signalbox/signalbox/test/history"
)

// Program uses semaphores in a session, one operation at a time, and starts a new session when the session is over. It
// runs on Run's goroutine.
type Program struct {
	Client   Client
	Recorder Recorder
	Profile  *Profile
	Random   *rand.Rand
	Node     string
	Timeout  time.Duration // of its sessions
	Think    time.Duration // the mean pause between two operations
	// Staleness is a RELAXED read's maximum age relative to its request.
	Staleness time.Duration

	ctx     context.Context // of Run
	session Session
	closed  func()              // records the session's close
	held    map[string]*holding // latest lease per semaphore name, lost or not
	watches map[string]*OneShotWatch
	written int // values
	created int // semaphores created once
}

// holding is the program's lease, from one count change to the next.
type holding struct {
	target Target
	lease  Lease
	end    func(why string) // records the end of belief in the lease
}

// Run works in one session at a time, until the context ends.
func (p *Program) Run(ctx context.Context) {
	p.ctx = ctx
	for ctx.Err() == nil {
		s, err := p.Client.Session(ctx, p.Node, p.Timeout)
		if err != nil {
			Sleep(ctx, UpTo(p.Random, p.Profile.Retry))
			continue
		}
		p.begin(s)
		for ctx.Err() == nil && s.Context().Err() == nil {
			p.step(ctx)
			Sleep(ctx, UpTo(p.Random, 2*p.Think))
		}
	}
}

// begin starts over in a new session.
func (p *Program) begin(s Session) {
	p.session, p.held, p.watches = s, make(map[string]*holding), make(map[string]*OneShotWatch)
	p.closed = p.Recorder.Session(s, history.Session{ID: s.ID(), Node: p.Node, Timeout: p.Timeout})
}

// close ends the session.
func (p *Program) close(ctx context.Context) {
	for _, h := range p.held {
		h.end("its session was closed")
	}
	p.closed()
	ctx, cancel := p.withTimeout(ctx)
	defer cancel()
	_ = p.session.Close(ctx) // a close that reaches no host leaves the session to its timeout
}

// step draws one operation and runs it.
func (p *Program) step(ctx context.Context) {
	odds := &p.Profile.Odds
	drawn := p.Random.IntN(odds.Of)
	is := func(times int) bool {
		drawn -= times
		return drawn < 0
	}
	target := func() Target { return Pick(p.Random, p.Profile.Targets...) }
	switch {
	case is(odds.Acquire):
		p.acquire(ctx, target())
	case is(odds.Use):
		if h := p.anyHolding(); h != nil {
			p.use(ctx, h)
		}
	case is(odds.Change):
		if h := p.anyHolding(); h != nil {
			p.change(ctx, h)
		}
	case is(odds.Update):
		p.update(ctx, target())
	case is(odds.Describe):
		p.describe(ctx, target())
	case is(odds.WatchOnce):
		p.watchOnce(ctx, target())
	case is(odds.Recreate):
		p.recreate(ctx, target())
	case is(odds.Release):
		p.release(ctx, target())
	case is(odds.CreateOnce):
		p.createOnce(ctx)
	case is(odds.Close) && p.Random.IntN(odds.CloseOne) == 0:
		p.close(ctx)
	}
}

// withTimeout draws how long the program waits for an operation.
func (p *Program) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, UpTo(p.Random, Pick(p.Random, p.Profile.Timeouts...)))
}

// of is a semaphore's name in the history.
func (p *Program) of(t Target) history.Semaphore {
	return history.Semaphore{Node: p.Node, Name: t.Name}
}

// pending is an operation in progress.
type pending struct {
	history.Operation
	end func(history.Operation, error)
}

// start records an operation's start.
func (p *Program) start(o history.Operation, t Target) *pending {
	o.Semaphore, o.Session, o.Ephemeral, o.Called = p.of(t), p.session.ID(), t.Ephemeral, p.Recorder.Now()
	return &pending{o, p.Recorder.Begin(o)}
}

// finish records the outcome.
func (p *pending) finish(err error) {
	p.Outcome, p.Error = OutcomeOf(err)
	p.end(p.Operation, err)
}

// value is unique data.
func (p *Program) value() string {
	p.written++
	return fmt.Sprintf("%x-%d", p.session.ID(), p.written)
}

// holdingOf is the program's lease on a semaphore, or nil.
func (p *Program) holdingOf(t Target) *holding {
	if h := p.held[t.Name]; h != nil && h.lease.Err() == nil {
		return h
	}
	return nil
}

// anyHolding draws one of the program's leases.
func (p *Program) anyHolding() *holding {
	var list []*holding
	for _, t := range p.Profile.Targets {
		if h := p.holdingOf(t); h != nil {
			list = append(list, h)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return Pick(p.Random, list...)
}

// hold records belief in a lease from now on.
func (p *Program) hold(t Target, lease Lease, count uint64) {
	if before := p.held[t.Name]; before != nil {
		before.end("acquired again")
	}
	p.held[t.Name] = &holding{t, lease, p.Recorder.Hold(lease, history.Hold{
		Semaphore: p.of(t), Session: lease.Session(), Order: lease.Fence(), Count: count,
	})}
}
