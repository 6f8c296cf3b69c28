package object

import (
	"maps"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/handle"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/semaphore"
)

func (h handlers) semaphoreList(r *handle.Request) (handle.Reply, error) {
	m, name := r.SemaphoreList, func(v *shard.SemaphoreView) string { return v.Name }
	return list(h, r, &protocol.ListRequest{NodeID: m.NodeID, ShardID: m.ShardID, Prefix: m.Prefix,
		After: m.After, Limit: m.Limit, Consistency: m.Consistency, ListSlots: m.ListSlots}, semaphore.List, name,
		func(*replica.Replica) listPage[shard.SemaphoreView] {
			a := &protocol.SemaphoreListAnswer{}
			add := func(v shard.SemaphoreView) { a.Semaphores.Append(semaphoreInfo(&v, m.IncludeData)) }
			return listPage[shard.SemaphoreView]{a, &a.Next, add, a.Semaphores.Size, &a.Missing}
		})
}

// semaphoreInfo returns the client's view of a semaphore. Texts are shared with the view.
func semaphoreInfo(s *shard.SemaphoreView, withData bool) protocol.Semaphore {
	info := protocol.Semaphore{
		Name: protocol.View(s.Name), Limit: s.Limit, Count: s.Count, Revision: uint64(s.Revision),
		Owners: uint64(s.Owners), Waiters: uint64(s.Waiters), Ephemeral: s.Ephemeral,
	}
	if withData {
		info.Data = protocol.View(s.Data)
	}
	return info
}

// describe is a describe in progress. Every connection keeps a describe for requests that are answered immediately.
type describe struct {
	h      handlers
	rp     *replica.Replica
	m      protocol.SemaphoreDescribe
	page   shard.Description
	answer protocol.SemaphoreDescribeAnswer
	// clients are the sessions with remote homes from an earlier read, nil on the first read.
	clients map[shard.SessionID]protocol.Session
}

// keptDescribe is the maximum answer length for which memory is reused by the next describe.
const keptDescribe = 16 << 10

func (h handlers) semaphoreDescribe(r *handle.Request) (handle.Reply, error) {
	m := &r.SemaphoreDescribe
	id := shard.NodeID(m.NodeID)
	if err := h.Object(r, id, m.Name); err != nil {
		return nil, err
	}
	watched := m.WatchData || m.WatchOwners
	if session := shard.SessionID(m.SessionID); watched && session == 0 {
		return nil, handle.BadRequest("a one-shot watch requires a session")
	} else if watched && !r.Conn.Acts(session) {
		return nil, h.RefuseSession(r, session,
			"a one-shot watch requires a session attached to or bound to the connection")
	}
	slot, consistency := shard.SlotOf(id, m.Name), h.Consistency(m.Consistency, id)
	rp := h.Set.Of(slot)
	if owned, changes := rp.Machine.Owns(slot); owned && !watched && rp.MayAnswer(consistency) &&
		m.Generation <= h.Set.Generation(slot) {
		reply, err := h.describeNow(r, rp)
		if _, after := rp.Machine.Owns(slot); after == changes {
			return reply, err
		}
	}
	d := &describe{h: h, m: *m}
	d.m.Name = slices.Clone(m.Name)
	return h.ReadIn(slot, m.Generation, consistency, func(rp *replica.Replica) (handle.Reply, error) {
		d.rp = rp
		return d.run()
	})
}

// describeNow reads in the connection's kept memory.
func (h handlers) describeNow(r *handle.Request, rp *replica.Replica) (handle.Reply, error) {
	d, _ := r.Kept.(*describe)
	if d == nil {
		d = &describe{h: h}
		r.Kept = d
	}
	d.rp, d.m = rp, r.SemaphoreDescribe
	reply, err := d.run()
	if a := &d.answer; a.Owners.Size()+a.Waiters.Size() > keptDescribe {
		r.Kept = nil // one large request must not pin the memory as long as the connection lives
	}
	return reply, err
}

// run reads and answers.
func (d *describe) run() (handle.Reply, error) {
	watched := d.m.WatchData || d.m.WatchOwners
	if !watched || d.clients == nil {
		found, elsewhere := d.read(), []shard.SessionID(nil)
		if found && d.clients == nil {
			elsewhere = d.elsewhere()
		}
		switch {
		case elsewhere != nil:
			return d.askElsewhere(elsewhere), nil
		case watched:
		case !found:
			return nil, noSemaphore
		default:
			return d.fill(false), nil
		}
	}
	return handle.Later(d.runWatched), nil
}

var noSemaphore error = &protocol.Result{Status: protocol.StatusNotFound, Message: "no semaphore of this name"}

// elsewhere returns the page's sessions whose home shards are on remote hosts.
func (d *describe) elsewhere() (ids []shard.SessionID) {
	for i := range d.page.Links {
		if id := d.page.Links[i].Session; !d.h.Set.Home(id).Here() {
			ids = append(ids, id)
		}
	}
	return ids
}

// askElsewhere asks remote hosts for the page's sessions with home shards there, and then reads again.
func (d *describe) askElsewhere(ids []shard.SessionID) handle.Reply {
	later := &describe{h: d.h, rp: d.rp, m: d.m}
	later.m.Name = slices.Clone(d.m.Name)
	slot := shard.SlotOf(shard.NodeID(d.m.NodeID), later.m.Name)
	consistency := d.h.Consistency(d.m.Consistency, shard.NodeID(d.m.NodeID))
	return handle.Later(func(t handle.Ticket) {
		d.h.Set.HomeShards.AskShown(ids, func(shown map[shard.SessionID]protocol.Session) {
			later.clients = make(map[shard.SessionID]protocol.Session) // set even if nothing was learned
			maps.Copy(later.clients, shown)
			t.Complete(d.h.ReadHere(later.rp, slot, later.m.Generation, consistency,
				func(rp *replica.Replica) (handle.Reply, error) {
					later.rp = rp
					return later.run()
				}))
		})
	})
}

// clientOf returns a session's client, as reported by a remote host if the session's home shard is there.
func (d *describe) clientOf(id shard.SessionID) protocol.ClientInfo {
	if s, is := d.clients[id]; is {
		return s.Client
	}
	return d.h.ClientOf(id)
}

// runWatched is run with a watch. Reading and answering happen under the lock that also covers change reports, and
// the watch is counted before the read, so a change waits for the lock. No change is missed, and the answer precedes
// the change in the connection's stream.
func (d *describe) runWatched(t handle.Ticket) {
	d.rp.OneShots.With(func() {
		if err := d.watch(t); err != nil {
			t.Append(nil, err)
		} else {
			t.Append(d.fill(true), nil)
		}
	})
	of := shard.ObjectName{Node: shard.NodeID(d.m.NodeID), Name: protocol.Text(d.m.Name)}
	if !t.Conn.May(protocol.KindSemaphoreDescribe, of) {
		d.rp.Withdraw(shard.SessionID(d.m.SessionID), t.Conn) // the right was revoked meanwhile
	}
	t.Conn.Flush(false)
}

// watch reads, and adds the watch if the session may act over the connection. The check is here because a read
// barrier may have taken time, and the watch of a departed session would never be dropped. The replica's lock is
// held.
func (d *describe) watch(t handle.Ticket) error {
	slot := shard.SlotOf(shard.NodeID(d.m.NodeID), d.m.Name)
	owned, changes := d.rp.Machine.Owns(slot)
	found := d.read()
	switch _, after := d.rp.Machine.Owns(slot); {
	case !owned || after != changes:
		return &replica.BetweenShards
	case !found:
		return noSemaphore
	}
	session := shard.SessionID(d.m.SessionID)
	switch counted, acts := t.Conn.WatchOf(session); {
	case !acts && d.h.Set.Liveness(session) == shard.Dead:
		return handle.Refuse(protocol.StatusSessionExpired, "the session is over")
	case !acts:
		return handle.Refuse(protocol.StatusBadSession, "the session is no longer bound to the connection")
	case !counted:
		return handle.TooManyWatches()
	case !d.h.Watches.Take(len(d.m.Name)):
		t.Conn.Ended(t.Request)
		return handle.TooMuchWatched()
	}
	d.rp.OneShots.Add(t.Conn, t.Request, &d.m)
	return nil
}

func (d *describe) read() bool {
	m := &d.m
	of := shard.Ref{Kind: shard.KindSemaphore, Node: shard.NodeID(m.NodeID), Name: protocol.Text(m.Name)}
	return d.rp.Machine.Describe(of, shard.DescribeOptions{
		Owners: m.IncludeOwners, Waiters: m.IncludeWaiters,
		After: shard.OrderID(m.After), Limit: int(min(m.Limit, shard.MaxPage)),
	}, &d.page)
}

// fill builds the answer for the page.
func (d *describe) fill(watched bool) protocol.AnswerMessage {
	a, p := &d.answer, &d.page
	a.Owners.Reset()
	a.Waiters.Reset()
	a.Next, a.WatchAdded = 0, watched
	a.Semaphore = semaphoreInfo(&p.SemaphoreView, d.m.After == 0)
	for i := range p.Links {
		l := &p.Links[i]
		client := d.clientOf(l.Session)
		if l.Owner {
			a.Owners.Append(protocol.Owner{
				OrderID: uint64(l.Order), SessionID: uint64(l.Session), Count: l.Count, Data: protocol.View(l.Data),
				SinceMillis: l.Since, Client: client,
			})
		} else {
			a.Waiters.Append(protocol.Waiter{
				OrderID: uint64(l.Order), SessionID: uint64(l.Session), Count: l.Count,
				Data: protocol.View(l.Data), TimeoutMillis: l.Timeout, SinceMillis: l.Since, Client: client,
			})
		}
		if handle.EndsPage(a.Owners.Size()+a.Waiters.Size(), i, len(p.Links), p.More) {
			a.Next = uint64(l.Order)
			break
		}
	}
	return a
}
