package executor

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/plan"
)

// round advances the plan as far as possible without waiting for a host. round reports whether the reports are
// complete enough for decisions.
func (t *term) round(ctx context.Context) bool {
	s := t.e.config.Meta.State()
	if s.Records == nil {
		return false // the meta shard replica has just been emptied: the term is about to end
	}
	t.follow(ctx, s.Records, len(s.Plan.Steps()) > 0)
	if !t.heard() {
		return false
	}
	for range maxInRound {
		v, ok := t.look()
		if !ok || !t.lasts(ctx) || !t.advance(ctx, v) {
			break
		}
	}
	return true
}

// advance proposes the first due command. advance returns true if the command succeeded, because another may then be
// due.
func (t *term) advance(ctx context.Context, v governor.View) bool {
	for _, s := range v.Seen.Shards {
		on := v.State.Shard(s.Shard)
		if s.Leader != 0 && s.Age < millis(reportGood) && (s.Change > on.Change || fills(on, &s)) {
			return t.known(ctx, v.State, s.Shard)
		}
	}
	t.startReplicas(ctx, v)
	if t.count(ctx, v) || t.markSlow(ctx, v) {
		return true
	}
	t.forgetActs(v.Plan)
	steps := v.Plan.Steps()
	for i := range steps {
		if t.work(ctx, v, &steps[i]) {
			return true
		}
	}
	d := t.e.planner.Next(v)
	t.setWake(v, &d)
	if d.Step == nil {
		return false
	}
	return t.propose(ctx, Command{Verb: VerbBegin, Term: t.number, Revision: d.Revision, Proposal: *d.Step}) == nil
}

// fills reports whether a shard member has caught up but is not on record as filled.
func fills(on *hosts.Shard, seen *governor.ShardSeen) bool {
	return seen.Change == on.Change && slices.ContainsFunc(seen.Replicas, func(r governor.ReplicaSeen) bool {
		p := on.Replica(r.ID)
		return p != nil && !p.Reads() && r.CaughtUp()
	})
}

// setWake records the time at which the decision may change, or a step's wait ends, without another event.
func (t *term) setWake(v governor.View, d *plan.Decision[governor.Action]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wakeAt = time.Time{}
	if d.Wake > v.Now {
		t.wakeAt = time.Now().Add(time.Duration(d.Wake-v.Now) * time.Millisecond)
	}
}

// known records a shard's membership as read by the shard's leader.
func (t *term) known(ctx context.Context, r *hosts.Records, id hosts.ShardID) bool {
	t.mu.Lock()
	best := t.best(id, r)
	t.mu.Unlock()
	if best == nil {
		return false
	}
	c := Command{Verb: VerbKnown, Term: t.number, Shard: id, Change: best.Change}
	for _, m := range best.members {
		role := hosts.RoleLearner
		if m.Voter {
			role = hosts.RoleVoter
		}
		c.Members = append(c.Members, hosts.Member{Replica: m.ReplicaID, Role: role,
			Filled: !m.Voter && (&governor.ReplicaSeen{BehindFor: m.BehindMillis}).CaughtUp()})
	}
	return t.propose(ctx, c) == nil
}

// count records changed shard counters, at most once per shard in countEvery. count reports whether anything was
// recorded.
func (t *term) count(ctx context.Context, v governor.View) bool {
	c := Command{Verb: VerbCounted, Term: t.number}
	now := time.Now()
	t.mu.Lock()
	for _, w := range t.watches {
		report := t.current(w, v.State, now)
		if report == nil {
			continue
		}
		for _, n := range report.counted {
			s := v.State.Shard(hosts.ShardID(n.ShardID))
			counted := shard.Counters{LastOrder: shard.OrderID(n.LastOrder),
				LastRevision: shard.Revision(n.LastRevision), LastSession: n.LastSession}
			if s != nil && counted != s.Counted && v.Now >= s.CountedAt+millis(countEvery) {
				c.Counts = append(c.Counts, hosts.Count{Shard: s.ID, Counters: counted})
			}
		}
	}
	t.mu.Unlock()
	return len(c.Counts) > 0 && t.propose(ctx, c) == nil
}

// startReplicas asks hosts to start added replicas that do not run, and to start the groups of rebuilt shards.
// Starting is not a step: the executor repeats the request until the host reports the replicas as running.
func (t *term) startReplicas(ctx context.Context, v governor.View) {
	t.mu.Lock()
	defer t.mu.Unlock()
	running, wanted := make(map[hold]bool), make(map[hold]bool)
	now := time.Now()
	for _, w := range t.watches {
		if r := t.current(w, v.State, now); r != nil {
			for _, h := range r.held {
				running[h] = true
			}
		}
	}
	for _, s := range v.State.Shards() {
		for i := range s.Replicas {
			p := &s.Replicas[i]
			h := v.State.Host(p.Host)
			key := hold{s.ID, p.ID}
			founds := p == s.InitialReplica()
			if !p.Joined && !founds || !p.Member() || h == nil || !h.Living() || running[key] {
				continue
			}
			if wanted[key] = true; !t.mayStart(v.State, h, key, now) {
				continue
			}
			m := &protocol.StepExecute{Effect: protocol.EffectHold, ShardID: uint64(s.ID), ReplicaID: p.ID,
				HostID: uint64(h.ID), Incarnation: h.Incarnation[:]}
			if founds {
				t.renewal(m, v, s)
			}
			t.startReplica(ctx, h, key, m)
		}
	}
	maps.DeleteFunc(t.holds, func(key hold, a *act) bool { return !a.running && !wanted[key] })
}

// mayStart reports whether a host answers, and has not been asked to start the replica since its last report.
func (t *term) mayStart(r *hosts.Records, h *hosts.Host, key hold, now time.Time) bool {
	w, last := t.watches[h.ID], t.holds[key]
	switch {
	case w == nil || t.current(w, r, now) == nil:
		return false
	case last != nil:
		return !last.running && w.asked.After(last.ended)
	}
	return len(t.holds) < maxHolds
}

// renewal turns a replica start request into a request that starts the new group of a rebuilt shard.
func (t *term) renewal(m *protocol.StepExecute, v governor.View, s *hosts.Shard) {
	longest, highest := v.State.Longest(v.Now), v.State.Highest(v.Now)
	m.Effect = protocol.EffectRebuild
	m.Rebuild = protocol.Rebuild{Group: s.Group, Empty: s.Empty, Fresh: s.Fresh,
		LongestMillis: longest.Timeout, LongestSession: uint64(longest.Session),
		LastOrder: uint64(max(highest.LastOrder, s.Fence)), LastRevision: uint64(highest.LastRevision),
		LastSession:   highest.LastSession,
		CountedMillis: v.Now - min(v.Now, s.CountedAt)}
}

// warnEvery is the minimum time between warnings about a replica that does not start.
const warnEvery = 10 * time.Second

func (t *term) startReplica(ctx context.Context, h *hosts.Host, key hold, m *protocol.StepExecute) {
	doing := &act{running: true}
	if before := t.holds[key]; before != nil {
		doing.warned = before.warned
	}
	t.holds[key] = doing
	t.calls.Go(func() {
		err := t.effect(ctx, h.ID, m)
		if err != nil && ctx.Err() == nil && time.Since(doing.warned) >= warnEvery {
			doing.warned = time.Now()
			t.e.config.Log.Warn("a host did not start a replica", "host", h.Name, "shard", uint64(key.shard),
				"replica", key.replica, "error", err)
		}
		t.mu.Lock()
		doing.running, doing.ended = false, time.Now()
		if w := t.watches[h.ID]; w != nil {
			w.ask()
		}
		t.mu.Unlock()
	})
}
