package server

import (
	"errors"
	"slices"

	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/hub"
	"github.com/signalbox/signalbox/shard"
)

// watchRef is where a one-shot watch is to be told.
type watchRef struct {
	conn    *conn
	request uint64
	name    int // bytes of the semaphore's name, which the host's budget of watches counts
}

// addWatch leaves a one-shot watch. The one that it replaces is told that nothing is known. The
// replica's lock is held.
func (r *replica) addWatch(c *conn, request uint64, m *protocol.SemaphoreDescribe) {
	replaced, was := r.watches.Add(shard.SessionID(m.SessionID), shard.NodeID(m.NodeID), string(m.Name),
		m.WatchData, m.WatchOwners, watchRef{conn: c, request: request, name: len(m.Name)})
	if was {
		r.fire(replaced, false, false)
	}
}

// countWatches says how many one-shot watches there are. The lock is held.
func (r *replica) countWatches() { r.watching.Store(int64(r.watches.Len())) }

const (
	tooManyWatches = "too many watches are open on this connection"
	tooMuchWatched = "the open watches of all clients hold as much memory as this host allows (watch-memory)"
	noSuchWatch    = "no watch of this id"
)

// admitWatch counts a one-shot watch of a session that may act over this connection: a read barrier may
// have taken its time, and nobody would drop the watch of a session that has left meanwhile. Where it is refused why
// says so.
func (c *conn) admitWatch(id shard.SessionID, name int) (s protocol.Status, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.acting(id) == nil:
		return protocol.StatusBadSession, "the session does not act over this connection any more"
	case c.watches >= int(c.host.config.Limits.Watches):
		return protocol.StatusOverloaded, tooManyWatches
	case !c.host.watches.Take(name):
		return protocol.StatusOverloaded, tooMuchWatched
	}
	c.watches++
	return protocol.StatusSuccess, ""
}

// endWatch counts a one-shot watch off.
func (c *conn) endWatch(ref watchRef) {
	c.host.watches.Give(ref.name)
	c.Ended(ref.request)
}

// fire appends the one notification of a watch. The lock is held, and is let go of with unlockFired.
func (r *replica) fire(ref watchRef, data, owners bool) {
	ref.conn.endWatch(ref)
	ref.conn.push(ref.request, &protocol.Changed{Data: data, Owners: owners})
	r.fired = append(r.fired, ref.conn)
}

// unlockFired lets go of the lock, and then flushes the connections whose watches were fired: that may cut off a client
// that reads too slowly, which is logged, and nothing that could wait is done with the lock held.
func (r *replica) unlockFired() {
	fired := r.fired
	r.fired = nil
	r.countWatches()
	r.mu.Unlock()
	for _, c := range fired {
		c.flush()
	}
}

// noticed tells the one-shot watches of a change, and drops those of a session that ended.
func (r *replica) noticed(e *shard.Effect) {
	if r.watching.Load() == 0 {
		return
	}
	r.mu.Lock()
	defer r.unlockFired()
	if e.Kind == shard.EffectSessionEnded {
		r.dropWatches(e.Session, nil)
		return
	}
	r.one[0] = *e
	r.watches.Apply(r.one[:], r.fire)
}

// dropWatches drops the watches that a session has over one connection, or over any where c is nil, without
// a word. The lock is held.
func (r *replica) dropWatches(id shard.SessionID, c *conn) {
	r.watches.DropWhere(id, func(ref watchRef) bool {
		if c != nil && ref.conn != c {
			return false
		}
		ref.conn.endWatch(ref)
		return true
	})
}

// forgetSessionWatches drops the watches of a session that is leaving a connection.
func (r *replica) forgetSessionWatches(id shard.SessionID, c *conn) {
	if r.watching.Load() == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dropWatches(id, c)
	r.countWatches()
}

// forgetWatches tells all one-shot watches that something may have been missed.
func (r *replica) forgetWatches() {
	r.mu.Lock()
	defer r.unlockFired()
	r.watches.DropAll(func(ref watchRef) { r.fire(ref, false, false) })
}

func (c *conn) watch(r *protocol.Request) {
	h, m := c.host, &r.Watch
	id := shard.NodeID(m.NodeID)
	if !c.mayIn(r, id) {
		return
	}
	if !c.hasName(r, m.Name) {
		return
	}
	rp := h.replicaOf(shard.SlotOf(id, m.Name))
	if rp.answers(h.consistency(0, id)) {
		c.openWatch(rp, r.ID, m)
		return
	}
	request, open := r.ID, *m
	open.Name = slices.Clone(m.Name)
	if !c.opens(request) {
		c.failure(r, protocol.StatusBadRequest, "a watch of this id is being opened")
		return
	}
	rp.fresh.confirm(func(ok, _ bool) {
		if ok {
			c.openWatch(rp, request, &open)
		} else {
			c.Fail(request, protocol.KindWatch, &notUpToDate)
		}
		c.stopOpened(rp, request)
		c.flush()
	})
}

// openWatch opens a watch at a replica that is up to date, and answers.
func (c *conn) openWatch(rp *replica, request uint64, m *protocol.Watch) {
	h, id := c.host, shard.NodeID(m.NodeID)
	c.mu.Lock()
	c.watches++
	tooMany := c.watches > int(h.config.Limits.Watches)
	c.mu.Unlock()
	if tooMany {
		c.Ended(request)
		c.overloaded(request, protocol.KindWatch, tooManyWatches)
		return
	}
	if h.meta.machine.NodeAlive(id) == nodeDead {
		c.Ended(request)
		c.Fail(request, protocol.KindWatch, &nodeGone)
		return
	}
	err := rp.hub.Open(c, request, m)
	if err == nil {
		c.inFlight.Add(-1) // the hub has answered
		if h.meta.machine.NodeAlive(id) == nodeDead {
			// It was dropped while the watch was opened, perhaps too early to end it.
			rp.hub.EndNode(id, nodeGone)
		}
		if !c.mayWatch(id) {
			rp.hub.EndUnless(c, c.mayWatch, withdrawn) // the right was taken away while the watch was opened
		}
		return
	}
	c.Ended(request)
	if errors.Is(err, hub.ErrBudget) {
		c.overloaded(request, protocol.KindWatch, tooMuchWatched)
		return
	}
	status := protocol.StatusUnavailable
	if errors.Is(err, hub.ErrInUse) {
		status = protocol.StatusBadRequest
	}
	c.Fail(request, protocol.KindWatch, &protocol.Result{Status: status, Message: clip(err.Error())})
}

// opens notes that a watch waits to be opened. False: one of this id does already.
func (c *conn) opens(id uint64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, is := c.opening[id]; is {
		return false
	}
	if c.opening == nil {
		c.opening = make(map[uint64]uint64)
	}
	c.opening[id] = 0
	return true
}

// stopOpened carries out the WATCH_STOP that came while the watch was being opened.
func (c *conn) stopOpened(rp *replica, id uint64) {
	c.mu.Lock()
	stop := c.opening[id]
	delete(c.opening, id)
	c.mu.Unlock()
	if stop != 0 {
		c.stopWatch(stop, id, rp)
	}
}

// watchStop stops a watch, or sees to it that one which waits to be opened is stopped then. Of several that come for it
// meanwhile the first does that.
func (c *conn) watchStop(r *protocol.Request) {
	id := r.WatchStop.WatchID
	c.mu.Lock()
	stop, opening := c.opening[id]
	if opening && stop == 0 {
		c.opening[id] = r.ID
	}
	c.mu.Unlock()
	switch {
	case !opening:
		c.stopWatch(r.ID, id, c.host.replicas...)
	case stop != 0:
		c.failure(r, protocol.StatusNotFound, noSuchWatch)
	}
}

// stopWatch stops a watch at one of these replicas, and answers.
func (c *conn) stopWatch(request, id uint64, at ...*replica) {
	for _, rp := range at {
		if rp.hub.Stop(c, id) {
			c.Ended(id)
			c.answer(request, &protocol.WatchStopAnswer{})
			return
		}
	}
	c.Fail(request, protocol.KindWatchStop, &protocol.Result{Status: protocol.StatusNotFound, Message: noSuchWatch})
}

// Append implements hub.Sink.
func (c *conn) Append(write func(*protocol.Encoder, *bytebufferpool.ByteBuffer)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	write(c.encoder, c.buffer())
	return true
}

// Ended implements hub.Sink.
func (c *conn) Ended(uint64) {
	c.mu.Lock()
	c.watches--
	c.mu.Unlock()
}

// Flush implements hub.Sink.
func (c *conn) Flush(few bool) {
	if few {
		c.flushHere()
	} else {
		c.flush()
	}
}

// Pending implements hub.Sink.
func (c *conn) Pending() int { return c.peer.Pending() }
