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

// Lookup finds sessions of a home shard, at this host or at another one.
type Lookup struct{ r *Replica }

// Find calls done with a session of this home, perhaps at once, perhaps on another goroutine. If how is STRICT, the
// answer has everything that was committed when Find was called; else the session may have ended. The replica of this
// host answers if it is filled. If there is none, or its answer is Unknown, other hosts are asked until findWithin has
// passed.
func (lo *Lookup) Find(id shard.SessionID, key []byte, how protocol.Consistency, done func(HomeSession)) {
	until := time.Now().Add(findWithin)
	if !lo.r.Here() && len(lo.answerers()) > 0 {
		lo.elsewhere(id, key, until, done)
		return
	}
	if one := lo.look(id, key); how != protocol.ConsistencyStrict && one.Liveness == shard.Alive {
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

// elsewhere is Find by the answer of another host. Until done returns, Bind knows of an end that another host
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

// askOne asks the hosts with a copy of the home for a session, the leader first, one after the other. askOne waits
// while many questions are under way.
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
	for _, to := range lo.answerers() {
		a, err := h.call(ctx, to, homeCall{One: q})
		if err == nil && a.One != nil && a.One.Liveness != shard.Unknown {
			return *a.One
		}
	}
	return HomeSession{}
}

// answerers returns the other hosts with a copy of the shard, the leader first.
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

// stillThere reports whether a session that was found a moment ago is still there, as far as this host knows. A copy
// of the session's home that has come meanwhile may be behind the copy by which the session was found: the copy says no
// only if the copy has seen the session's creation.
func (se *Sessions) stillThere(id shard.SessionID) bool {
	if se.r.reports() && se.r.Machine.Liveness(id) == shard.Dead {
		return false
	}
	h := &se.r.set.HomeShards
	h.mu.Lock()
	defer h.mu.Unlock()
	b := h.binds[id]
	return b == nil || !b.over
}

// AskShown asks for sessions with their homes elsewhere as their homes show them to people, and calls done with those
// that could be had. Nothing is asked, and done is called at once, if there are no sessions.
func (h *HomeShards) AskShown(ids []shard.SessionID, done func(map[shard.SessionID]protocol.Session)) {
	asked := make(map[shard.HostID]homeCall)
	for _, id := range ids {
		if l := h.set.Of(id.Slot()).Known().Leader; l != 0 && l != h.set.config.Self.ID {
			c := asked[l]
			c.shown = append(c.shown, id)
			asked[l] = c
		}
	}
	h.show(asked, done)
}

// AskParts asks the leaders of the shards that this host does not have what sessions hold there, and calls done with
// the sums. Nothing is asked, and done is called at once, if this host has all shards.
func (h *HomeShards) AskParts(ids []shard.SessionID, done func(map[shard.SessionID]protocol.Session)) {
	asked := make(map[shard.HostID]homeCall)
	for _, r := range h.set.Replicas {
		if l := r.Known().Leader; !r.Holds() && l != 0 && l != h.set.config.Self.ID {
			c := asked[l]
			c.shown, c.Parts = ids, append(c.Parts, r.ID)
			asked[l] = c
		}
	}
	h.show(asked, done)
}

// show calls done with what hosts show of sessions, on a goroutine of its own if a host is asked.
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

// shown asks hosts for sessions, and adds up what the sessions hold.
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
