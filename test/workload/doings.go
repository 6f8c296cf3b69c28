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

func (q *Program) semaphore(s Scene) semaphore {
	if s.Ephemeral {
		return q.session.Ephemeral(s.Name)
	}
	return q.session.Semaphore(s.Name)
}

// acquire asks for a part of a semaphore that the program does not hold, in one of many ways.
func (q *Program) acquire(ctx context.Context, s Scene) {
	if q.holdingOf(s) != nil {
		return
	}
	ctx, cancel := q.patience(ctx)
	defer cancel()
	count := s.count(q.Dice)
	wait := Pick(q.Dice, 0, -1, UpTo(q.Dice, 200*time.Millisecond).Truncate(time.Millisecond)+time.Millisecond,
		time.Duration(1+q.Dice.Int64N(q.Habits.LongWait.Milliseconds()))*time.Millisecond)
	d := q.start(history.Operation{Kind: history.Acquire, Count: count, Wait: wait}, s)
	options := []client.AcquireOption{client.Count(count), client.Data([]byte(s.Name))}
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
		options = append(options, client.OnQueued(func(order uint64) { d.Queued, d.Place = q.Recorder.Now(), order }))
		lease, err = q.semaphore(s).Acquire(ctx, options...)
	}
	if err == nil {
		d.Order = lease.Fence()
	}
	d.finish(err)
	if err == nil {
		q.hold(s, lease, count)
	}
	q.settle(s, err)
}

// settle makes sure, mostly, of what became of an operation that was given up: a later change that is answered
// means that it is over. What is not known for long makes a history hard to judge.
func (q *Program) settle(s Scene, err error) {
	if is, _ := OutcomeOf(err); is != history.Unknown || q.session.Context().Err() != nil || q.Dice.IntN(10) == 0 {
		return
	}
	if q.holdingOf(s) != nil {
		return
	}
	ctx, cancel := context.WithTimeout(q.ctx, q.Habits.SettlePatience)
	defer cancel()
	q.release(ctx, s)
}

// use works under a lease for a while, writes to what it guards, and gives it back.
func (q *Program) use(ctx context.Context, h *holding) {
	// Sometimes longer than any lease can last: who was cut off or stood still meanwhile writes too late.
	Sleep(ctx, UpTo(q.Dice, q.Habits.Work(q.Dice, q.Timeout)))
	if h.scene.exclusive() {
		q.Recorder.Write(q.of(h.scene), h.lease)
	}
	ctx, cancel := q.patience(ctx)
	defer cancel()
	if h.scene.Data && q.Dice.IntN(3) == 0 {
		d := q.start(history.Operation{Kind: history.Update, Guard: h.lease.Fence(), Data: q.value()}, h.scene)
		d.finish(h.lease.Update(ctx, []byte(d.Data)))
	}
	d := q.start(history.Operation{Kind: history.Release, Guard: h.lease.Fence()}, h.scene)
	h.end("released")
	err := h.lease.Release(ctx)
	d.Released = err == nil
	d.finish(err)
}

// change gives a part of a lease back, by acquiring less.
func (q *Program) change(ctx context.Context, h *holding) {
	before := h.lease.Count()
	if before == 1 {
		return
	}
	ctx, cancel := q.patience(ctx)
	defer cancel()
	d := q.start(history.Operation{Kind: history.Change, Count: 1 + q.Dice.Uint64N(before-1), Order: h.lease.Fence()}, h.scene)
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
func (q *Program) update(ctx context.Context, s Scene) {
	if s.Config {
		q.revise(ctx, s)
		return
	}
	if !s.Data {
		return
	}
	ctx, cancel := q.patience(ctx)
	defer cancel()
	o := history.Operation{Kind: history.Update, Data: q.value()}
	var options []client.UpdateOption
	if h := q.held[s.Name]; q.Habits.LateGuards && h != nil && q.Dice.IntN(3) == 0 {
		// Lost or not: the host decides.
		o.Guard = h.lease.Fence()
		options = append(options, client.Guard(h.lease))
	}
	q.write(ctx, o, s, options...)
}

// revise replaces data that was read by what follows from it, if it is still there.
func (q *Program) revise(ctx context.Context, s Scene) {
	ctx, cancel := q.patience(ctx)
	defer cancel()
	state := q.look(ctx, s, client.Strict)
	if state == nil || !state.Exists {
		return
	}
	q.write(ctx, history.Operation{Kind: history.Update, Data: q.value(), Revision: state.Revision}, s, client.IfRevision(state.Revision))
}

// write makes an update.
func (q *Program) write(ctx context.Context, o history.Operation, s Scene, options ...client.UpdateOption) {
	d := q.start(o, s)
	err := q.semaphore(s).Update(ctx, []byte(d.Data), options...)
	d.finish(err)
	q.settle(s, err)
}

// release gives back whatever the program has of a semaphore, by its name.
func (q *Program) release(ctx context.Context, s Scene) {
	if h := q.held[s.Name]; h != nil {
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
func (q *Program) describe(ctx context.Context, s Scene) {
	ctx, cancel := q.patience(ctx)
	defer cancel()
	q.look(ctx, s, Pick(q.Dice, client.Relaxed, client.Strict))
}

// look describes a semaphore, and returns nil where that fails.
func (q *Program) look(ctx context.Context, s Scene, mode client.Consistency, options ...client.DescribeOption) *history.State {
	o := history.Operation{Kind: history.Describe}
	if mode == client.Relaxed {
		o.Age = q.Staleness
	}
	d := q.start(o, s)
	options = append(options, client.WithOwners(), client.WithWaiters(), client.WithConsistency(mode))
	details, err := q.semaphore(s).Describe(ctx, options...)
	d.Found, d.Outcome, d.Error = StateOf(details, err)
	d.over(d.Operation, err)
	return d.Found
}

// remake deletes and creates semaphores that have to bear it.
func (q *Program) remake(ctx context.Context, s Scene) {
	if !s.Doomed {
		return
	}
	ctx, cancel := q.patience(ctx)
	defer cancel()
	sem := q.session.Semaphore(s.Name)
	if q.Dice.IntN(2) == 0 {
		var options []client.DeleteOption
		force := q.Dice.IntN(2) == 0
		if force {
			options = append(options, client.Force())
		}
		d := q.start(history.Operation{Kind: history.Delete, Force: force}, s)
		d.finish(sem.Delete(ctx, options...))
	}
	q.settle(s, q.create(ctx, s))
}

// create makes a semaphore.
func (q *Program) create(ctx context.Context, s Scene) error {
	d := q.start(history.Operation{Kind: history.Create, Limit: s.Limit, Data: q.value()}, s)
	err := q.session.Semaphore(s.Name).Create(ctx, s.Limit, []byte(d.Data))
	d.finish(err)
	return err
}

// enter makes an entry of the ledger.
func (q *Program) enter(ctx context.Context) {
	ctx, cancel := q.patience(ctx)
	defer cancel()
	q.made++
	_ = q.create(ctx, Scene{Name: fmt.Sprintf("%s%x-%d", Ledger, q.session.ID(), q.made), Limit: 1}) // the recorder knows
}
