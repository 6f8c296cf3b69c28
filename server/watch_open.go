package server

import (
	"errors"
	"sync"

	"github.com/signalbox/signalbox/internal/pace"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/hub"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// openings opens watches beside the event loops, connection by connection, by a quarter of a processor. A loop reads
// from connections in the order of arrival, so a crowd's watches opened on the loop would keep everyone else waiting.
type openings struct {
	mu      sync.Mutex
	waiting []*conn // with watches in conn.unopened, which mu guards
	running bool
}

// mostUnopened is how many watches of one connection may wait. The caller of add opens further watches, because too
// many unanswered requests would be refused.
const mostUnopened = 1024

// add has a watch of a connection opened. open appends the answer.
func (o *openings) add(c *conn, open func()) {
	o.mu.Lock()
	if len(c.unopened) == mostUnopened {
		o.mu.Unlock()
		open()
		c.Flush(true)
		return
	}
	defer o.mu.Unlock()
	if c.unopened = append(c.unopened, open); len(c.unopened) == 1 {
		o.waiting = append(o.waiting, c)
	}
	if !o.running {
		o.running = true
		go o.run()
	}
}

// next takes the watches of the connection that has waited longest. Without any, run is about to end.
func (o *openings) next() (c *conn, opens []func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.waiting) == 0 {
		o.waiting, o.running = nil, false
		return nil, nil
	}
	c, o.waiting = o.waiting[0], o.waiting[1:]
	opens, c.unopened = c.unopened, nil
	return c, opens
}

// run opens the waiting watches. All answers to a connection leave together.
func (o *openings) run() {
	p := pace.Quarter()
	p.Work()
	for c, opens := o.next(); c != nil; c, opens = o.next() {
		for _, open := range opens {
			open()
			p.Pause(nil)
			p.Work()
		}
		c.Flush(true)
	}
}

// openWatch opens a watch at a replica that is up to date, and answers.
func (c *conn) openWatch(rp *replica.Replica, request uint64, m *protocol.Watch) {
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
	if h.meta.Machine.NodeAlive(id) == meta.NodeIsDead {
		c.Ended(request)
		c.Fail(request, protocol.KindWatch, &replica.NodeGone)
		return
	}
	err := rp.Hub.Open(c, request, m)
	if err == nil {
		c.inFlight.Add(-1) // the hub has answered
		if h.meta.Machine.NodeAlive(id) == meta.NodeIsDead {
			// The node was dropped while the watch was opened, perhaps too early to end it.
			rp.Hub.EndNode(id, replica.NodeGone)
		}
		if !c.permitsIn(protocol.KindWatch, id, protocol.Text(m.Name)) {
			rp.Hub.EndUnless(c, c.mayWatch, replica.Withdrawn) // the right was revoked while the watch was opened
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

// beginOpening notes that a watch waits to be opened. False: a watch of this id is waiting already.
func (c *conn) beginOpening(id uint64) bool {
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

// finishOpening executes the WATCH_STOP that came while the watch was being opened.
func (c *conn) finishOpening(rp *replica.Replica, id uint64) {
	c.mu.Lock()
	stop := c.opening[id]
	delete(c.opening, id)
	c.mu.Unlock()
	if stop != 0 {
		c.stopWatch(stop, id, rp)
	}
}
