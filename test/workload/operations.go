package workload

import (
	"context"
	"fmt"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/test/history"
)

// semaphore is what both kinds of semaphores offer.
type semaphore interface {
	Acquire(context.Context, ...client.AcquireOption) (*client.Lease, error)
	TryAcquire(context.Context, ...client.AcquireOption) (*client.Lease, bool, error)
	Release(context.Context) (bool, error)
	Update(context.Context, []byte, ...client.UpdateOption) error
	Describe(context.Context, ...client.DescribeOption) (*client.SemaphoreDetails, error)
}

func (p *Program) semaphore(t Target) semaphore {
	if t.Ephemeral {
		return p.session.Ephemeral(t.Name)
	}
	return p.session.Semaphore(t.Name)
}

// acquire asks for a part of a semaphore that the program does not hold: it tries, waits for a time, or waits for ever.
func (p *Program) acquire(ctx context.Context, t Target) {
	if p.holdingOf(t) != nil {
		return
	}
	ctx, cancel := p.withTimeout(ctx)
	defer cancel()
	count := t.count(p.Random)
	wait := Pick(p.Random, 0, -1, UpTo(p.Random, 200*time.Millisecond).Truncate(time.Millisecond)+time.Millisecond,
		time.Duration(1+p.Random.Int64N(p.Profile.LongWait.Milliseconds()))*time.Millisecond)
	o := p.start(history.Operation{Kind: history.Acquire, Count: count, Wait: wait}, t)
	options := []client.AcquireOption{client.Count(count), client.Data([]byte(t.Name))}
	var lease *client.Lease
	var err error
	if wait == 0 {
		ok := false
		if lease, ok, err = p.semaphore(t).TryAcquire(ctx, options...); err == nil && !ok {
			err = client.ErrNotAcquired
		}
	} else {
		if wait > 0 {
			options = append(options, client.Timeout(wait))
		}
		options = append(options, client.OnQueued(func(order uint64) { o.Queued, o.Place = p.Recorder.Now(), order }))
		lease, err = p.semaphore(t).Acquire(ctx, options...)
	}
	if err == nil {
		o.Order = lease.Fence()
	}
	o.finish(err)
	if err == nil {
		p.hold(t, lease, count)
	}
	p.resolve(t, err)
}

// resolve makes sure, nine times of ten, that an operation of unknown outcome is over: a later change that is answered
// means that it is. Operations whose outcome stays open for long make a history hard to check.
func (p *Program) resolve(t Target, err error) {
	if is, _ := OutcomeOf(err); is != history.Unknown || p.session.Context().Err() != nil || p.Random.IntN(10) == 0 {
		return
	}
	if p.holdingOf(t) != nil {
		return
	}
	ctx, cancel := context.WithTimeout(p.ctx, p.Profile.ResolveTimeout)
	defer cancel()
	p.release(ctx, t)
}

// use works under a lease for a while, writes to what it guards, and releases it.
func (p *Program) use(ctx context.Context, h *holding) {
	// Now and then longer than any lease can last: a client that was cut off or stood still meanwhile writes too late.
	Sleep(ctx, UpTo(p.Random, p.Profile.Work(p.Random, p.Timeout)))
	if h.target.exclusive() {
		p.Recorder.Write(p.of(h.target), h.lease)
	}
	ctx, cancel := p.withTimeout(ctx)
	defer cancel()
	if h.target.Data && p.Random.IntN(3) == 0 {
		o := p.start(history.Operation{Kind: history.Update, Guard: h.lease.Fence(), Data: p.value()}, h.target)
		o.finish(h.lease.Update(ctx, []byte(o.Data)))
	}
	o := p.start(history.Operation{Kind: history.Release, Guard: h.lease.Fence()}, h.target)
	h.end("released")
	err := h.lease.Release(ctx)
	o.Released = err == nil
	o.finish(err)
}

// change gives a part of a lease back, by acquiring less.
func (p *Program) change(ctx context.Context, h *holding) {
	before := h.lease.Count()
	if before == 1 {
		return
	}
	ctx, cancel := p.withTimeout(ctx)
	defer cancel()
	o := p.start(history.Operation{Kind: history.Change, Count: 1 + p.Random.Uint64N(before-1), Order: h.lease.Fence()},
		h.target)
	// From now on the program may believe in the smaller count only, whatever the outcome is.
	p.hold(h.target, h.lease, o.Count)
	err := h.lease.Change(ctx, client.Count(o.Count))
	o.finish(err)
	if err != nil {
		// The count that is owned is not known: the lease is released.
		if now := p.holdingOf(h.target); now != nil {
			p.use(p.ctx, now)
		}
	}
}

// update writes data.
func (p *Program) update(ctx context.Context, t Target) {
	if t.Config {
		p.updateRevision(ctx, t)
		return
	}
	if !t.Data {
		return
	}
	ctx, cancel := p.withTimeout(ctx)
	defer cancel()
	o := history.Operation{Kind: history.Update, Data: p.value()}
	var options []client.UpdateOption
	if h := p.held[t.Name]; p.Profile.LostGuards && h != nil && p.Random.IntN(3) == 0 {
		// The lease may be lost: the host decides.
		o.Guard = h.lease.Fence()
		options = append(options, client.Guard(h.lease))
	}
	p.write(ctx, o, t, options...)
}

// updateRevision replaces data that it has read, if it is still there.
func (p *Program) updateRevision(ctx context.Context, t Target) {
	ctx, cancel := p.withTimeout(ctx)
	defer cancel()
	state := p.read(ctx, t, client.Strict)
	if state == nil || !state.Exists {
		return
	}
	o := history.Operation{Kind: history.Update, Data: p.value(), Revision: state.Revision}
	p.write(ctx, o, t, client.IfRevision(state.Revision))
}

// write makes an update.
func (p *Program) write(ctx context.Context, of history.Operation, t Target, options ...client.UpdateOption) {
	o := p.start(of, t)
	err := p.semaphore(t).Update(ctx, []byte(o.Data), options...)
	o.finish(err)
	p.resolve(t, err)
}

// release releases by name whatever the program has of a semaphore.
func (p *Program) release(ctx context.Context, t Target) {
	if h := p.held[t.Name]; h != nil {
		h.end("released")
	}
	o := p.start(history.Operation{Kind: history.Release}, t)
	var err error
	o.Released, err = p.semaphore(t).Release(ctx)
	o.finish(err)
	if err != nil {
		// The client goes on with it in the background, and would release what is acquired next.
		p.close(p.ctx)
	}
}

// describe reads a semaphore.
func (p *Program) describe(ctx context.Context, t Target) {
	ctx, cancel := p.withTimeout(ctx)
	defer cancel()
	p.read(ctx, t, Pick(p.Random, client.Relaxed, client.Strict))
}

// read describes a semaphore, and returns nil where that fails.
func (p *Program) read(ctx context.Context, t Target, mode client.Consistency,
	options ...client.DescribeOption) *history.State {
	describe := history.Operation{Kind: history.Describe}
	if mode == client.Relaxed {
		describe.Age = p.Staleness
	}
	o := p.start(describe, t)
	options = append(options, client.WithOwners(), client.WithWaiters(), client.WithConsistency(mode))
	details, err := p.semaphore(t).Describe(ctx, options...)
	o.Found, o.Outcome, o.Error = StateOf(details, err)
	o.end(o.Operation, err)
	return o.Found
}

// recreate deletes and creates a semaphore of those that are recreated.
func (p *Program) recreate(ctx context.Context, t Target) {
	if !t.Recreated {
		return
	}
	ctx, cancel := p.withTimeout(ctx)
	defer cancel()
	s := p.session.Semaphore(t.Name)
	if p.Random.IntN(2) == 0 {
		var options []client.DeleteOption
		force := p.Random.IntN(2) == 0
		if force {
			options = append(options, client.Force())
		}
		o := p.start(history.Operation{Kind: history.Delete, Force: force}, t)
		o.finish(s.Delete(ctx, options...))
	}
	p.resolve(t, p.create(ctx, t))
}

// create creates a semaphore.
func (p *Program) create(ctx context.Context, t Target) error {
	o := p.start(history.Operation{Kind: history.Create, Limit: t.Limit, Data: p.value()}, t)
	err := p.session.Semaphore(t.Name).Create(ctx, t.Limit, []byte(o.Data))
	o.finish(err)
	return err
}

// createOnce creates a semaphore under a name that is used once.
func (p *Program) createOnce(ctx context.Context) {
	ctx, cancel := p.withTimeout(ctx)
	defer cancel()
	p.created++
	// The recorder has the outcome.
	_ = p.create(ctx, Target{Name: fmt.Sprintf("%s%x-%d", CreatedOnce, p.session.ID(), p.created), Limit: 1})
}

// watchOnce describes a semaphore and leaves a one-shot watch. A session has one of a semaphore: it replaces the one
// before, which has fired by then.
func (p *Program) watchOnce(ctx context.Context, t Target) {
	ctx, cancel := p.withTimeout(ctx)
	defer cancel()
	w := &OneShotWatch{Session: p.session, Name: t.Name}
	state := p.read(ctx, t, client.Strict, client.OnChanged(func(bool, bool) { w.fired.Store(true) }))
	if state != nil && state.Exists {
		w.Revision = state.Revision
		p.watches[t.Name] = w
	}
}
