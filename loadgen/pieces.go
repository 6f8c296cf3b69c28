package loadgen

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/client/config"
	"github.com/signalbox/signalbox/loadgen/report"
)

var configKind = &kind{
	Info: Info{
		Name:      "config",
		Summary:   "every caller puts a separate config entry, and programs follow the entries",
		Operation: "a put value seen by all followers",
		Checks:    "no value goes back or is left out; a get returns the last put value",
		Settings:  []string{"watchers", "data-size"},
	},
	make: func() workload { return &configs{} },
	defaults: func(c *Config) {
		orElse(&c.Callers, DefaultCallers)
		orElse(&c.Watchers, c.Callers)
	},
}

// configs is the workload config: callers put config entries, and followers watch the entries with the recipe.
type configs struct {
	run    *run
	puts   []*putter
	views  atomic.Int64
	events int64
}

// putter changes an entry.
type putter struct {
	series
	confirmed uint64 // of the latest acknowledged value
}

func (c *configs) prepare(ctx context.Context, r *run) error {
	c.run = r
	for i := range r.config.Callers {
		p := &putter{}
		p.start(r, "piece", i)
		c.puts = append(c.puts, p)
	}
	c.follow()
	// Followers see the first value as a change, or begin with it.
	return each(ctx, len(c.puts), func(ctx context.Context, i int) error { return c.put(ctx, i, newAlarm()) })
}

// follow starts the followers, distributed over the entries in turn.
func (c *configs) follow() {
	c.run.follow(c.run.config.Watchers, func(ctx context.Context, i int) error {
		x := follower{run: c.run, of: c.puts[i%len(c.puts)]}
		for v, err := range config.Watch(ctx, c.run.fleet.client(i), c.run.node, x.of.name) {
			if err != nil {
				return err
			}
			c.views.Add(1)
			x.see(markOf(v.Data))
		}
		return nil
	})
}

// follower is a program that follows an entry.
type follower struct {
	run  *run
	of   *putter
	last uint64
}

// see processes a value. The next value is put after all followers have seen the current one, so no value may be
// missed.
func (f *follower) see(n uint64) {
	if n < f.last || f.last >= first && n > f.last+1+f.of.doubts.Load() {
		f.run.broken.addf("a follower on %q was shown value %d after %d", f.of.name, n, f.last)
	}
	fresh := n > f.last
	f.last = n
	if fresh && n == f.of.round.change.Load() {
		f.of.round.saw()
	}
}

func (c *configs) put(ctx context.Context, i int, alarm *time.Timer) error {
	p := c.puts[i]
	return p.next(ctx, alarm, func() error {
		err := config.Put(ctx, c.run.fleet.client(i), c.run.node, p.name, p.data)
		if err == nil {
			p.confirmed = p.number
		}
		return err
	})
}

func (c *configs) caller(i int) operation {
	alarm := newAlarm()
	return func(ctx context.Context) error { return c.put(ctx, i, alarm) }
}

func (c *configs) begin() {
	c.events = c.views.Load()
	forget(c.puts)
}

func (c *configs) check(ctx context.Context) error {
	c.events = c.views.Load() - c.events
	return each(ctx, len(c.puts), func(ctx context.Context, i int) error {
		p := c.puts[i]
		value, _, err := config.Get(ctx, c.run.fleet.client(i), c.run.node, p.name)
		if err != nil {
			return err
		}
		return p.judge(markOf(value))
	})
}

// judge checks the result of a get after the last put.
func (p *putter) judge(got uint64) error {
	if got < p.confirmed || got > p.number {
		return fmt.Errorf("config %q has value %d, but the last put value is %d", p.name, got, p.confirmed)
	}
	return nil
}

func (c *configs) report(to *report.Report) {
	to.Watchers = c.run.config.Watchers
	to.AddEvents(c.events)
	to.ConvergeMS = converged(c.puts)
}
