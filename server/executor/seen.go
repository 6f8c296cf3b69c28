package executor

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/hosts"
)

// taken is the meta shard index a host has received, and the time since which the index has not advanced.
type taken struct {
	index uint64
	since time.Time
	// whole is set after the host has received all entries once: until then the host is being filled, and not stuck.
	whole bool
}

// leaderReport is the best report for a shard.
type leaderReport struct {
	led
	leader shard.HostID
	asked  time.Time
}

// see builds the governor's view from the reports.
func (t *term) see(s *State, now time.Time) *governor.Seen {
	t.mu.Lock()
	defer t.mu.Unlock()
	seen := &governor.Seen{Self: t.e.config.Self, Began: s.Began}
	for _, id := range slices.Sorted(maps.Keys(t.watches)) {
		w, shown := t.watches[id], governor.HostObservation{Host: id}
		age := millis(now.Sub(w.asked))
		shown.Tried, shown.SilentFor = true, age
		if !w.answered(s.Records) {
			shown.SilentFor, shown.Unheard = millis(now.Sub(w.begun)), true
		}
		if r := t.current(w, s.Records, now); r != nil {
			shown.Full, shown.Speed = r.full, r.speed
			if r.fresh {
				shown.FreshFor, shown.Barrier = max(1, r.freshFor), r.barrier+age
			}
		}
		seen.Hosts = append(seen.Hosts, shown)
	}
	for _, on := range s.Records.Shards() {
		if on.Phase != hosts.ShardRetired {
			seen.Shards = append(seen.Shards, t.shardSeen(on.ID, s.Records, now))
		}
	}
	t.noteUnled(seen, s.Records, now)
	t.judgeTraffic(seen, s.Records, now)
	t.judgePace(seen, s.Records, now)
	t.judgeMoves(seen, s.Plan, now)
	return seen
}

// answered reports whether the host has sent a report. A report from a data directory other than the one on record
// does not count.
func (w *watch) answered(r *hosts.Records) bool {
	h := r.Host(w.host)
	return w.report != nil && h != nil && h.Incarnation == w.report.incarnation
}

// current returns the host's last report, or nil if the report is too old. The lock is held, here and below.
func (t *term) current(w *watch, r *hosts.Records, now time.Time) *report {
	if !w.answered(r) || now.Sub(w.asked) >= reportGood {
		return nil
	}
	return w.report
}

// best returns the report from the shard's leader. If several hosts report leadership, the highest term wins; without
// a leader the result is nil. Terms in a new group are above those in the previous group, and a leader from a group
// before the one on record does not count.
func (t *term) best(id hosts.ShardID, r *hosts.Records) *leaderReport {
	var best *leaderReport
	on := r.Shard(id)
	if on == nil {
		return nil
	}
	least := on.Group << shard.GroupTermBits
	for _, host := range slices.Sorted(maps.Keys(t.watches)) {
		w := t.watches[host]
		if !w.answered(r) {
			continue
		}
		for _, l := range w.report.led {
			if l.ID == uint64(id) && l.Term >= least && (best == nil || l.Term > best.Term) {
				best = &leaderReport{led: l, leader: host, asked: w.asked}
			}
		}
	}
	return best
}

func (t *term) shardSeen(id hosts.ShardID, r *hosts.Records, now time.Time) governor.ShardSeen {
	shown := governor.ShardSeen{Shard: id}
	best := t.best(id, r)
	if best == nil {
		for _, w := range t.watches { // a silent host may lead the shard
			if t.current(w, r, now) == nil {
				shown.Age = millis(reportGood)
			}
		}
		return shown
	}
	age := millis(now.Sub(best.asked))
	shown.Leader, shown.LedFor, shown.Age, shown.Change = best.leader, best.LedMillis+age, age, best.Change
	shown.Idle, shown.Quota, shown.Commit = best.Idle, best.QuotaPercent, best.CommitMicros
	for _, m := range best.members {
		shown.Replicas = append(shown.Replicas, governor.ReplicaSeen{ID: m.ReplicaID, Index: m.Index,
			BehindFor: m.BehindMillis, Percent: m.SnapshotPercent, Rate: m.SnapshotRate})
	}
	return shown
}

// noteUnled records the replicas that know no leader.
func (t *term) noteUnled(seen *governor.Seen, r *hosts.Records, now time.Time) {
	for _, w := range t.watches {
		report := t.current(w, r, now)
		if report == nil {
			continue
		}
		for _, u := range report.unled {
			i := slices.IndexFunc(seen.Shards, func(s governor.ShardSeen) bool { return uint64(s.Shard) == u.ShardID })
			if i >= 0 {
				on := &seen.Shards[i]
				on.Unled = append(on.Unled, governor.Unled{ID: u.ReplicaID, Term: u.Term, Index: u.Index})
			}
		}
	}
}

// judgeTraffic determines, from the local host's own meta shard report, which hosts are reachable and which are
// stuck. A host without a meta shard replica is reachable if it answers calls.
func (t *term) judgeTraffic(seen *governor.Seen, r *hosts.Records, now time.Time) {
	best := t.best(hosts.Meta, r)
	if best == nil || best.leader != t.e.config.Self {
		return
	}
	age := millis(now.Sub(best.asked))
	for _, m := range best.members {
		p := r.Shard(hosts.Meta).Replica(m.ReplicaID)
		if p == nil {
			continue
		}
		i, found := slices.BinarySearchFunc(seen.Hosts, p.Host,
			func(h governor.HostObservation, id shard.HostID) int { return cmp.Compare(h.Host, id) })
		if !found {
			continue
		}
		h := &seen.Hosts[i]
		h.Unheard = h.Unheard && m.Index == 0 // the host has answered neither calls nor messages
		h.Tried, h.SilentFor = m.Tried, m.SilentMillis+age
		last := t.taken[p.Host]
		if last.since.IsZero() || m.Index != last.index {
			last.index, last.since = m.Index, now
		}
		last.whole = last.whole || m.BehindMillis == 0
		t.taken[p.Host] = last
		if last.whole && m.BehindMillis > 0 && m.SnapshotPercent == 0 {
			h.StuckFor = min(m.BehindMillis, millis(now.Sub(last.since)))
		}
	}
}
