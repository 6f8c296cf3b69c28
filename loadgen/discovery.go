package loadgen

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/discovery"
	"github.com/signalbox/signalbox/loadgen/report"
)

var discoveryKind = &kind{
	Info: Info{
		Name: "discovery",
		Summary: "workers register in one list and leave it again, consumers follow the list; each caller sees to a " +
			"share of the workers",
		Operation: "one change, a worker registered or withdrawn, that every consumer has seen",
		Checks:    "that every consumer sees every change, that all end with the list that the hosts have",
		Settings:  []string{"workers", "watchers", "shared-watches"},
	},
	make: func() workload { return &discoveries{} },
	defaults: func(c *Config) {
		orElse(&c.Callers, min(16, max(c.Workers, 1)))
		orElse(&c.Watchers, 200)
		// A consumer is a program of its own.
		orElse(&c.Connections, c.Watchers)
	},
}

// discoveries: every worker has an address of its own, so a consumer knows whose registration it sees. A
// caller has one change under way at a time, so a consumer that sees one of its workers come or go knows which
// change that is.
type discoveries struct {
	run       *run
	name      string
	workers   []*worker
	churners  []*churner
	audience  audience
	sharing   sync.WaitGroup
	consumers []*consumer
	views     atomic.Int64 // of consumers that share

	// These are of the measurement; while it lasts, they are those before it.
	events, bytes, changes int64
}

// worker registers, and leaves.
type worker struct {
	session      *client.Session
	endpoint     discovery.Endpoint
	registration *discovery.Registration // nil while it is away
	doubtful     bool                    // a change has failed, so nobody knows
}

// churner is the share of one caller.
type churner struct {
	round    *round
	sequence uint64
	next     int // of the workers, in steps of the number of callers
	done     atomic.Int64
	converge histogram
}

// A change as rounds know it: the number of it, the worker, and whether it came.
const (
	workerBits = 24
	cameBit    = 1 << workerBits
)

func changeOf(sequence uint64, worker int, came bool) uint64 {
	change := sequence<<(workerBits+1) | uint64(worker)
	if came {
		change |= cameBit
	}
	return change
}

// addressOf is the address of a worker, as long as those of services are; workerOf reads it.
func addressOf(worker int) string {
	return fmt.Sprintf("10.%d.%d.%d:8080", worker>>16&255, worker>>8&255, worker&255)
}

// workerOf returns -1 where the address is not one of a worker.
func workerOf[T string | []byte](address T) int {
	const start, end = "10.", ":8080"
	if len(address) < len(start)+len(end) || string(address[:len(start)]) != start ||
		string(address[len(address)-len(end):]) != end {
		return -1
	}
	n, part := 0, 0
	for _, c := range []byte(address[len(start) : len(address)-len(end)]) {
		switch {
		case c == '.':
			n, part = n<<8|part, 0
		case c < '0' || c > '9':
			return -1
		default:
			part = part*10 + int(c-'0')
		}
	}
	return n<<8 | part
}

func (w *discoveries) prepare(ctx context.Context, r *run) error {
	w.run, w.name = r, r.name("endpoints", 0)
	sessions, err := r.sessions(ctx, r.config.Workers)
	if err != nil {
		return err
	}
	for i, s := range sessions {
		w.workers = append(w.workers, &worker{session: s, endpoint: discovery.Endpoint{Address: addressOf(i)}})
	}
	r.step("registering %d workers", len(w.workers))
	if err := each(ctx, len(w.workers), func(ctx context.Context, i int) error {
		return w.workers[i].register(ctx, w.name)
	}); err != nil {
		return err
	}
	for i := range r.config.Callers {
		w.churners = append(w.churners, &churner{round: newRound(), next: i, converge: newHistogram()})
	}
	r.step("opening the watches of %d consumers", r.config.Watchers)
	return w.follow(ctx)
}

func (x *worker) register(ctx context.Context, name string) (err error) {
	x.registration, err = discovery.Register(ctx, x.session, name, x.endpoint)
	return err
}

func (x *worker) withdraw(ctx context.Context) error {
	err := x.registration.Close(ctx)
	x.registration = nil
	return err
}

// follow opens all watches, and waits until every consumer has the whole list.
func (w *discoveries) follow(ctx context.Context) error {
	current := make(chan struct{}, w.run.config.Watchers)
	for range w.run.config.Watchers {
		w.consumers = append(w.consumers, newConsumer(w, current))
	}
	if w.run.ownStreams() {
		if err := w.audience.gather(ctx, w.run); err != nil {
			return err
		}
		if err := each(ctx, len(w.consumers), func(_ context.Context, i int) error {
			return w.audience.watch(i, w.consumers[i], w.name, true)
		}); err != nil {
			return err
		}
	} else {
		w.share()
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	for range w.consumers {
		select {
		case <-current:
		case <-late.C:
			return fmt.Errorf("%w: not every consumer has the list after %v", errNotSeen, patience)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// share has consumers use the recipe.
func (w *discoveries) share() {
	ctx, cancel := context.WithCancel(context.Background())
	w.run.atEnd(func() {
		cancel()
		w.sharing.Wait()
	})
	for i, x := range w.consumers {
		c := w.run.fleet.client(i)
		w.sharing.Go(func() {
			for set, err := range discovery.Watch(ctx, c, w.run.node, w.name) {
				if err != nil {
					if ctx.Err() == nil {
						w.run.fail(fmt.Errorf("%w: %w", errBroke, err))
					}
					return
				}
				w.views.Add(1)
				x.set(set)
			}
		})
	}
}

func (w *discoveries) caller(i int) operation {
	x, alarm := w.churners[i], newAlarm()
	return func(ctx context.Context) error { return w.change(ctx, x, alarm) }
}

// change lets the next worker of a caller come or go, and waits until every consumer has seen it.
func (w *discoveries) change(ctx context.Context, x *churner, alarm *time.Timer) error {
	i, err := w.turn(x)
	if err != nil {
		return err
	}
	y := w.workers[i]
	x.sequence++
	x.round.begin(changeOf(x.sequence, i, y.registration == nil), len(w.consumers))
	began := time.Now()
	y.doubtful = true
	if y.registration == nil {
		err = y.register(ctx, w.name)
	} else {
		err = y.withdraw(ctx)
	}
	if err != nil {
		return err
	}
	x.done.Add(1)
	if err := x.round.wait(ctx, alarm); err != nil {
		return err
	}
	y.doubtful = false
	x.converge.record(time.Since(began))
	return nil
}

// turn returns the worker whose turn it is. Those of which nobody knows any more whether they are registered
// are left out.
func (w *discoveries) turn(x *churner) (int, error) {
	for range w.workers {
		i := x.next
		if x.next += len(w.churners); x.next >= len(w.workers) {
			x.next %= len(w.churners)
		}
		if !w.workers[i].doubtful {
			return i, nil
		}
	}
	return 0, fmt.Errorf("%w: every worker of this caller is in doubt", errNotSeen)
}

func (w *discoveries) counts() (events, bytes, changes int64) {
	events, bytes = w.audience.pushed()
	for _, x := range w.churners {
		changes += x.done.Load()
	}
	return events + w.views.Load(), bytes, changes
}

func (w *discoveries) begin() {
	w.events, w.bytes, w.changes = w.counts()
	for _, x := range w.churners {
		x.converge = newHistogram()
	}
}

// check compares what every consumer has with what a strict read of the hosts shows.
func (w *discoveries) check(ctx context.Context) error {
	events, bytes, changes := w.counts()
	w.events, w.bytes, w.changes = events-w.events, bytes-w.bytes, changes-w.changes
	listed, err := discovery.List(ctx, w.run.fleet.client(0), w.run.node, w.name)
	if err != nil {
		return err
	}
	want := make(map[uint64]int, len(listed))
	for _, e := range listed {
		want[e.OrderID] = workerOf(e.Address)
	}
	for i, x := range w.consumers {
		if err := x.compare(want); err != nil {
			w.run.broken.addf("consumer %d: %w", i, err)
		}
	}
	return nil
}

func (w *discoveries) report(to *report.Report) {
	converge := newHistogram()
	for _, x := range w.churners {
		converge.merge(&x.converge)
	}
	to.Watchers, to.Workers = len(w.consumers), len(w.workers)
	to.ConvergeMS = newMillis(&converge)
	to.AddEvents(w.events)
	to.Updates = &w.changes
	if n := float64(w.changes) * float64(len(w.consumers)); n > 0 && w.bytes > 0 {
		each := float64(w.bytes) / n
		to.BytesPerChangeAndConsumer = &each
	}
}
