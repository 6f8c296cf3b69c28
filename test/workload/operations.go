package workload

import (
	"context"
	"fmt"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/test/history"
)

// acquire acquires a semaphore that the program does not hold: it tries once, waits with a timeout, or waits forever.
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
	lease, err := p.session.Acquire(ctx, t, Request{Count: count, Wait: wait, Queued: func(order uint64) {
		o.Queued, o.Place = p.Recorder.Now(), order
	}})
	if err == nil {
		o.Order = lease.Fence()
	}
	o.finish(err)
	if err == nil {
		p.hold(t, lease, count)
	}
	p.resolve(t, err)
}

// resolve ensures, nine times out of ten, that an operation with an unknown outcome is over, by a later change with an
// answer. Operations with long open outcomes make a history hard to check.
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

// use works under a lease for a while, writes to the guarded store, and releases the lease.
func (p *Program) use(ctx context.Context, h *holding) {
	// Sometimes longer than any lease can last: a client that was disconnected or stalled meanwhile writes too late.
	Sleep(ctx, UpTo(p.Random, p.Profile.Work(p.Random, p.Timeout)))
	if h.target.exclusive() {
		p.Recorder.Write(p.of(h.target), h.lease)
	}
	ctx, cancel := p.withTimeout(ctx)
	defer cancel()
	if h.target.Data && p.Random.IntN(3) == 0 {
		o := p.start(history.Operation{Kind: history.Update, Guard: h.lease.Fence(), Data: p.value()}, h.target)
		o.finish(h.lease.Update(ctx, o.Data))
	}
	o := p.start(history.Operation{Kind: history.Release, Guard: h.lease.Fence()}, h.target)
	h.end("released")
	err := h.lease.Release(ctx)
	o.Released = err == nil
	o.finish(err)
}

// change reduces the count of a lease, by acquiring less.
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
	err := h.lease.Change(ctx, o.Count)
	o.finish(err)
	if err != nil {
		// The owned count is unknown: the lease is released.
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
	var guard Lease
	if h := p.held[t.Name]; p.Profile.LostGuards && h != nil && p.Random.IntN(3) == 0 {
		// The lease may be lost: the host decides.
		o.Guard, guard = h.lease.Fence(), h.lease
	}
	p.write(ctx, o, t, guard)
}

// updateRevision replaces data that it has read, expecting the same revision.
func (p *Program) updateRevision(ctx context.Context, t Target) {
	ctx, cancel := p.withTimeout(ctx)
	defer cancel()
	state := p.read(ctx, t, client.Strict, nil)
	if state == nil || !state.Exists {
		return
	}
	o := history.Operation{Kind: history.Update, Data: p.value(), Revision: state.Revision}
	p.write(ctx, o, t, nil)
}

// write makes an update, guarded by a lease unless nil.
func (p *Program) write(ctx context.Context, of history.Operation, t Target, guard Lease) {
	o := p.start(of, t)
	err := p.session.Update(ctx, t, o.Data, o.Revision, guard)
	o.finish(err)
	p.resolve(t, err)
}

// release releases a semaphore by name.
func (p *Program) release(ctx context.Context, t Target) {
	if h := p.held[t.Name]; h != nil {
		h.end("released")
	}
	o := p.start(history.Operation{Kind: history.Release}, t)
	var err error
	o.Released, err = p.session.Release(ctx, t)
	o.finish(err)
	if err != nil {
		// The client continues the release in the background, and could release the next acquire.
		p.close(p.ctx)
	}
}

// describe reads a semaphore.
func (p *Program) describe(ctx context.Context, t Target) {
	ctx, cancel := p.withTimeout(ctx)
	defer cancel()
	p.read(ctx, t, Pick(p.Random, client.Relaxed, client.Strict), nil)
}

// read describes a semaphore, and returns nil after an error. changed, if set, is called by a one-shot watch.
func (p *Program) read(ctx context.Context, t Target, mode client.Consistency, changed func()) *history.State {
	describe := history.Operation{Kind: history.Describe}
	if mode == client.Relaxed {
		describe.Age = p.Staleness
	}
	o := p.start(describe, t)
	state, err := p.session.Describe(ctx, t, mode, changed)
	o.Found, o.Outcome, o.Error = state, history.Done, ""
	if state == nil {
		o.Outcome, o.Error = history.Unknown, err.Error()
	}
	o.end(o.Operation, err)
	return o.Found
}

// recreate deletes and creates a semaphore marked as Recreated.
func (p *Program) recreate(ctx context.Context, t Target) {
	if !t.Recreated {
		return
	}
	ctx, cancel := p.withTimeout(ctx)
	defer cancel()
	if p.Random.IntN(2) == 0 {
		force := p.Random.IntN(2) == 0
		o := p.start(history.Operation{Kind: history.Delete, Force: force}, t)
		o.finish(p.session.Delete(ctx, t, force))
	}
	p.resolve(t, p.create(ctx, t))
}

// create creates a semaphore.
func (p *Program) create(ctx context.Context, t Target) error {
	o := p.start(history.Operation{Kind: history.Create, Limit: t.Limit, Data: p.value()}, t)
	err := p.session.Create(ctx, t, o.Data)
	o.finish(err)
	return err
}

// createOnce creates a semaphore under a unique name.
func (p *Program) createOnce(ctx context.Context) {
	ctx, cancel := p.withTimeout(ctx)
	defer cancel()
	p.created++
	// The recorder has the outcome.
	_ = p.create(ctx, Target{Name: fmt.Sprintf("%s%x-%d", CreatedOnce, p.session.ID(), p.created), Limit: 1})
}

// watchOnce describes a semaphore and leaves a one-shot watch. A session has at most one per semaphore: it replaces the
// previous watch, which has fired by then.
func (p *Program) watchOnce(ctx context.Context, t Target) {
	ctx, cancel := p.withTimeout(ctx)
	defer cancel()
	w := &OneShotWatch{Session: p.session, Name: t.Name}
	state := p.read(ctx, t, client.Strict, func() { w.fired.Store(true) })
	if state != nil && state.Exists {
		w.Revision = state.Revision
		p.watches[t.Name] = w
	}
}
