package loadgen

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/loadgen/report"
	"github.com/signalbox/signalbox/protocol"
)

var rolloutTargetsKind = &kind{
	Info: Info{
		Name: "rollout-targets",
		Summary: "versions are published in rollouts with a single location, and sent to instances as targets; " +
			"every caller publishes in a rollout with a share of the instances",
		Operation: "a version published, sent to every instance, and reached by the leader",
		Checks:    "no instance is sent an older target or misses a target; every target has the published payload",
		Settings:  []string{"watchers", "data-size"},
	},
	make:     func() workload { return &rolloutTargets{} },
	defaults: watchedBy(1000),
}

// onlyLocation is a rollout's only location.
const onlyLocation = "all"

// rolloutTargets: a version has its number as payload, and instances report the number to the publisher's round. The
// next version is published when the leader has reached the previous one, because only then is there a new target.
type rolloutTargets struct {
	run          *run
	publishers   []*publisher
	watcherConns watcherConns
	stages       *stages
	// Counts for the measurement; during the measurement, the counts before it.
	events, bytes, versions int64
}

// A version's stages. The stage for sending has a time for every instance.
const (
	stagePublish = iota
	stageSent
	stageReach
)

// publisher publishes a rollout's versions, and is its location's leader.
type publisher struct {
	series
	session *client.Session
	leader  *rollout.Member
	current uint64       // seq reached by the leader
	began   atomic.Int64 // wall clock time at which the latest version was sent to the hosts
}

func (rt *rolloutTargets) prepare(ctx context.Context, r *run) error {
	rt.run, rt.stages = r, newStages(r.config.Watchers, "publish", "target", "reach")
	n := r.config.Callers
	sessions, err := r.sessions(ctx, n)
	if err != nil {
		return err
	}
	for i, s := range sessions {
		p := &publisher{session: s}
		p.start(r, "targets", i)
		rt.publishers = append(rt.publishers, p)
	}
	if err := each(ctx, n, rt.open); err != nil {
		return err
	}
	if err := rt.openWatches(ctx); err != nil {
		return err
	}
	// All instances must have a target before the measurement: the watches begin with the first version.
	return each(ctx, n, func(ctx context.Context, i int) error { return rt.roll(ctx, i, newAlarm()) })
}

// open creates a publisher's rollout, with a leader.
func (rt *rolloutTargets) open(ctx context.Context, i int) (err error) {
	p := rt.publishers[i]
	if p.leader, err = openRollout(ctx, p.session, p.name, "leader"); err != nil {
		return err
	}
	return p.leader.Lead(ctx)
}

// openRollout creates a rollout with a single location, unless it exists, and joins it.
func openRollout(ctx context.Context, s *client.Session, name, instance string) (*rollout.Member, error) {
	spec := rollout.Spec{Locations: []rollout.Location{{Name: onlyLocation}}}
	if _, err := rollout.NewInSession(s, name).Put(ctx, spec, rollout.ChangeInfo{Author: "loadgen"}); err != nil {
		return nil, err
	}
	return rollout.Join(ctx, s, name, rollout.Instance{Name: instance, Location: onlyLocation}, rollout.Manual())
}

// openWatches opens a watch on the location for every instance, distributed over the publishers in turn.
func (rt *rolloutTargets) openWatches(ctx context.Context) error {
	if err := rt.watcherConns.open(ctx, rt.run); err != nil {
		return err
	}
	return each(ctx, rt.run.config.Watchers, func(_ context.Context, i int) error {
		p := rt.publishers[i%len(rt.publishers)]
		return rt.watcherConns.watchAs(i, &targetSink{load: rt, publisher: p, number: i}, &protocol.Watch{
			NodeID: rt.run.nodeID, Name: []byte(p.name), ObjectKind: protocol.ObjectRollout,
			View: []byte("location/" + onlyLocation),
		})
	})
}

// targetSink receives an instance's targets.
type targetSink struct {
	load      *rolloutTargets
	publisher *publisher
	number    int
	last      uint64 // the version
}

func (t *targetSink) snapshot(p *protocol.WatchSnapshot) {
	if p.First && p.Exists {
		t.see(p.Data)
	}
}

func (t *targetSink) delta(d *protocol.WatchDelta) {
	if d.DataChanged {
		t.see(d.Data)
	}
}

// see processes a view's head.
func (t *targetSink) see(head []byte) {
	var target protocol.RolloutTarget
	if err := protocol.ReadRecord(head, &target, 0); err != nil {
		t.load.run.broken.addf("an instance in %q was sent an unreadable target: %w", t.publisher.name, err)
		return
	}
	n := markOf(target.Payload)
	if n == t.last {
		return // the current target's head, after a snapshot
	}
	if n < t.last || t.last >= first && n > t.last+1+t.publisher.doubts.Load() {
		t.load.run.broken.addf("an instance in %q was sent version %d after %d", t.publisher.name, n, t.last)
	}
	t.last = n
	if n == t.publisher.round.change.Load() {
		t.load.stages.since(time.Unix(0, t.publisher.began.Load()), t.number, stageSent)
		t.publisher.round.saw()
	}
}

// roll publishes the next version, waits until it was sent to all instances, and lets the leader reach it.
func (rt *rolloutTargets) roll(ctx context.Context, i int, alarm *time.Timer) error {
	p, seq := rt.publishers[i], uint64(0)
	err := p.next(ctx, alarm, func() (err error) {
		began := time.Now()
		p.began.Store(began.UnixNano())
		if seq, err = rollout.Publish(ctx, p.session, p.name, p.data); err == nil {
			rt.stages.since(began, i, stagePublish)
		}
		return err
	})
	if err != nil {
		return err
	}
	began := time.Now()
	if err := p.reach(ctx, seq); err != nil {
		return err
	}
	rt.stages.since(began, i, stageReach)
	return nil
}

// reach lets the leader get the target, and reach it.
func (p *publisher) reach(ctx context.Context, seq uint64) error {
	t, _, err := p.leader.Ask(ctx, p.current)
	switch {
	case err != nil:
		return err
	case t == nil || t.Seq != seq || markOf(t.Payload) != p.number:
		return fmt.Errorf("%w: the leader in %q got a target other than version %d", errNotSeen, p.name, seq)
	}
	p.current = seq
	return p.leader.Reached(ctx, t)
}

func (rt *rolloutTargets) caller(i int) operation {
	alarm := newAlarm()
	return func(ctx context.Context) error { return rt.roll(ctx, i, alarm) }
}

func (rt *rolloutTargets) counts() (events, bytes, versions int64) {
	events, bytes = rt.watcherConns.pushed()
	for _, p := range rt.publishers {
		versions += p.done.Load()
	}
	return events, bytes, versions
}

func (rt *rolloutTargets) begin() {
	rt.events, rt.bytes, rt.versions = rt.counts()
	rt.stages.begin()
	forget(rt.publishers)
}

func (rt *rolloutTargets) check(context.Context) error {
	events, bytes, versions := rt.counts()
	rt.events, rt.bytes, rt.versions = events-rt.events, bytes-rt.bytes, versions-rt.versions
	return nil
}

func (rt *rolloutTargets) report(to *report.Report) {
	to.Watchers = rt.run.config.Watchers
	to.ConvergeMS = converged(rt.publishers)
	to.AddEvents(rt.events)
	to.Updates = &rt.versions
	if rt.events > 0 {
		each := float64(rt.bytes) / float64(rt.events)
		to.BytesPerChangeAndConsumer = &each
	}
	rt.stages.report(to)
}
