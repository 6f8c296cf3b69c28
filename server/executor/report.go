package executor

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// track is an agent's samples for a shard its host leads.
type track struct {
	term  uint64
	since time.Time // since when the host leads in the term
	// notes are log indexes, each with the latest time at which the log was applied up to this index only; oldest
	// first.
	notes []note
	// below maps replicas with an index below all notes to the time since when.
	below map[uint64]time.Time
}

type note struct {
	index uint64
	at    time.Time
}

// sample records the progress of the shards the host leads.
func (a *Agent) sample(now time.Time) {
	held := a.replicas.Held()
	a.mu.Lock()
	defer a.mu.Unlock()
	led := make(map[hosts.ShardID]bool, len(held))
	for _, h := range held {
		if l := h.Log.Leadership(); l.Leader == a.host {
			led[h.Shard] = true
			a.trackOf(h.Shard, l.Term, now).note(h.Log.Applied(), now)
		}
	}
	for id := range a.tracks {
		if !led[id] {
			delete(a.tracks, id)
		}
	}
}

// trackOf returns a shard's track for a term, and creates a new track for a new term. The lock is held.
func (a *Agent) trackOf(id hosts.ShardID, term uint64, now time.Time) *track {
	t := a.tracks[id]
	if t == nil || t.term != term {
		t = &track{term: term, since: now}
		a.tracks[id] = t
	}
	return t
}

func (t *track) note(index uint64, now time.Time) {
	if last := len(t.notes) - 1; last >= 0 && t.notes[last].index >= index {
		t.notes[last].at = now
		return
	}
	if len(t.notes) == samples {
		t.notes = slices.Delete(t.notes, 0, 1)
	}
	t.notes = append(t.notes, note{index, now})
}

// behind returns the time since the log was last applied only up to an index. If the index is below all notes, the time
// is unknown.
func (t *track) behind(index uint64, now time.Time) (ago time.Duration, known bool) {
	for i := len(t.notes) - 1; i >= 0; i-- {
		if t.notes[i].index <= index {
			if i == len(t.notes)-1 {
				return 0, true
			}
			return now.Sub(t.notes[i].at), true
		}
	}
	return 0, false
}

// lag is behind for a replica. On a busy log, notes cover only a few seconds: for a replica below all notes, lag counts
// from the oldest note at the time when the replica was first seen there. So the lag of a joining replica grows from
// leastBehind.
func (t *track) lag(replica, index uint64, now time.Time) time.Duration {
	if d, known := t.behind(index, now); known {
		delete(t.below, replica)
		return d
	}
	since, known := t.below[replica]
	if !known {
		if t.below == nil {
			t.below = make(map[uint64]time.Time)
		}
		since = now
		if len(t.notes) > 0 {
			since = t.notes[0].at
		}
		t.below[replica] = since
	}
	return max(leastBehind, now.Sub(since))
}

// report returns the host's current observations.
func (a *Agent) report(ctx context.Context) *protocol.ShardReportAnswer {
	ctx, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	a.sample(time.Now())
	speed := a.speed()
	answer := &protocol.ShardReportAnswer{Incarnation: a.incarnation[:], DiskFull: a.full(),
		Speed: protocol.HostSpeed{SyncMicros: speed.Sync, DelayMicros: speed.Delay, RoundMicros: speed.Round,
			Stalls: speed.Stalls}}
	led := a.readLed(ctx)
	for _, s := range led {
		answer.Led.Append(*s)
	}
	a.mu.Lock()
	if now := time.Now(); !a.fresh.IsZero() && now.Sub(a.begun) < freshGap {
		answer.Fresh = true
		answer.FreshMillis, answer.BarrierMillis = millis(now.Sub(a.fresh)), millis(now.Sub(a.begun))
	}
	a.mu.Unlock()
	for _, h := range a.replicas.Held() {
		answer.Held.Append(protocol.HeldReplica{ShardID: uint64(h.Shard), ReplicaID: h.Replica})
		switch leader := h.Log.Leadership().Leader; {
		case h.Log.Removed(): // a removed replica reports its old leader forever, and cannot start a new group
			answer.Leaderless.Append(protocol.LeaderlessReplica{ShardID: uint64(h.Shard), ReplicaID: h.Replica})
		case leader == 0 && h.Last != nil:
			term, index := h.Last()
			answer.Leaderless.Append(protocol.LeaderlessReplica{ShardID: uint64(h.Shard), ReplicaID: h.Replica,
				Term: term, Index: index})
		case leader == a.host && h.Counted != nil:
			n := h.Counted()
			answer.Counted.Append(protocol.CountedShard{ShardID: uint64(h.Shard), LastOrder: uint64(n.LastOrder),
				LastRevision: uint64(n.LastRevision), LastSession: n.LastSession})
		}
	}
	return answer
}

// readLed makes a barrier on the meta shard, and reads the memberships of the shards the host leads. All reads run
// concurrently, so that a stalled shard delays the others by at most readWithin.
func (a *Agent) readLed(ctx context.Context) []*protocol.LedShard {
	var group sync.WaitGroup
	var mu sync.Mutex
	var list []*protocol.LedShard
	for _, h := range a.replicas.Held() {
		if h.Shard == hosts.Meta {
			group.Go(func() { a.confirm(ctx, h.Log) })
		}
		l := h.Log.Leadership()
		if l.Leader != a.host {
			continue
		}
		group.Go(func() {
			a.awaitOthers(ctx, h.Shard, l.Term)
			m, err := h.Log.Membership(ctx)
			if err != nil || h.Log.Leadership() != l {
				return
			}
			s := a.ledShard(h, l.Term, &m)
			mu.Lock()
			list = append(list, s)
			mu.Unlock()
		})
	}
	group.Wait()
	slices.SortFunc(list, func(x, y *protocol.LedShard) int { return cmp.Compare(x.ID, y.ID) })
	return list
}

// awaitOthers waits until a new leader knows the followers' progress: before that, all followers would seem to lag.
func (a *Agent) awaitOthers(ctx context.Context, id hosts.ShardID, term uint64) {
	a.mu.Lock()
	wait := time.Until(a.trackOf(id, term, time.Now()).since.Add(electedFor))
	a.mu.Unlock()
	if wait <= 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(wait):
	}
}

// confirm makes a barrier on the meta shard, and records since when barriers succeed. A single failure, as in an
// election, does not count as a gap.
func (a *Agent) confirm(ctx context.Context, log Log) {
	begun := time.Now()
	done := make(chan error, 1)
	err := log.Barrier(func(err error) { done <- err })
	if err == nil {
		select {
		case err = <-done:
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case err != nil: // another barrier may succeed within freshGap
	case a.fresh.IsZero() || begun.Sub(a.begun) > freshGap:
		a.fresh, a.begun = begun, begun
	case begun.After(a.begun):
		a.begun = begun
	}
}

// ledShard returns the state of a shard the host leads, given its membership.
func (a *Agent) ledShard(h Held, term uint64, m *shard.Membership) *protocol.LedShard {
	progress := make(map[uint64]shard.Progress)
	for _, p := range h.Log.Progress() {
		progress[p.Replica] = p
	}
	idle, now := h.Idle != nil && h.Idle(), time.Now()
	var load Load
	if h.Load != nil {
		load = h.Load()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.trackOf(h.Shard, term, now)
	s := &protocol.LedShard{ID: uint64(h.Shard), Term: term, LedMillis: millis(now.Sub(t.since)), Change: m.Change,
		Idle: idle, QuotaPercent: load.Quota, CommitMicros: uint64(load.Commit.Microseconds())}
	for _, member := range m.Members {
		p := progress[member.Replica]
		shown := protocol.ShardMember{ReplicaID: member.Replica, HostID: uint64(member.Host),
			Incarnation: member.Incarnation[:], Voter: member.Voter, Index: p.Index,
			BehindMillis: millis(t.lag(member.Replica, p.Index, now)), Tried: p.Tried, SilentMillis: p.SilentMillis,
			SnapshotPercent: p.Percent, SnapshotRate: p.Rate}
		if member.Replica == h.Replica {
			shown.Index, shown.BehindMillis, shown.Tried = h.Log.Applied(), 0, true
		}
		s.Members.Append(shown)
	}
	return s
}

func millis(d time.Duration) uint64 { return uint64(max(0, d.Milliseconds())) }
