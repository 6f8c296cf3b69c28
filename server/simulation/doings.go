package simulation

import (
	"context"
	"errors"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/server/history"
)

// semaphore is what both kinds of semaphores offer.
type semaphore interface {
	Acquire(context.Context, ...client.AcquireOption) (*client.Lease, error)
	TryAcquire(context.Context, ...client.AcquireOption) (*client.Lease, bool, error)
	Release(context.Context) (bool, error)
	Update(context.Context, []byte, ...client.UpdateOption) error
	Describe(context.Context, ...client.DescribeOption) (*client.SemaphoreDetails, error)
}

func (q *program) semaphore(s scene) semaphore {
	if s.ephemeral {
		return q.session.Ephemeral(s.name)
	}
	return q.session.Semaphore(s.name)
}

// acquire asks for a part of a semaphore that the program does not hold, in one of many ways.
func (q *program) acquire(ctx context.Context, s scene) {
	q.mu.Lock()
	h := q.held[s.name]
	q.mu.Unlock()
	if h != nil && h.lease.Err() == nil {
		return
	}
	ctx, cancel := q.patience(ctx)
	defer cancel()
	o := q.begin(history.Acquire, s)
	o.Count = s.count(q.dice)
	o.Wait = pick(q.dice, 0, -1, time.Duration(1+q.dice.Int64N(int64(200*time.Millisecond))).Truncate(time.Millisecond)+time.Millisecond,
		time.Duration(1+q.dice.IntN(8000))*time.Millisecond)
	options := []client.AcquireOption{client.Count(o.Count), client.Data([]byte(s.name))}
	var lease *client.Lease
	var err error
	if o.Wait == 0 {
		ok := false
		if lease, ok, err = q.semaphore(s).TryAcquire(ctx, options...); err == nil && !ok {
			err = client.ErrNotAcquired
		}
	} else {
		if o.Wait > 0 {
			options = append(options, client.Timeout(o.Wait))
		}
		options = append(options, client.OnQueued(func(order uint64) { o.Queued, o.Place = q.record().Now(), order }))
		lease, err = q.semaphore(s).Acquire(ctx, options...)
	}
	if err == nil {
		o.Order = lease.Fence()
	}
	q.finish(o, err)
	if err == nil {
		q.hold(s, lease, o.Count)
	}
	q.settle(s, err)
}

// settle makes sure, mostly, of what became of an operation that was given up: a later change that is answered
// means that it is over. What is not known for long makes a history hard to judge.
func (q *program) settle(s scene, err error) {
	if is, _ := outcome(err); is != history.Unknown || q.session.Context().Err() != nil || q.dice.IntN(10) == 0 {
		return
	}
	if h := q.anyHoldingOf(s); h != nil && h.lease.Err() == nil {
		return
	}
	ctx, cancel := context.WithTimeout(q.ctx, 30*time.Second)
	defer cancel()
	q.release(ctx, s)
}

// use works under a lease for a while, writes to what it guards, and gives it back.
func (q *program) use(ctx context.Context, h *holding) {
	// Sometimes longer than any lease can last: who was cut off or stood still meanwhile writes too late.
	work := pick(q.dice, 10*time.Millisecond, time.Second, 2*q.timeout)
	sleep(ctx, time.Duration(1+q.dice.Int64N(int64(work))))
	if h.scene.exclusive() {
		of := place(h.scene.name)
		token := h.lease.Fence()
		q.record().Write(history.Write{Semaphore: of, Order: token, Believed: h.lease.Err() == nil},
			func() bool { return q.process.world.store.write(of, token) })
	}
	ctx, cancel := q.patience(ctx)
	defer cancel()
	if h.scene.data && q.dice.IntN(3) == 0 {
		q.guarded(ctx, h)
	}
	o := q.begin(history.Release, h.scene)
	o.Guard = h.lease.Fence()
	h.end("released")
	err := h.lease.Release(ctx)
	o.Released = err == nil
	q.finish(o, err)
}

// guarded writes data that only the holder may write.
func (q *program) guarded(ctx context.Context, h *holding) {
	o := q.begin(history.Update, h.scene)
	o.Guard, o.Data = h.lease.Fence(), q.value()
	q.finish(o, h.lease.Update(ctx, []byte(o.Data)))
}

// change gives a part of a lease back.
func (q *program) change(ctx context.Context, h *holding) {
	before := h.lease.Count()
	if before == 1 {
		return
	}
	ctx, cancel := q.patience(ctx)
	defer cancel()
	o := q.begin(history.Change, h.scene)
	o.Count, o.Order = 1+q.dice.Uint64N(before-1), h.lease.Fence()
	// From now on less must be believed in, whatever comes of it.
	q.hold(h.scene, h.lease, o.Count)
	err := h.lease.Change(ctx, client.Count(o.Count))
	q.finish(o, err)
	if err != nil && h.lease.Err() == nil {
		// How much is owned is open: let it go.
		if now := q.anyHoldingOf(h.scene); now != nil {
			q.use(ctx, now)
		}
	}
}

func (q *program) anyHoldingOf(s scene) *holding {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.held[s.name]
}

// update writes data.
func (q *program) update(ctx context.Context, s scene) {
	if !s.data {
		return
	}
	ctx, cancel := q.patience(ctx)
	defer cancel()
	o := q.begin(history.Update, s)
	o.Data = q.value()
	var options []client.UpdateOption
	if lease := q.last[s.name]; lease != nil && q.dice.IntN(3) == 0 {
		// Lost or not: the host decides.
		o.Guard = lease.Fence()
		options = append(options, client.Guard(lease))
	}
	err := q.semaphore(s).Update(ctx, []byte(o.Data), options...)
	q.finish(o, err)
	q.settle(s, err)
}

// release gives back whatever the program has of a semaphore, by its name.
func (q *program) release(ctx context.Context, s scene) {
	if h := q.anyHoldingOf(s); h != nil {
		h.end("released")
	}
	o := q.begin(history.Release, s)
	var err error
	o.Released, err = q.semaphore(s).Release(ctx)
	q.finish(o, err)
	if err != nil {
		// It goes on in the background, and would hit whatever is acquired next.
		q.close(q.ctx)
	}
}

// describe looks at a semaphore.
func (q *program) describe(ctx context.Context, s scene) {
	ctx, cancel := q.patience(ctx)
	defer cancel()
	o := q.begin(history.Describe, s)
	mode := client.Strict
	if q.dice.IntN(2) == 0 {
		mode, o.Age = client.Relaxed, q.process.world.staleness()
	}
	d, err := q.semaphore(s).Describe(ctx, client.WithOwners(), client.WithWaiters(), client.WithConsistency(mode))
	o.Found, o.Outcome, o.Error = found(d, err)
	q.record().Operation(o)
}

// await leaves a one-shot watch.
func (q *program) await(ctx context.Context, s scene) {
	ctx, cancel := q.patience(ctx)
	defer cancel()
	n := &notice{}
	o := q.begin(history.Describe, s)
	d, err := q.semaphore(s).Describe(ctx, client.WithOwners(), client.WithWaiters(), client.WithConsistency(client.Strict),
		client.OnChanged(func(bool, bool) {
			q.mu.Lock()
			defer q.mu.Unlock()
			n.told = true
		}))
	o.Found, o.Outcome, o.Error = found(d, err)
	q.record().Operation(o)
	if err == nil {
		q.mu.Lock()
		n.revision = d.Revision
		q.awaits[s.name] = n
		q.mu.Unlock()
	}
}

// remake deletes and creates semaphores that have to bear it.
func (q *program) remake(ctx context.Context, s scene) {
	if !s.doomed {
		return
	}
	ctx, cancel := q.patience(ctx)
	defer cancel()
	sem := q.session.Semaphore(s.name)
	if q.dice.IntN(2) == 0 {
		o := q.begin(history.Delete, s)
		var options []client.DeleteOption
		if o.Force = q.dice.IntN(2) == 0; o.Force {
			options = append(options, client.Force())
		}
		q.finish(o, sem.Delete(ctx, options...))
	}
	o := q.begin(history.Create, s)
	o.Limit, o.Data = s.limit, q.value()
	err := sem.Create(ctx, o.Limit, []byte(o.Data))
	q.finish(o, err)
	q.settle(s, err)
}

// outcome tells what an error says of an operation.
func outcome(err error) (history.Outcome, string) {
	if err == nil {
		return history.Done, ""
	}
	for _, x := range []struct {
		err error
		is  history.Outcome
	}{
		{client.ErrNotAcquired, history.NotAcquired},
		{client.ErrSessionExpired, history.Unknown},
		{client.ErrSessionClosed, history.Unknown},
		{client.ErrNotFound, history.NotFound},
		{client.ErrAlreadyExists, history.Exists},
		{client.ErrPreconditionFailed, history.Refused},
		{client.ErrBadRequest, history.Refused},
		{client.ErrFenced, history.Fenced},
	} {
		if errors.Is(err, x.err) {
			return x.is, err.Error()
		}
	}
	return history.Unknown, err.Error()
}

// found is what a description shows.
func found(d *client.SemaphoreDetails, err error) (*history.State, history.Outcome, string) {
	if errors.Is(err, client.ErrNotFound) {
		return &history.State{}, history.Done, ""
	}
	if err != nil {
		return nil, history.Unknown, err.Error()
	}
	s := &history.State{Exists: true, Limit: d.Limit, Data: string(d.Data), Revision: d.Revision}
	for _, o := range d.Owners {
		s.Owners = append(s.Owners, linkOf(o))
	}
	for _, w := range d.Waiters {
		s.Waiters = append(s.Waiters, history.Link{Session: w.SessionID, Order: w.OrderID, Count: w.Count})
	}
	return s, history.Done, ""
}
