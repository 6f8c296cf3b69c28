//go:build linux

package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/server/history"
)

// program uses semaphores in a session, one thing after the other, and starts another session when one is over.
// One goroutine does all that.
type program struct {
	crew    *crew
	client  *client.Client
	timeout time.Duration
	dice    *rand.Rand

	ctx     context.Context // of run
	session *client.Session
	ended   func(history.Time, history.End, string)
	held    map[string]*holding
	wrote   int // values
	made    int // entries of the ledger
}

// run lives through one session after the other.
func (q *program) run(ctx context.Context) {
	q.ctx = ctx
	for ctx.Err() == nil {
		s, err := q.client.Session(ctx, q.crew.orders.Node, client.SessionTimeout(q.timeout))
		if err != nil {
			sleep(ctx, upTo(q.dice, 200*time.Millisecond))
			continue
		}
		q.begin(s)
		for ctx.Err() == nil && s.Context().Err() == nil {
			q.act(ctx)
			sleep(ctx, upTo(q.dice, 2*q.crew.orders.Think))
		}
	}
}

// begin takes a new session over.
func (q *program) begin(s *client.Session) {
	q.session, q.held = s, make(map[string]*holding)
	began := q.crew.scribe.Now()
	ended := q.crew.scribe.session(history.Session{ID: s.ID(), Node: q.crew.orders.Node, Timeout: q.timeout})
	q.ended = ended
	context.AfterFunc(s.Context(), func() {
		why, detail := endOf(context.Cause(s.Context()))
		now := q.crew.scribe.Now()
		since := max(began, now-q.timeout-q.crew.orders.Grace-stillness)
		if from, ok := q.crew.scribe.asleep(since); ok && (why == history.Expired || why == history.Silent) {
			// It may have been over at any moment since, and who stood still may hear of that before it looks at
			// its clock.
			now, why = from, history.Silent
		}
		ended(now, why, detail)
	})
}

// endOf tells why a session ended.
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

// act does one thing.
func (q *program) act(ctx context.Context) {
	switch roll := q.dice.IntN(200); {
	case roll < 80:
		q.acquire(ctx, pick(q.dice, scenery...))
	case roll < 144:
		if h := q.anyHolding(); h != nil {
			q.use(ctx, h)
		}
	case roll < 152:
		if h := q.anyHolding(); h != nil {
			q.change(ctx, h)
		}
	case roll < 164:
		q.update(ctx, pick(q.dice, scenery...))
	case roll < 181:
		q.describe(ctx, pick(q.dice, scenery...))
	case roll < 184:
		q.await(ctx, pick(q.dice, scenery...))
	case roll < 190:
		q.remake(ctx, pick(q.dice, scenery...))
	case roll < 192:
		q.release(ctx, pick(q.dice, scenery...))
	case roll < 199:
		q.enter(ctx)
	case q.dice.IntN(3) == 0:
		q.close(ctx)
	}
}

// close ends the session.
func (q *program) close(ctx context.Context) {
	for _, h := range q.held {
		h.end("its session was closed")
	}
	q.ended(q.crew.scribe.Now(), history.Closed, "by its user")
	ctx, cancel := q.patience(ctx)
	defer cancel()
	_ = q.session.Close(ctx) // where nobody hears of it, it ends by its timeout
}

// patience is how long the program waits for something.
func (q *program) patience(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, upTo(q.dice, pick(q.dice, 20*time.Millisecond, 200*time.Millisecond, time.Second, 6*time.Second)))
}

// of names a semaphore in the history.
func (q *program) of(s scene) history.Semaphore {
	return history.Semaphore{Node: q.crew.orders.Node, Name: s.name}
}

// deed is an operation that is under way.
type deed struct {
	history.Operation
	program *program
	number  uint64
}

// start tells of an operation that begins now.
func (q *program) start(o history.Operation, s scene) *deed {
	o.Semaphore, o.Session, o.Ephemeral = q.of(s), q.session.ID(), s.ephemeral
	d := &deed{program: q}
	d.Operation, d.number = q.crew.scribe.operation(o)
	return d
}

// finish tells what came of it.
func (d *deed) finish(err error) {
	d.Outcome, d.Error = outcome(err)
	d.program.crew.scribe.blame(err)
	d.program.crew.scribe.finish(d.number, d.Operation)
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

// value is data that nobody writes twice.
func (q *program) value() string {
	q.wrote++
	return fmt.Sprintf("%x-%d", q.session.ID(), q.wrote)
}

// holdingOf is the lease that the program has of a semaphore, nil if it has none.
func (q *program) holdingOf(s scene) *holding {
	if h := q.held[s.name]; h != nil && h.lease.Err() == nil {
		return h
	}
	return nil
}

// anyHolding draws one of the leases that the program has.
func (q *program) anyHolding() *holding {
	var list []*holding
	for _, s := range scenery {
		if h := q.holdingOf(s); h != nil {
			list = append(list, h)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return pick(q.dice, list...)
}

// hold begins to believe in a lease.
func (q *program) hold(s scene, lease *client.Lease, count uint64) {
	if before := q.held[s.name]; before != nil {
		before.end("acquired again")
	}
	q.held[s.name] = q.crew.scribe.hold(s, q.crew.orders.Node, lease, count)
}
