//go:build linux

package chaos

import (
	"context"
	"errors"
	"fmt"
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
	if q.holdingOf(s) != nil {
		return
	}
	ctx, cancel := q.patience(ctx)
	defer cancel()
	wait := pick(q.dice, 0, -1, upTo(q.dice, 200*time.Millisecond).Truncate(time.Millisecond)+time.Millisecond,
		time.Duration(1+q.dice.IntN(2000))*time.Millisecond)
	d := q.start(history.Operation{Kind: history.Acquire, Count: s.count(q.dice), Wait: wait}, s)
	options := []client.AcquireOption{client.Count(d.Count), client.Data([]byte(s.name))}
	var lease *client.Lease
	var err error
	if wait == 0 {
		ok := false
		if lease, ok, err = q.semaphore(s).TryAcquire(ctx, options...); err == nil && !ok {
			err = client.ErrNotAcquired
		}
	} else {
		if wait > 0 {
			options = append(options, client.Timeout(wait))
		}
		options = append(options, client.OnQueued(func(order uint64) { d.Queued, d.Place = q.crew.scribe.Now(), order }))
		lease, err = q.semaphore(s).Acquire(ctx, options...)
	}
	if err == nil {
		d.Order = lease.Fence()
	}
	d.finish(err)
	if err == nil {
		q.hold(s, lease, d.Count)
	}
	q.settle(s, err)
}

// settle makes sure, mostly, of what became of an operation that was given up: a later change that is answered
// means that it is over. What is not known for long makes a history hard to judge.
func (q *program) settle(s scene, err error) {
	if is, _ := outcome(err); is != history.Unknown || q.session.Context().Err() != nil || q.dice.IntN(10) == 0 {
		return
	}
	if q.holdingOf(s) != nil {
		return
	}
	ctx, cancel := context.WithTimeout(q.ctx, 10*time.Second)
	defer cancel()
	q.release(ctx, s)
}

// use works under a lease for a while, writes to what it guards, and gives it back.
func (q *program) use(ctx context.Context, h *holding) {
	// Sometimes longer than any lease can last: who was cut off or stood still meanwhile writes too late.
	work := pick(q.dice, time.Millisecond, 10*time.Millisecond, 100*time.Millisecond)
	if q.dice.IntN(40) == 0 {
		work = 2 * q.timeout
	}
	sleep(ctx, upTo(q.dice, work))
	if h.scene.exclusive() {
		q.write(h)
	}
	ctx, cancel := q.patience(ctx)
	defer cancel()
	if h.scene.data && q.dice.IntN(3) == 0 {
		d := q.start(history.Operation{Kind: history.Update, Guard: h.lease.Fence(), Data: q.value()}, h.scene)
		d.finish(h.lease.Update(ctx, []byte(d.Data)))
	}
	d := q.start(history.Operation{Kind: history.Release, Guard: h.lease.Fence()}, h.scene)
	h.end("released")
	err := h.lease.Release(ctx)
	d.Released = err == nil
	d.finish(err)
}

// write writes to the store that the lease guards. The writer believed if it still does afterwards.
func (q *program) write(h *holding) {
	w := history.Write{Semaphore: q.of(h.scene), Order: h.lease.Fence()}
	w.At, w.Accepted = q.crew.scribe.to.write(w.Semaphore, w.Order)
	w.Believed = h.lease.Err() == nil
	q.crew.scribe.tell(q.crew.scribe.number.Add(1), entry{Write: &w})
}

// change gives a part of a lease back, by acquiring less.
func (q *program) change(ctx context.Context, h *holding) {
	before := h.lease.Count()
	if before == 1 {
		return
	}
	ctx, cancel := q.patience(ctx)
	defer cancel()
	d := q.start(history.Operation{Kind: history.Change, Count: 1 + q.dice.Uint64N(before-1), Order: h.lease.Fence()}, h.scene)
	// From now on less must be believed in, whatever comes of it.
	q.hold(h.scene, h.lease, d.Count)
	err := h.lease.Change(ctx, client.Count(d.Count))
	d.finish(err)
	if err != nil {
		// How much is owned is open: let it go.
		if now := q.holdingOf(h.scene); now != nil {
			q.use(q.ctx, now)
		}
	}
}

// update writes data.
func (q *program) update(ctx context.Context, s scene) {
	if s.config {
		q.revise(ctx, s)
		return
	}
	if !s.data {
		return
	}
	ctx, cancel := q.patience(ctx)
	defer cancel()
	d := q.start(history.Operation{Kind: history.Update, Data: q.value()}, s)
	err := q.semaphore(s).Update(ctx, []byte(d.Data))
	d.finish(err)
	q.settle(s, err)
}

// revise replaces data that was read by what follows from it, if it is still there.
func (q *program) revise(ctx context.Context, s scene) {
	ctx, cancel := q.patience(ctx)
	defer cancel()
	state := q.look(ctx, s, client.Strict)
	if state == nil || !state.Exists {
		return
	}
	d := q.start(history.Operation{Kind: history.Update, Data: q.value(), Revision: state.Revision}, s)
	err := q.semaphore(s).Update(ctx, []byte(d.Data), client.IfRevision(state.Revision))
	d.finish(err)
	q.settle(s, err)
}

// release gives back whatever the program has of a semaphore, by its name.
func (q *program) release(ctx context.Context, s scene) {
	if h := q.held[s.name]; h != nil {
		h.end("released")
	}
	d := q.start(history.Operation{Kind: history.Release}, s)
	var err error
	d.Released, err = q.semaphore(s).Release(ctx)
	d.finish(err)
	if err != nil {
		// It goes on in the background, and would hit whatever is acquired next.
		q.close(q.ctx)
	}
}

// describe looks at a semaphore.
func (q *program) describe(ctx context.Context, s scene) {
	ctx, cancel := q.patience(ctx)
	defer cancel()
	q.look(ctx, s, pick(q.dice, client.Strict, client.Relaxed))
}

// look describes a semaphore, and returns nil where that fails.
func (q *program) look(ctx context.Context, s scene, mode client.Consistency) *history.State {
	o := history.Operation{Kind: history.Describe}
	if mode == client.Relaxed {
		o.Age = q.crew.orders.staleness()
	}
	d := q.start(o, s)
	found, err := q.semaphore(s).Describe(ctx, client.WithOwners(), client.WithWaiters(), client.WithConsistency(mode))
	q.saw(d, found, err)
	return d.Found
}

// saw tells what a description showed.
func (q *program) saw(d *deed, found *client.SemaphoreDetails, err error) {
	d.Found, d.Outcome, d.Error = stateOf(found, err)
	q.crew.scribe.blame(err)
	q.crew.scribe.finish(d.number, d.Operation)
}

// stateOf is what a description shows.
func stateOf(d *client.SemaphoreDetails, err error) (*history.State, history.Outcome, string) {
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

// remake deletes and creates semaphores that have to bear it.
func (q *program) remake(ctx context.Context, s scene) {
	if !s.doomed {
		return
	}
	ctx, cancel := q.patience(ctx)
	defer cancel()
	sem := q.session.Semaphore(s.name)
	if q.dice.IntN(2) == 0 {
		var options []client.DeleteOption
		force := q.dice.IntN(2) == 0
		if force {
			options = append(options, client.Force())
		}
		d := q.start(history.Operation{Kind: history.Delete, Force: force}, s)
		d.finish(sem.Delete(ctx, options...))
	}
	d := q.start(history.Operation{Kind: history.Create, Limit: s.limit, Data: q.value()}, s)
	err := sem.Create(ctx, d.Limit, []byte(d.Data))
	d.finish(err)
	q.settle(s, err)
}

// enter makes an entry of the ledger.
func (q *program) enter(ctx context.Context) {
	ctx, cancel := q.patience(ctx)
	defer cancel()
	q.made++
	s := scene{name: fmt.Sprintf("%s%x-%d", ledger, q.session.ID(), q.made), limit: 1}
	d := q.start(history.Operation{Kind: history.Create, Limit: 1, Data: q.value()}, s)
	d.finish(q.session.Semaphore(s.name).Create(ctx, 1, []byte(d.Data)))
}
