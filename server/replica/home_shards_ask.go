package replica

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// Lookup finds sessions with a given home shard, on this or a remote host.
type Lookup struct{ r *Replica }

// Find calls done with a session that has this home shard, possibly at once or on another goroutine. If how is
// STRICT, the answer includes everything committed when Find was called; otherwise the session may have ended. The
// local host's replica answers if it is filled. If there is no replica, or its answer is Unknown, remote hosts are
// asked until findWithin has passed.
func (lo *Lookup) Find(id shard.SessionID, key []byte, how protocol.Consistency, done func(HomeSession)) {
	until := time.Now().Add(findWithin)
	if !lo.r.Here() && len(lo.answerers()) > 0 {
		lo.elsewhere(id, key, until, done)
		return
	}
	if one, _ := lo.look(id, key); how != protocol.ConsistencyStrict && one.Liveness == shard.Alive {
		done(one)
		return
	}
	lo.find(id, key, func(one HomeSession) {
		if one.Liveness == shard.Unknown {
			lo.elsewhere(id, key, until, done)
			return
		}
		done(one)
	})
}

// elsewhere is Find with a remote host's answer. Until done returns, Bind learns about an end that a remote host
// reports.
func (lo *Lookup) elsewhere(id shard.SessionID, key []byte, until time.Time, done func(HomeSession)) {
	h := &lo.r.set.HomeShards
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	if h.binds[id] == nil {
		h.binds[id] = &pendingBind{}
	}
	h.binds[id].waiting++
	h.calls.Go(func() {
		done(lo.askOne(&askedSession{ID: id, Key: key}, until))
		h.mu.Lock()
		if b := h.binds[id]; b.waiting == 1 {
			delete(h.binds, id)
		} else {
			b.waiting--
		}
		h.mu.Unlock()
	})
}

// askOne asks the hosts with a replica of the home shard for a session, the leader first, one after the other. askOne
// waits while many questions are in progress.
func (lo *Lookup) askOne(q *askedSession, until time.Time) HomeSession {
	h := &lo.r.set.HomeShards
	ctx, cancel := context.WithDeadline(h.ctx, until)
	defer cancel()
	select {
	case lo.r.asking <- struct{}{}:
		defer func() { <-lo.r.asking }()
	case <-ctx.Done():
		return HomeSession{}
	}
	for _, to := range lo.r.set.Home(q.ID).Lookup.answerers() { // the home may have changed
		a, err := h.call(ctx, to, homeCall{One: q})
		if err == nil && a.One != nil && a.One.Liveness != shard.Unknown {
			return *a.One
		}
	}
	return HomeSession{}
}

// answerers returns the other hosts with a replica of the shard, the leader first.
func (lo *Lookup) answerers() (list []shard.HostID) {
	self, leader := lo.r.set.config.Self.ID, lo.r.Known().Leader
	if leader != 0 && leader != self {
		list = append(list, leader)
	}
	for _, id := range lo.r.set.Meta.Machine.HostsOf(meta.ShardID(lo.r.ID)) {
		if id != self && id != leader {
			list = append(list, id)
		}
	}
	return list
}

// stillThere reports whether a session that was just found still exists, as far as the host knows. A replica of the
// home shard that has arrived meanwhile may lag behind the replica in which the session was found: it only denies the
// session if it has seen the session's creation.
func (se *Sessions) stillThere(id shard.SessionID) bool {
	if home := se.set.Home(id); home.reports() && home.Machine.Liveness(id) == shard.Dead {
		return false
	}
	h := &se.set.HomeShards
	h.mu.Lock()
	defer h.mu.Unlock()
	b := h.binds[id]
	return b == nil || !b.over
}

// AskShown asks the home shards of remote sessions for descriptions, and calls done with those that were available.
// Without sessions, done is called at once.
func (h *HomeShards) AskShown(ids []shard.SessionID, done func(map[shard.SessionID]protocol.Session)) {
	asked := make(map[shard.HostID]homeCall)
	for _, id := range ids {
		if l := h.set.Home(id).Known().Leader; l != 0 && l != h.set.config.Self.ID {
			c := asked[l]
			c.shown = append(c.shown, id)
			asked[l] = c
		}
	}
	h.show(asked, done)
}

// AskParts asks the leaders of shards the host does not have for the sessions' holdings there, and calls done with
// the sums. If the host has all shards, done is called at once.
func (h *HomeShards) AskParts(ids []shard.SessionID, done func(map[shard.SessionID]protocol.Session)) {
	asked := make(map[shard.HostID]homeCall)
	for _, r := range h.set.All() {
		if l := r.Known().Leader; !r.Holds() && l != 0 && l != h.set.config.Self.ID {
			c := asked[l]
			c.shown, c.Parts = ids, append(c.Parts, r.ID)
			asked[l] = c
		}
	}
	h.show(asked, done)
}

// show calls done with the hosts' descriptions of sessions, on a separate goroutine if a host is asked.
func (h *HomeShards) show(asked map[shard.HostID]homeCall, done func(map[shard.SessionID]protocol.Session)) {
	h.mu.Lock()
	none := len(asked) == 0 || h.closed
	if !none {
		h.calls.Go(func() { done(h.shown(asked)) })
	}
	h.mu.Unlock()
	if none {
		done(nil)
	}
}

// shown asks hosts for session descriptions, and sums up the sessions' holdings.
func (h *HomeShards) shown(asked map[shard.HostID]homeCall) map[shard.SessionID]protocol.Session {
	var mu sync.Mutex
	var calls sync.WaitGroup
	list := make(map[shard.SessionID]protocol.Session)
	for to, c := range asked {
		calls.Go(func() {
			for ids := range slices.Chunk(c.shown, maxShown) {
				a, err := h.call(h.ctx, to, homeCall{Shown: packSessions(slices.Clone(ids)), Parts: c.Parts})
				if err != nil {
					return
				}
				mu.Lock()
				for _, x := range a.Shown {
					before := list[shard.SessionID(x.ID)]
					x.Owned, x.Waiting = x.Owned+before.Owned, x.Waiting+before.Waiting
					list[shard.SessionID(x.ID)] = x
				}
				mu.Unlock()
			}
		})
	}
	calls.Wait()
	return list
}
