package loadgen

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/client/config"
	"github.com/signalbox/signalbox/loadgen/report"
)

var configKind = &kind{
	Info: Info{
		Name:      "config",
		Summary:   "every caller puts a piece of config of its own, programs follow the pieces",
		Operation: "one value put that all who follow the piece have seen",
		Checks:    "that no value goes back or is left out, that a get returns the last one that was put",
		Settings:  []string{"watchers", "payload"},
	},
	make: func() workload { return &configs{} },
	defaults: func(c *Config) {
		orElse(&c.Callers, DefaultCallers)
		orElse(&c.Watchers, c.Callers)
	},
}

type configs struct {
	run    *run
	puts   []*putter
	work   sync.WaitGroup
	views  atomic.Int64
	events int64
}

// putter changes one piece.
type putter struct {
	name      string
	round     *round
	followers int
	number    uint64        // of the latest value
	data      []byte        // in which it is put
	confirmed uint64        // of the latest that was acknowledged
	doubts    atomic.Uint64 // values of which nobody knows whether they were put
	converge  histogram
}

func (w *configs) prepare(ctx context.Context, r *run) error {
	w.run = r
	n := r.config.Callers
	for i := range n {
		p := &putter{name: r.name("piece", i), round: newRound(), data: marked(r.config.Payload, 0),
			converge: newHistogram()}
		p.followers = r.config.Watchers / n
		if i < r.config.Watchers%n {
			p.followers++
		}
		p.round.begin(first, p.followers)
		w.puts = append(w.puts, p)
	}
	w.follow()
	// Followers see the first value as a change, or begin with it.
	return each(ctx, n, func(ctx context.Context, i int) error { return w.put(ctx, i, newAlarm()) })
}

func (w *configs) follow() {
	ctx, cancel := context.WithCancel(context.Background())
	w.run.atEnd(func() {
		cancel()
		w.work.Wait()
	})
	for i := range w.run.config.Watchers {
		p, c := w.puts[i%len(w.puts)], w.run.fleet.client(i)
		w.work.Go(func() {
			x := follower{run: w.run, of: p}
			for v, err := range config.Watch(ctx, c, w.run.node, p.name) {
				if err != nil {
					if ctx.Err() == nil {
						w.run.fail(fmt.Errorf("%w: %w", errBroke, err))
					}
					return
				}
				w.views.Add(1)
				x.see(markOf(v.Data))
			}
		})
	}
}

// follower is a program that follows a piece.
type follower struct {
	run  *run
	of   *putter
	last uint64
}

// see takes in a value. The next is put when all have seen this one, so none can be left out that was put.
func (x *follower) see(n uint64) {
	if n < x.last || x.last >= first && n > x.last+1+x.of.doubts.Load() {
		x.run.broken.addf("who follows %q was shown value %d after %d", x.of.name, n, x.last)
	}
	fresh := n > x.last
	x.last = n
	if fresh && n == x.of.round.change.Load() {
		x.of.round.saw()
	}
}

func (w *configs) put(ctx context.Context, i int, alarm *time.Timer) error {
	p := w.puts[i]
	p.number++
	mark(p.data, p.number)
	if p.number > first {
		p.round.begin(p.number, p.followers)
	}
	began := time.Now()
	err := config.Put(ctx, w.run.fleet.client(i), w.run.node, p.name, p.data)
	if err != nil {
		p.doubts.Add(1)
		return err
	}
	p.confirmed = p.number
	if err := p.round.wait(ctx, alarm); err != nil {
		return err
	}
	p.converge.record(time.Since(began))
	return nil
}

func (w *configs) caller(i int) operation {
	alarm := newAlarm()
	return func(ctx context.Context) error { return w.put(ctx, i, alarm) }
}

func (w *configs) begin() {
	w.events = w.views.Load()
	for _, p := range w.puts {
		p.converge = newHistogram()
	}
}

func (w *configs) check(ctx context.Context) error {
	w.events = w.views.Load() - w.events
	return each(ctx, len(w.puts), func(ctx context.Context, i int) error {
		p := w.puts[i]
		value, _, err := config.Get(ctx, w.run.fleet.client(i), w.run.node, p.name)
		if err != nil {
			return err
		}
		return p.judge(markOf(value))
	})
}

// judge checks what a get returned after the last put.
func (p *putter) judge(got uint64) error {
	if got < p.confirmed || got > p.number {
		return fmt.Errorf("config %q has value %d, and the last one that was put is %d", p.name, got, p.confirmed)
	}
	return nil
}

func (w *configs) report(to *report.Report) {
	converge := newHistogram()
	for _, p := range w.puts {
		converge.merge(&p.converge)
	}
	to.Watchers = w.run.config.Watchers
	to.AddEvents(w.events)
	to.ConvergeMS = newMillis(&converge)
}
