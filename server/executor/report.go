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

// track is an agent's notes on a shard that its host leads.
type track struct {
	term  uint64
	since time.Time // from when on the host led in the term
	// notes are indexes of the log, each with the last time when the log was applied no farther, the oldest first.
	notes []note
	// below has the replicas with an index below all notes, and since when the index has been below.
	below map[uint64]time.Time
}

type note struct {
	index uint64
	at    time.Time
}

// sample notes the progress of the shards that the host leads.
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

// trackOf returns the track of a shard in a term, and makes a new track for a new term. The caller holds the lock.
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

// behind returns how long ago the log was last applied no farther than an index.
func (t *track) behind(index uint64, now time.Time) time.Duration {
	for i := len(t.notes) - 1; i >= 0; i-- {
		if t.notes[i].index <= index {
			if i == len(t.notes)-1 {
				return 0
			}
			return now.Sub(t.notes[i].at)
		}
	}
	return unknownBehind
}

// lag is behind for a replica. Notes reach back for seconds on a busy log, so lag adds the time that a replica has been
// below all notes.
func (t *track) lag(replica, index uint64, now time.Time) time.Duration {
	d := t.behind(index, now)
	if d != unknownBehind {
		delete(t.below, replica)
		return d
	}
	since, known := t.below[replica]
	if !known {
		if t.below == nil {
			t.below = make(map[uint64]time.Time)
		}
		since = now
		t.below[replica] = since
	}
	return d + now.Sub(since)
}

// report is the host's observations now.
func (a *Agent) report(ctx context.Context) *protocol.ShardReportAnswer {
	ctx, cancel := context.WithTimeout(ctx, readWithin)
	defer cancel()
	a.sample(time.Now())
	answer := &protocol.ShardReportAnswer{Incarnation: a.incarnation[:], DiskFull: a.full()}
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
		case h.Log.Removed(): // it knows the leader of before for ever, and a group cannot be made from it
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

// readLed makes a barrier on the meta shard, and reads the memberships of the shards that the host leads. All reads
// go on at once, so that a shard that stands still costs the others no more than readWithin.
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

// awaitOthers waits until a new leader has heard how far the followers are: earlier all of them would seem behind.
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

// confirm makes a barrier on the meta shard, and notes for how long barriers have succeeded. A single failure, as in
// an election, is no gap yet.
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
	case err != nil: // further barriers may succeed before freshGap is over
	case a.fresh.IsZero() || begun.Sub(a.begun) > freshGap:
		a.fresh, a.begun = begun, begun
	case begun.After(a.begun):
		a.begun = begun
	}
}

// ledShard is the state of a shard that the host leads, by its membership.
func (a *Agent) ledShard(h Held, term uint64, m *shard.Membership) *protocol.LedShard {
	progress := make(map[uint64]shard.Progress)
	for _, p := range h.Log.Progress() {
		progress[p.Replica] = p
	}
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.trackOf(h.Shard, term, now)
	s := &protocol.LedShard{ID: uint64(h.Shard), Term: term, LedMillis: millis(now.Sub(t.since)), Change: m.Change}
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
