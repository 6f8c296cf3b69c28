package loadgen

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/discovery"
	"github.com/signalbox/signalbox/loadgen/report"
)

var discoveryKind = &kind{
	Info: Info{
		Name: "discovery",
		Summary: "workers join and leave a list, and consumers follow the list; every caller has a share of the " +
			"workers",
		Operation: "a worker registered or withdrawn, and the change seen by every consumer",
		Checks:    "every consumer sees every change, and ends with the hosts' list",
		Settings:  []string{"workers", "watchers", "shared-watches"},
	},
	make: func() workload { return &discoveries{} },
	defaults: func(c *Config) {
		orElse(&c.Callers, min(16, max(c.Workers, 1)))
		orElse(&c.Watchers, 200)
		// A consumer is a separate program.
		orElse(&c.Connections, c.Watchers)
	},
}

// discoveries: every worker has its own address, so a consumer recognises a registration's worker. A caller has one
// change in progress at a time, so a consumer that sees a worker join or leave also knows the change.
type discoveries struct {
	run          *run
	name         string
	workers      []*worker
	churners     []*churner
	watcherConns watcherConns
	consumers    []*consumer
	views        atomic.Int64 // for consumers that share watches

	// Counts for the measurement; during the measurement, the counts before it.
	events, bytes, changes int64
}

// worker registers, and leaves.
type worker struct {
	session      *client.Session
	endpoint     discovery.Endpoint
	registration *discovery.Registration // nil while the worker is absent
	doubtful     bool                    // a change has failed, so the registration is unknown
}

// churner is a caller's share of the workers.
type churner struct {
	round    *round
	sequence uint64
	next     int // next worker, in steps of the number of callers
	done     atomic.Int64
	converge histogram
}

func (c *churner) times() *histogram { return &c.converge }

// A change in the form for rounds: a sequence number, the worker, and whether the worker joined.
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

// addressOf returns a worker's address, as long as real service addresses; workerOf parses it.
func addressOf(worker int) string {
	return fmt.Sprintf("10.%d.%d.%d:8080", worker>>16&255, worker>>8&255, worker&255)
}

// workerOf returns -1 for an address that belongs to no worker.
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

// prepare registers all workers, distributes them among the callers, and opens the consumers' watches.
func (d *discoveries) prepare(ctx context.Context, r *run) error {
	d.run, d.name = r, r.name("endpoints", 0)
	sessions, err := r.sessions(ctx, r.config.Workers)
	if err != nil {
		return err
	}
	for i, s := range sessions {
		d.workers = append(d.workers, &worker{session: s, endpoint: discovery.Endpoint{Address: addressOf(i)}})
	}
	r.step("registering %d workers", len(d.workers))
	if err := each(ctx, len(d.workers), func(ctx context.Context, i int) error {
		return d.workers[i].register(ctx, d.name)
	}); err != nil {
		return err
	}
	for i := range r.config.Callers {
		d.churners = append(d.churners, &churner{round: newRound(), next: i, converge: newHistogram()})
	}
	r.step("opening watches for %d consumers", r.config.Watchers)
	return d.follow(ctx)
}

func (w *worker) register(ctx context.Context, name string) (err error) {
	w.registration, err = discovery.Register(ctx, w.session, name, w.endpoint)
	return err
}

// follow opens all watches, and waits until every consumer has the whole list.
func (d *discoveries) follow(ctx context.Context) error {
	current := make(chan struct{}, d.run.config.Watchers)
	for range d.run.config.Watchers {
		d.consumers = append(d.consumers, newConsumer(d, current))
	}
	if d.run.ownStreams() {
		if err := d.watcherConns.open(ctx, d.run); err != nil {
			return err
		}
		if err := each(ctx, len(d.consumers), func(_ context.Context, i int) error {
			return d.watcherConns.watch(i, d.consumers[i], d.name, true)
		}); err != nil {
			return err
		}
	} else {
		d.share()
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	for range d.consumers {
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

// share makes consumers use the recipe.
func (d *discoveries) share() {
	d.run.follow(len(d.consumers), func(ctx context.Context, i int) error {
		for set, err := range discovery.Watch(ctx, d.run.fleet.client(i), d.run.node, d.name) {
			if err != nil {
				return err
			}
			d.views.Add(1)
			d.consumers[i].set(set)
		}
		return nil
	})
}

func (d *discoveries) caller(i int) operation {
	x, alarm := d.churners[i], newAlarm()
	return func(ctx context.Context) error { return d.change(ctx, x, alarm) }
}

// change lets a caller's next worker join or leave, and waits until every consumer has seen the change.
func (d *discoveries) change(ctx context.Context, x *churner, alarm *time.Timer) error {
	i, err := d.nextWorker(x)
	if err != nil {
		return err
	}
	y := d.workers[i]
	x.sequence++
	x.round.begin(changeOf(x.sequence, i, y.registration == nil), len(d.consumers))
	began := time.Now()
	y.doubtful = true
	if y.registration == nil {
		err = y.register(ctx, d.name)
	} else {
		err = y.registration.Close(ctx)
		y.registration = nil
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

// nextWorker returns the worker for the next change. Doubtful workers are skipped.
func (d *discoveries) nextWorker(x *churner) (int, error) {
	for range d.workers {
		i := x.next
		if x.next += len(d.churners); x.next >= len(d.workers) {
			x.next %= len(d.churners)
		}
		if !d.workers[i].doubtful {
			return i, nil
		}
	}
	return 0, fmt.Errorf("%w: all workers for this caller are in doubt", errNotSeen)
}

// counts returns the views, bytes and changes since the run began; begin and check compute the difference.
func (d *discoveries) counts() (events, bytes, changes int64) {
	events, bytes = d.watcherConns.pushed()
	for _, x := range d.churners {
		changes += x.done.Load()
	}
	return events + d.views.Load(), bytes, changes
}

func (d *discoveries) begin() {
	d.events, d.bytes, d.changes = d.counts()
	forget(d.churners)
}

// check compares every consumer's list with a strict read from the hosts.
func (d *discoveries) check(ctx context.Context) error {
	events, bytes, changes := d.counts()
	d.events, d.bytes, d.changes = events-d.events, bytes-d.bytes, changes-d.changes
	listed, err := discovery.List(ctx, d.run.fleet.client(0), d.run.node, d.name)
	if err != nil {
		return err
	}
	want := make(map[uint64]int, len(listed))
	for _, e := range listed {
		want[e.OrderID] = workerOf(e.Address)
	}
	for i, x := range d.consumers {
		if err := x.compare(want); err != nil {
			d.run.broken.addf("consumer %d: %w", i, err)
		}
	}
	return nil
}

func (d *discoveries) report(to *report.Report) {
	to.Watchers, to.Workers = len(d.consumers), len(d.workers)
	to.ConvergeMS = converged(d.churners)
	to.AddEvents(d.events)
	to.Updates = &d.changes
	if n := float64(d.changes) * float64(len(d.consumers)); n > 0 && d.bytes > 0 {
		each := float64(d.bytes) / n
		to.BytesPerChangeAndConsumer = &each
	}
}
