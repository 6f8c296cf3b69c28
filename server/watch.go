package server

import (
	"fmt"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
)

const (
	tooManyWatches = "too many watches are open on this connection"
	tooMuchWatched = "the open watches of all clients hold as much memory as this host allows (max-watch-memory)"
	noSuchWatch    = "no watch of this id"
)

// admitWatch counts a one-shot watch of a session, if the session may act over this connection. The check comes here
// because a read barrier may have taken its time, and the watch of a departed session would never be dropped. After a
// refusal why has the reason.
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

func (c *conn) watch(r *protocol.Request) {
	h, m := c.host, &r.Watch
	id := shard.NodeID(m.NodeID)
	if !c.authorizeIn(r, id, m.Name) {
		return
	}
	if !c.hasName(r, m.Name) || !c.knowsView(r, m) || c.isAhead(r, m.Generation) {
		return
	}
	rp := h.set.Of(shard.SlotOf(id, m.Name))
	fresh := rp.MayAnswer(h.consistency(0, id))
	if !fresh && !rp.Holds() {
		c.moved(r.ID, r.Kind, rp)
		return
	}
	request, open := r.ID, *m
	open.Name, open.View = slices.Clone(m.Name), slices.Clone(m.View)
	if !c.beginOpening(request) {
		c.failure(r, protocol.StatusBadRequest, "a watch of this id is being opened")
		return
	}
	then := func(fresh, _ bool) {
		h.openings.add(c, func() {
			if fresh {
				c.openWatch(rp, request, &open)
			} else {
				c.Fail(request, protocol.KindWatch, &notUpToDate)
			}
			c.finishOpening(rp, request)
		})
	}
	if fresh {
		then(true, true)
	} else {
		rp.Confirm(then)
	}
}

// knowsView refuses a watch if the host does not know the kind or the view.
func (c *conn) knowsView(r *protocol.Request, m *protocol.Watch) bool {
	if m.ObjectKind.IsSemaphore() {
		if len(m.View) > 0 {
			c.failure(r, protocol.StatusBadRequest, "a semaphore has no views: it is watched as a whole")
		}
		return len(m.View) == 0
	}
	if shard.KnowsKind(shard.ObjectKind(m.ObjectKind)) {
		return true
	}
	c.failure(r, protocol.StatusUnsupported, fmt.Sprintf("this host knows no objects of the kind %v", m.ObjectKind))
	return false
}

// watchStop stops a watch. A watch that waits to be opened is stopped once it is open: the first WATCH_STOP does so,
// and further stops are refused.
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

// stopWatch stops a watch at one of the replicas, and answers.
func (c *conn) stopWatch(request, id uint64, at ...*replica.Replica) {
	for _, rp := range at {
		if rp.Hub.Stop(c, id) {
			c.Ended(id)
			c.Answer(request, &protocol.WatchStopAnswer{})
			return
		}
	}
	c.Fail(request, protocol.KindWatchStop, &protocol.Result{Status: protocol.StatusNotFound, Message: noSuchWatch})
}
