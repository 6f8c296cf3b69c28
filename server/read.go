package server

import (
	"maps"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
)

// Every host answers reads. A relaxed read comes from a replica with a recent proof of being up to date. A strict
// read waits for a barrier from after the request; all waiting reads share the barrier.

// read runs answer when the replica is as fresh as requested. answer may run on another goroutine, after the
// request's bytes are gone.
func (c *conn) read(r *protocol.Request, rp *replica.Replica, consistency protocol.Consistency, answer func()) {
	if rp.MayAnswer(consistency) {
		answer()
		return
	}
	if !rp.Holds() {
		c.moved(r.ID, r.Kind, rp)
		return
	}
	id, kind := r.ID, r.Kind
	rp.Confirm(func(ok, _ bool) {
		if ok {
			answer()
		} else {
			c.Fail(id, kind, &notUpToDate)
		}
		c.flush()
	})
}

// confirmLed goes on when this host has made sure that it leads a shard, or answers a request if it cannot.
func (c *conn) confirmLed(id uint64, k protocol.Kind, rp *replica.Replica, goOn func()) {
	rp.Confirm(func(ok, led bool) {
		switch {
		case !ok:
			c.Fail(id, k, &notUpToDate)
		case !led:
			c.moved(id, k, rp)
		default:
			goOn()
		}
		c.flush()
	})
}

// isAhead refuses a read if the client knows a higher generation of the slot than this host. Slots do not move yet, so
// a host knows the generation 0 only.
func (c *conn) isAhead(r *protocol.Request, generation uint64) bool {
	if generation == 0 {
		return false
	}
	c.Fail(r.ID, r.Kind, &notHeard)
	return true
}

var notHeard = protocol.Result{
	Status: protocol.StatusUnavailable, Message: "this host has not heard yet that the slot was moved", WaitMillis: 100,
}

var notUpToDate = protocol.Result{
	Status: protocol.StatusUnavailable, Message: "this host cannot make sure that it is up to date",
}

// consistency is the requested consistency, or else the node's.
func (h *Host) consistency(asked protocol.Consistency, id shard.NodeID) protocol.Consistency {
	if asked != protocol.ConsistencyUnset {
		return asked
	}
	n, ok := h.meta.Machine.NodeByID(id)
	if !ok {
		return protocol.ConsistencyStrict // the node may ask for strict reads
	}
	return n.Config.Effective().ReadConsistency
}

// describe is a describe under way. Each connection keeps a describe for the requests that are answered at once.
type describe struct {
	c       *conn
	rp      *replica.Replica
	request uint64
	kind    protocol.Kind
	m       protocol.SemaphoreDescribe
	page    shard.Description
	answer  protocol.SemaphoreDescribeAnswer
	// clients are the sessions of an earlier look with their homes elsewhere, nil if this is the first look.
	clients map[shard.SessionID]protocol.Session
}

func (c *conn) semaphoreDescribe(r *protocol.Request) {
	h, m := c.host, &r.SemaphoreDescribe
	id := shard.NodeID(m.NodeID)
	if !c.authorizeIn(r, id, m.Name) {
		return
	}
	if !c.hasName(r, m.Name) || c.isAhead(r, m.Generation) {
		return
	}
	if m.WatchData || m.WatchOwners {
		session := shard.SessionID(m.SessionID)
		if session == 0 {
			c.failure(r, protocol.StatusBadRequest, "a watch belongs to a session")
			return
		}
		if c.binding(session) == nil {
			c.refuseSession(r, session,
				"a watch belongs to a session that is attached over or bound to this connection")
			return
		}
	}
	rp := h.set.Of(shard.SlotOf(id, m.Name))
	consistency := h.consistency(m.Consistency, id)
	if rp.MayAnswer(consistency) {
		d := &c.describing
		d.c, d.rp, d.request, d.kind, d.m, d.clients = c, rp, r.ID, r.Kind, *m, nil
		d.run()
		if a := &d.answer; a.Owners.Size()+a.Waiters.Size() > keptDescribe {
			*d = describe{} // a connection that asked for much once must not keep so much memory for ever
		}
		return
	}
	d := &describe{c: c, rp: rp, request: r.ID, kind: r.Kind, m: *m}
	d.m.Name = slices.Clone(m.Name)
	c.read(r, rp, protocol.ConsistencyStrict, d.run)
}

// keptDescribe is the greatest length of an answer whose memory is kept for the next describe.
const keptDescribe = 16 << 10

// run reads and answers. With a watch both happen under the lock for reporting changes, and the watch is counted
// before the read, so a change waits for the lock. No change is lost between the two, and the answer is in the
// connection's stream before the change.
func (d *describe) run() {
	if watched := d.m.WatchData || d.m.WatchOwners; !watched || d.clients == nil {
		found := d.read()
		switch {
		case found && d.clients == nil && d.askElsewhere():
			return
		case watched:
		case found:
			d.reply(false)
			return
		default:
			d.notFound()
			return
		}
	}
	d.rp.WithWatches(d.runWatched)
	if !d.c.permitsIn(d.kind, shard.NodeID(d.m.NodeID), protocol.Text(d.m.Name)) {
		d.rp.Withdraw(shard.SessionID(d.m.SessionID), d.c) // the right was revoked meanwhile
	}
}

// askElsewhere asks other hosts for the sessions of the page with their homes there, and then reads again. It returns
// false if this host has the homes of all.
func (d *describe) askElsewhere() bool {
	var ids []shard.SessionID
	for i := range d.page.Links {
		if id := d.page.Links[i].Session; !d.c.host.set.Of(id.Slot()).Here() {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return false
	}
	later := &describe{c: d.c, rp: d.rp, request: d.request, kind: d.kind, m: d.m}
	later.m.Name = slices.Clone(d.m.Name)
	d.c.host.set.AskShown(ids, func(shown map[shard.SessionID]protocol.Session) {
		later.clients = make(map[shard.SessionID]protocol.Session) // also if nothing was learned
		maps.Copy(later.clients, shown)
		later.run()
		later.c.flush()
	})
	return true
}

// clientOf returns the client of a session, by the word of another host if the session's home is there.
func (d *describe) clientOf(id shard.SessionID) protocol.ClientInfo {
	if s, is := d.clients[id]; is {
		return s.Client
	}
	return d.c.host.clientOf(id)
}

// runWatched is run with a watch.
func (d *describe) runWatched() {
	if !d.read() {
		d.notFound()
		return
	}
	switch status, why := d.c.admitWatch(shard.SessionID(d.m.SessionID), len(d.m.Name)); status {
	case protocol.StatusSuccess:
		d.rp.AddWatch(d.c, d.request, &d.m)
		d.reply(true)
	case protocol.StatusOverloaded:
		d.c.overloaded(d.request, d.kind, why)
	default:
		result := protocol.Result{Status: status, Message: why}
		if d.c.host.set.Liveness(shard.SessionID(d.m.SessionID)) == shard.Dead {
			result = protocol.Result{Status: protocol.StatusSessionExpired, Message: "the session is over"}
		}
		d.c.Fail(d.request, d.kind, &result)
	}
}

func (d *describe) read() bool {
	m := &d.m
	of := shard.Ref{Kind: shard.KindSemaphore, Node: shard.NodeID(m.NodeID), Name: protocol.Text(m.Name)}
	return d.rp.Machine.Describe(of, shard.DescribeOptions{
		Owners: m.IncludeOwners, Waiters: m.IncludeWaiters,
		After: shard.OrderID(m.After), Limit: int(min(m.Limit, shard.MaxPage)),
	}, &d.page)
}

func (d *describe) notFound() {
	d.c.Fail(d.request, d.kind, &protocol.Result{Status: protocol.StatusNotFound, Message: "no semaphore of this name"})
}

func (d *describe) reply(watched bool) {
	a, p := &d.answer, &d.page
	a.Owners.Reset()
	a.Waiters.Reset()
	a.Next, a.WatchAdded = 0, watched
	a.Semaphore = semaphoreInfo(&p.SemaphoreView, d.m.After == 0)
	for i := range p.Links {
		l := &p.Links[i]
		if l.Owner {
			appendOwner(&a.Owners, l, d.clientOf(l.Session))
		} else {
			a.Waiters.Append(protocol.Waiter{
				OrderID: uint64(l.Order), SessionID: uint64(l.Session), Count: l.Count,
				Data: protocol.View(l.Data), TimeoutMillis: l.Timeout,
				SinceMillis: l.Since, Client: d.clientOf(l.Session),
			})
		}
		if endsPage(a.Owners.Size()+a.Waiters.Size(), i, len(p.Links), p.More) {
			a.Next = uint64(l.Order)
			break
		}
	}
	d.c.Answer(d.request, a)
}

func appendOwner(to *protocol.Owners, l *shard.LinkView, client protocol.ClientInfo) {
	to.Append(protocol.Owner{
		OrderID: uint64(l.Order), SessionID: uint64(l.Session), Count: l.Count, Data: protocol.View(l.Data),
		SinceMillis: l.Since, Client: client,
	})
}

func itemLimit(asked uint64) int {
	if asked == 0 || asked > shard.MaxPage {
		return shard.MaxPage
	}
	return int(asked)
}
