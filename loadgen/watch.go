package loadgen

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/loadgen/report"
	"github.com/signalbox/signalbox/protocol"
)

var watchKind = &kind{
	Info: Info{
		Name:      "watch",
		Summary:   "watchers follow updates; every caller updates a semaphore with a share of the watchers",
		Operation: "an update seen by all watchers; with free, an acknowledged update",
		Checks:    "no watcher goes back or misses an update; all watchers end with the last update",
		Settings:  []string{"watchers", "open-loop", "shared-watches", "data-size"},
	},
	make:     func() workload { return &watch{} },
	defaults: watchedBy(1000),
}

// watch: an update has its number as data, and watchers report the number to the updater's round. If an update waits
// until all watchers have seen the previous update, no updates can be merged, so every watcher is sent every update.
// With free, hosts merge updates that arrive too fast, and updates not shown to a watcher are counted.
type watch struct {
	run          *run
	updaters     []*updater
	watcherConns watcherConns
	// Counts for the measurement; during the measurement, the counts before it.
	events, updates, merged int64
}

// updater changes a semaphore.
type updater struct {
	series
	session *client.Session
	views   atomic.Int64 // seen by watchers that share watches
	merged  atomic.Int64
}

func (w *watch) prepare(ctx context.Context, r *run) error {
	w.run = r
	n := r.config.Callers
	if err := r.create(ctx, "watch", n, 1, marked(r.config.Payload, 0)); err != nil {
		return err
	}
	sessions, err := r.sessions(ctx, n)
	if err != nil {
		return err
	}
	for i, s := range sessions {
		u := &updater{session: s}
		u.start(r, "watch", i)
		w.updaters = append(w.updaters, u)
	}
	if r.ownStreams() {
		err = w.openOwn(ctx)
	} else {
		w.openShared()
	}
	if err != nil {
		return err
	}
	// All watchers must have a view before the measurement: the watches begin with the first update.
	return each(ctx, n, func(ctx context.Context, i int) error {
		return w.updaters[i].update(ctx, newAlarm())
	})
}

// openOwn opens a watch on a host for every watcher, distributed over the updaters in turn.
func (w *watch) openOwn(ctx context.Context) error {
	if err := w.watcherConns.open(ctx, w.run); err != nil {
		return err
	}
	return each(ctx, w.run.config.Watchers, func(_ context.Context, i int) error {
		u := w.updaters[i%len(w.updaters)]
		return w.watcherConns.watch(i, &watcher{run: w.run, updater: u}, u.name, false)
	})
}

// openShared starts a loop over the client's watch for every watcher, so one Client's watchers share a watch on a
// host.
func (w *watch) openShared() {
	w.run.follow(w.run.config.Watchers, func(ctx context.Context, i int) error {
		u := w.updaters[i%len(w.updaters)]
		x := &watcher{run: w.run, updater: u}
		for v, err := range w.run.fleet.client(i).Node(w.run.node).Watch(ctx, u.name, client.DataOnly()) {
			if err != nil {
				return err
			}
			u.views.Add(1)
			x.see(markOf(v.Data))
		}
		return nil
	})
}

// watcher watches a semaphore.
type watcher struct {
	run     *run
	updater *updater
	last    uint64
	counted uint64 // the change for which the round has counted this watcher
}

func (w *watcher) snapshot(p *protocol.WatchSnapshot) {
	if p.First {
		w.see(markOf(p.Data))
	}
}

func (w *watcher) delta(d *protocol.WatchDelta) {
	if d.DataChanged {
		w.see(markOf(d.Data))
	}
}

// see processes a view with an update's number.
func (w *watcher) see(n uint64) {
	switch {
	case n < w.last:
		w.run.broken.addf("a watcher on %q was shown update %d after %d", w.updater.name, n, w.last)
		return
	case w.last >= first && n > w.last+1:
		if !w.run.config.Free && n > w.last+1+w.updater.doubts.Load() {
			w.run.broken.addf("a watcher on %q was shown update %d after %d: updates are missing",
				w.updater.name, n, w.last)
		}
		w.updater.merged.Add(int64(n - w.last - 1))
	}
	w.last = n
	if change := w.updater.round.change.Load(); change > w.counted && n >= change {
		w.counted = change
		w.updater.round.saw()
	}
}

// update makes the next update, and waits until all watchers have seen it; without an alarm it does not wait.
func (u *updater) update(ctx context.Context, alarm *time.Timer) error {
	return u.next(ctx, alarm, func() error { return u.session.Semaphore(u.name).Update(ctx, u.data) })
}

func (w *watch) caller(i int) operation {
	var alarm *time.Timer
	if !w.run.config.Free {
		alarm = newAlarm()
	}
	return func(ctx context.Context) error { return w.updaters[i].update(ctx, alarm) }
}

func (w *watch) counts() (events, updates int64) {
	events, _ = w.watcherConns.pushed()
	for _, u := range w.updaters {
		events += u.views.Load()
		updates += u.done.Load()
	}
	return events, updates
}

func (w *watch) begin() {
	w.events, w.updates = w.counts()
	forget(w.updaters)
	for _, u := range w.updaters {
		u.merged.Store(0)
	}
}

// check makes a further update to every semaphore, for every watcher to see: afterwards all watchers have the last
// update.
func (w *watch) check(ctx context.Context) error {
	events, updates := w.counts()
	w.events, w.updates = events-w.events, updates-w.updates
	measured := make([]histogram, len(w.updaters))
	for i, u := range w.updaters {
		measured[i], u.converge = u.converge, newHistogram()
		w.merged += u.merged.Load()
	}
	err := each(ctx, len(w.updaters), func(ctx context.Context, i int) error {
		return w.updaters[i].update(ctx, newAlarm())
	})
	for i, u := range w.updaters {
		u.converge = measured[i]
	}
	return err
}

func (w *watch) report(to *report.Report) {
	to.Watchers = w.run.config.Watchers
	to.AddEvents(w.events)
	to.Updates = &w.updates
	if w.run.config.Free {
		to.Merged = &w.merged
	} else {
		to.ConvergeMS = converged(w.updaters)
	}
}
