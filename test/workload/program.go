package workload

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/test/history"
)

// Program uses semaphores in a session, one thing after the other, and starts another session when one is over.
// One goroutine does all that: the one of Run.
type Program struct {
	Client   *client.Client
	Recorder Recorder
	Habits   *Habits
	Dice     *rand.Rand
	Node     string
	Timeout  time.Duration // of its sessions
	Think    time.Duration // the mean pause between two doings
	// Staleness is how much older than the request what a RELAXED read shows may be.
	Staleness time.Duration

	ctx     context.Context // of Run
	session *client.Session
	closes  func()              // takes down that the session is closed
	held    map[string]*holding // the latest of each semaphore by its name, lost or not
	notices map[string]*Notice
	wrote   int // values
	made    int // entries of the ledger
}

// holding is a lease that a program has, from one change of it to the next.
type holding struct {
	scene Scene
	lease *client.Lease
	end   func(why string) // takes down that it is not believed in any more
}

// Run lives through one session after the other, until the context ends.
func (q *Program) Run(ctx context.Context) {
	q.ctx = ctx
	for ctx.Err() == nil {
		s, err := q.Client.Session(ctx, q.Node, client.SessionTimeout(q.Timeout))
		if err != nil {
			Sleep(ctx, UpTo(q.Dice, q.Habits.Retry))
			continue
		}
		q.begin(s)
		for ctx.Err() == nil && s.Context().Err() == nil {
			q.act(ctx)
			Sleep(ctx, UpTo(q.Dice, 2*q.Think))
		}
	}
}

// begin takes a new session over.
func (q *Program) begin(s *client.Session) {
	q.session, q.held, q.notices = s, make(map[string]*holding), make(map[string]*Notice)
	q.closes = q.Recorder.Session(s, history.Session{ID: s.ID(), Node: q.Node, Timeout: q.Timeout})
}

// close ends the session.
func (q *Program) close(ctx context.Context) {
	for _, h := range q.held {
		h.end("its session was closed")
	}
	q.closes()
	ctx, cancel := q.patience(ctx)
	defer cancel()
	_ = q.session.Close(ctx) // where nobody hears of it, it ends by its timeout
}

// act does one thing.
func (q *Program) act(ctx context.Context) {
	odds := &q.Habits.Odds
	roll := q.Dice.IntN(odds.Of)
	falls := func(times int) bool {
		roll -= times
		return roll < 0
	}
	scene := func() Scene { return Pick(q.Dice, q.Habits.Scenery...) }
	switch {
	case falls(odds.Acquire):
		q.acquire(ctx, scene())
	case falls(odds.Use):
		if h := q.anyHolding(); h != nil {
			q.use(ctx, h)
		}
	case falls(odds.Change):
		if h := q.anyHolding(); h != nil {
			q.change(ctx, h)
		}
	case falls(odds.Update):
		q.update(ctx, scene())
	case falls(odds.Describe):
		q.describe(ctx, scene())
	case falls(odds.Await):
		q.await(ctx, scene())
	case falls(odds.Remake):
		q.remake(ctx, scene())
	case falls(odds.Release):
		q.release(ctx, scene())
	case falls(odds.Enter):
		q.enter(ctx)
	case falls(odds.Close) && q.Dice.IntN(odds.CloseOne) == 0:
		q.close(ctx)
	}
}

// patience is how long the program waits for something.
func (q *Program) patience(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, UpTo(q.Dice, Pick(q.Dice, q.Habits.Patience...)))
}

// of names a semaphore in the history.
func (q *Program) of(s Scene) history.Semaphore { return history.Semaphore{Node: q.Node, Name: s.Name} }

// deed is an operation that is under way.
type deed struct {
	history.Operation
	over func(history.Operation, error)
}

// start takes down that an operation begins now.
func (q *Program) start(o history.Operation, s Scene) *deed {
	o.Semaphore, o.Session, o.Ephemeral, o.Called = q.of(s), q.session.ID(), s.Ephemeral, q.Recorder.Now()
	return &deed{o, q.Recorder.Begin(o)}
}

// finish takes down what came of it.
func (d *deed) finish(err error) {
	d.Outcome, d.Error = OutcomeOf(err)
	d.over(d.Operation, err)
}

// value is data that nobody writes twice.
func (q *Program) value() string {
	q.wrote++
	return fmt.Sprintf("%x-%d", q.session.ID(), q.wrote)
}

// holdingOf is the lease that the program has of a semaphore, nil if it has none.
func (q *Program) holdingOf(s Scene) *holding {
	if h := q.held[s.Name]; h != nil && h.lease.Err() == nil {
		return h
	}
	return nil
}

// anyHolding draws one of the leases that the program has.
func (q *Program) anyHolding() *holding {
	var list []*holding
	for _, s := range q.Habits.Scenery {
		if h := q.holdingOf(s); h != nil {
			list = append(list, h)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return Pick(q.Dice, list...)
}

// hold begins to believe in a lease.
func (q *Program) hold(s Scene, lease *client.Lease, count uint64) {
	if before := q.held[s.Name]; before != nil {
		before.end("acquired again")
	}
	q.held[s.Name] = &holding{s, lease, q.Recorder.Hold(lease, history.Hold{
		Semaphore: q.of(s), Session: lease.Session(), Order: lease.Fence(), Count: count,
	})}
}
