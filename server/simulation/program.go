package simulation

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/server/history"
)

// program uses semaphores in a session, one thing after the other, and starts another session when one is over.
type program struct {
	process *process
	client  *client.Client
	timeout time.Duration
	think   time.Duration
	dice    *rand.Rand
	done    chan struct{}

	ctx     context.Context // of run
	session *client.Session
	writes  int                      // how many values it wrote
	last    map[string]*client.Lease // of each semaphore, lost or not

	mu     sync.Mutex // guards what follows
	held   map[string]*holding
	ended  func(history.End, string) // ends the session in the record
	awaits map[string]*notice
}

// holding is a lease that the program has.
type holding struct {
	scene scene
	lease *client.Lease
	end   func(why string)
}

// notice is a one-shot watch.
type notice struct {
	revision uint64
	told     bool
}

func (q *program) record() *history.Recorder { return q.process.world.record }

// run lives through one session after the other.
func (q *program) run(ctx context.Context) {
	defer close(q.done)
	q.ctx = ctx
	for ctx.Err() == nil {
		s, err := q.client.Session(ctx, path, client.SessionTimeout(q.timeout))
		if err != nil {
			sleep(ctx, time.Duration(q.dice.Int64N(int64(time.Second))))
			continue
		}
		q.mu.Lock()
		q.session = s
		q.last = make(map[string]*client.Lease)
		q.held, q.awaits = make(map[string]*holding), make(map[string]*notice)
		q.ended = q.process.started(s, q.timeout)
		q.mu.Unlock()
		for ctx.Err() == nil && s.Context().Err() == nil {
			q.act(ctx)
			sleep(ctx, time.Duration(q.dice.Int64N(int64(2*q.think))))
		}
	}
}

// forget is the end of everything that the program believes in.
func (q *program) forget() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, h := range q.held {
		h.end("its process died")
	}
	if q.ended != nil {
		q.ended(history.Closed, "its process died")
	}
}

// act does one thing.
func (q *program) act(ctx context.Context) {
	switch roll := q.dice.IntN(100); {
	case roll < 45:
		q.acquire(ctx, pick(q.dice, scenery...))
	case roll < 70:
		if h := q.anyHolding(); h != nil {
			q.use(ctx, h)
		}
	case roll < 76:
		if h := q.anyHolding(); h != nil {
			q.change(ctx, h)
		}
	case roll < 82:
		q.update(ctx, pick(q.dice, scenery...))
	case roll < 92:
		q.describe(ctx, pick(q.dice, scenery...))
	case roll < 94:
		q.await(ctx, pick(q.dice, scenery...))
	case roll < 97:
		q.remake(ctx, pick(q.dice, scenery...))
	case roll < 98:
		q.release(ctx, pick(q.dice, scenery...))
	case roll < 99 && q.dice.IntN(4) == 0:
		q.close(ctx)
	}
}

// close ends the session.
func (q *program) close(ctx context.Context) {
	q.mu.Lock()
	for _, h := range q.held {
		h.end("its session was closed")
	}
	q.ended(history.Closed, "by its user")
	q.mu.Unlock()
	ctx, cancel := q.patience(ctx)
	defer cancel()
	_ = q.session.Close(ctx)
}

// patience is how long the program waits for something.
func (q *program) patience(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := pick(q.dice, 20*time.Millisecond, time.Second, 10*time.Second, 30*time.Second)
	return context.WithTimeout(ctx, time.Duration(1+q.dice.Int64N(int64(limit))))
}

// begin is the record of an operation that begins now.
func (q *program) begin(kind history.Kind, s scene) history.Operation {
	return history.Operation{
		Kind: kind, Semaphore: place(s.name), Session: q.session.ID(), Ephemeral: s.ephemeral, Called: q.record().Now(),
	}
}

// finish takes down an operation that is over.
func (q *program) finish(o history.Operation, err error) {
	o.Outcome, o.Error = outcome(err)
	q.record().Operation(o)
}

// value is data that nobody writes twice.
func (q *program) value() string {
	q.writes++
	return fmt.Sprintf("%x-%d", q.session.ID(), q.writes)
}

// anyHolding draws one of the leases that the program has.
func (q *program) anyHolding() *holding {
	q.mu.Lock()
	defer q.mu.Unlock()
	var list []*holding
	for _, s := range scenery {
		if h := q.held[s.name]; h != nil && h.lease.Err() == nil {
			list = append(list, h)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return pick(q.dice, list...)
}

// hold takes down that the program has a lease.
func (q *program) hold(s scene, lease *client.Lease, count uint64) {
	q.last[s.name] = lease
	q.mu.Lock()
	defer q.mu.Unlock()
	if before := q.held[s.name]; before != nil {
		before.end("acquired again")
	}
	end := q.record().Hold(history.Hold{Semaphore: place(s.name), Session: lease.Session(), Order: lease.Fence(), Count: count})
	q.held[s.name] = &holding{scene: s, lease: lease, end: end}
	context.AfterFunc(lease.Context(), func() { end(context.Cause(lease.Context()).Error()) })
}
