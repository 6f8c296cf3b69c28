package replica

import (
	"context"
	"encoding/json"

	"github.com/signalbox/signalbox/shard"
)

// Answer answers a remote host's call about sessions.
func (h *HomeShards) Answer(ctx context.Context, from shard.HostID, request []byte) ([]byte, error) {
	var r homeRequest
	if err := json.Unmarshal(request, &r); err != nil {
		return nil, err
	}
	c, a := &r.Home, homeAnswer{}
	for _, e := range c.Ended {
		h.over(e.ID, e.Reason)
	}
	asked, err := c.Asked.unpack()
	if err != nil {
		return nil, err
	}
	for _, id := range asked {
		a.Liveness = append(a.Liveness, byte(h.vouch(id, from)))
	}
	for i := range c.Lost {
		home := h.set.Home(c.Lost[i].session())
		if !home.Leads() {
			a.Elsewhere = append(a.Elsewhere, home.ID)
			continue
		}
		h.set.Sessions.notifyLoss(&c.Lost[i], func(c Conn) { c.Flush(false) })
	}
	for i := range c.Losses {
		for _, l := range c.Losses[i].Sessions {
			if h.set.Home(l.Session).Leads() {
				h.set.Sessions.hearLosses(c.Losses[i].Shard, l)
			}
		}
	}
	for _, id := range c.Leads {
		r := h.set.Shard(id)
		if r == nil || !r.Holds() {
			continue
		}
		if l := r.Known(); l.Leader != 0 {
			a.Led = append(a.Led, ledShard{id, l.Leader, l.Term})
		}
	}
	if c.One != nil {
		one := h.lookUp(ctx, from, c.One)
		a.One = &one
	}
	shown, err := c.Shown.unpack()
	if err != nil {
		return nil, err
	}
	for _, id := range shown {
		a.Shown = append(a.Shown, h.set.config.Show(id, c.Parts))
	}
	return encodeHome(a), nil
}

// vouch records that a host must be notified when a session ends, and returns what is known about the session.
// Recording comes first: a session end then either finds the record, or has removed the session before the lookup. A
// replica that is not filled may lack the end, so Unknown leaves the answer to a remote host.
func (h *HomeShards) vouch(id shard.SessionID, from shard.HostID) shard.Liveness {
	home := h.set.Home(id)
	if !home.Holds() {
		return shard.Unknown
	}
	h.set.Sessions.remote.note(id, from)
	is := home.Machine.Liveness(id)
	switch {
	case is == shard.Dead:
		h.set.Sessions.remote.forget(id, from)
	case !home.Filled():
		is = shard.Unknown
	}
	return is
}

// lookUp answers a question about one session, after a barrier.
func (h *HomeShards) lookUp(ctx context.Context, from shard.HostID, q *askedSession) HomeSession {
	h.vouch(q.ID, from)
	home := h.set.Home(q.ID)
	found := make(chan HomeSession, 1)
	home.Lookup.find(q.ID, q.Key, func(one HomeSession) { found <- one })
	select {
	case one := <-found:
		// A session that never existed has no end. But a rebuilt home shard may declare a session dead to its client
		// before the end that the asking host is waiting for.
		g := home.Machine.Group()
		if one.Liveness == shard.Dead && (q.ID.Counter() > g.Before || !g.Waits(home.Machine.Time())) {
			h.set.Sessions.remote.forget(q.ID, from)
		}
		return one
	case <-ctx.Done():
		return HomeSession{}
	}
}

// look returns a session from the host's replica of the session's home shard. home is false if another shard is the
// home, or was meanwhile.
func (lo *Lookup) look(id shard.SessionID, key []byte) (one HomeSession, home bool) {
	m := lo.r.Machine
	owned, changes := m.Owns(id.Slot())
	if view, known := m.Session(id); known {
		one = HomeSession{shard.Alive, view.Node, m.KeyMatches(id, key)}
	} else if m.Liveness(id) == shard.Dead {
		one = HomeSession{Liveness: shard.Dead}
	}
	if _, now := m.Owns(id.Slot()); !owned || now != changes {
		return HomeSession{}, false
	}
	return one, true
}

// find calls done with a session from the host's replica of the session's home shard, after a barrier: a session
// whose end was acknowledged before the call is over, and so is a session the replica lacks. A barrier proves nothing
// about a replica that has arrived, left or been emptied since. A rebuilt home shard's answer is for clients only: a
// session no client can have any more is dead for clients, but may be alive for other shards.
func (lo *Lookup) find(id shard.SessionID, key []byte, done func(HomeSession)) {
	if one, _ := lo.look(id, key); one.Liveness == shard.Dead {
		done(one) // no barrier revokes an end
		return
	}
	incarnation := lo.r.fresh.present()
	lo.r.Confirm(func(ok, _ bool) {
		one, home := lo.look(id, key)
		switch {
		case !ok || !lo.r.Holds() || lo.r.fresh.present() != incarnation:
			one = HomeSession{}
		case one.Liveness == shard.Unknown && home:
			one.Liveness = shard.Dead
		}
		done(one)
	})
}
