package server

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine"
)

// shardToList returns the data shard of a list request, and answers for an unknown shard.
func (c *conn) shardToList(r *protocol.Request, id uint64) *replica.Replica {
	if replicas := c.host.replicas; id != 0 && id <= uint64(len(replicas)) {
		return replicas[id-1]
	}
	c.failure(r, protocol.StatusNotFound, "no data shard of this id")
	return nil
}

// endsPage says whether a page of a list, with so many bytes of items by now, ends with item i of the n that were
// read: if the page is full, or if further items follow the last item read.
func endsPage(bytes, i, n int, more bool) bool {
	if i == n-1 {
		return more
	}
	return bytes >= protocol.PageBytes
}

func (c *conn) semaphoreList(r *protocol.Request) {
	m, name := r.SemaphoreList, func(v *shard.SemaphoreView) string { return v.Name }
	list(c, r, shard.KindSemaphore, &protocol.ListRequest{NodeID: m.NodeID, ShardID: m.ShardID, Prefix: m.Prefix,
		After: m.After, Limit: m.Limit, Consistency: m.Consistency}, (*machine.Machine).ListSemaphores, name,
		func(*replica.Replica) listPage[shard.SemaphoreView] {
			a := &protocol.SemaphoreListAnswer{}
			add := func(v shard.SemaphoreView) { a.Semaphores.Append(semaphoreInfo(&v, m.IncludeData)) }
			return listPage[shard.SemaphoreView]{a, &a.Next, add, a.Semaphores.Size}
		})
}

// semaphoreInfo returns a semaphore as clients see it. The texts are shared with the view.
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

func (c *conn) sessionDescribe(r *protocol.Request) {
	id := shard.SessionID(r.SessionDescribe.SessionID)
	rp := c.host.set.Of(id.Slot())
	request, kind, consistency := r.ID, r.Kind, protocol.ConsistencyUnset
	if rp.Machine.Liveness(id) == shard.Unknown {
		consistency = protocol.ConsistencyStrict // a session that this copy is yet to see is not over
	}
	c.read(r, rp, consistency, func() {
		view, known := rp.Machine.DescribeSession(id)
		if !known || !c.sees(view.Node) {
			c.Fail(request, kind, &protocol.Result{Status: protocol.StatusSessionExpired})
			return
		}
		info := c.host.sessionInfo(rp, &view)
		if !c.seesSession(rp, &view) {
			info.Description, info.Client = nil, protocol.ClientInfo{}
		}
		c.host.set.AskParts([]shard.SessionID{id}, func(parts map[shard.SessionID]protocol.Session) {
			addParts(&info, parts)
			c.Answer(request, &protocol.SessionDescribeAnswer{Session: info})
			c.flush()
		})
	})
}

func (c *conn) sessionList(r *protocol.Request) {
	m := r.SessionList
	id := shard.NodeID(m.NodeID)
	if !c.authorizeIn(r, id, nil) {
		return
	}
	rp := c.shardToList(r, m.ShardID)
	if rp == nil {
		return
	}
	request := r.ID
	c.read(r, rp, c.host.consistency(0, id), func() {
		page, last, more := rp.Machine.ListSessions(id, shard.SessionID(m.After), itemLimit(m.Limit), nil)
		ids := make([]shard.SessionID, len(page))
		for i := range page {
			ids[i] = page[i].ID
		}
		c.host.set.AskParts(ids, func(parts map[shard.SessionID]protocol.Session) {
			var a protocol.SessionListAnswer
			for i := range page {
				if c.seesSession(rp, &page[i]) {
					info := c.host.sessionInfo(rp, &page[i])
					addParts(&info, parts)
					a.Sessions.Append(info)
				}
				if a.Sessions.Size() >= protocol.PageBytes && i < len(page)-1 {
					last, more = page[i].ID, true
					break
				}
			}
			if more {
				a.Next = uint64(last)
			}
			c.Answer(request, &a)
			c.flush()
		})
	})
}

// sessionInfo returns the joint knowledge of this host's shards about a session.
func (h *Host) sessionInfo(home *replica.Replica, v *shard.SessionView) protocol.Session {
	s := protocol.Session{
		ID: uint64(v.ID), NodeID: uint64(v.Node), TimeoutMillis: v.Timeout, Description: []byte(v.Description),
		SinceMillis: v.Created,
	}
	s.Client, s.Attached = clientAt(home, v)
	for _, r := range h.replicas {
		h.addHoldings(&s, r)
	}
	return s
}

// addHoldings adds what a session holds in a shard, as this host's copy knows.
func (h *Host) addHoldings(s *protocol.Session, r *replica.Replica) {
	if here, known := r.Machine.Session(shard.SessionID(s.ID)); known {
		s.Owned += uint64(here.Owns)
		s.Waiting += uint64(here.Waits)
	}
}

// addParts adds what a session holds at other hosts.
func addParts(s *protocol.Session, parts map[shard.SessionID]protocol.Session) {
	there := parts[shard.SessionID(s.ID)]
	s.Owned += there.Owned
	s.Waiting += there.Waiting
}

// sessionHoldings answers with the holdings of a session. The session's own client sees every holding, whatever its
// rights: the client takes a lease that is not listed for lost.
func (c *conn) sessionHoldings(r *protocol.Request) {
	m := r.SessionHoldings
	rp := c.shardToList(r, m.ShardID)
	if rp == nil {
		return
	}
	id, request := shard.SessionID(m.SessionID), r.ID
	own := c.Acts(id)
	c.read(r, rp, m.Consistency, func() {
		var a protocol.SessionHoldingsAnswer
		view, known := rp.Machine.Session(id)
		if !known || !own && !c.sees(view.Node) {
			c.Answer(request, &a)
			return
		}
		page, more := rp.Machine.ListHoldings(id, shard.OrderID(m.After), itemLimit(m.Limit), nil)
		for i := range page {
			x := &page[i]
			h := protocol.Holding{
				Name: []byte(x.Name), OrderID: uint64(x.Order), Count: x.Count, Waiting: !x.Owner, SinceMillis: x.Since,
				ObjectKind: protocol.ObjectKind(x.Kind),
			}
			if x.Kind != shard.KindSemaphore { // for semaphores the other fields suffice
				h.Role = []byte(x.Role)
			}
			if own || c.seesObject(view.Node, x.Name) {
				a.Holdings.Append(h)
			}
			if endsPage(a.Holdings.Size(), i, len(page), more) {
				a.Next = uint64(x.Order)
				break
			}
		}
		c.Answer(request, &a)
	})
}

func (c *conn) hostStatus(r *protocol.Request) {
	h := c.host
	now := h.config.Clock()
	a := protocol.HostStatusAnswer{
		HostID: uint64(h.config.ID), HostName: []byte(h.config.Name), Version: []byte(h.config.Version),
		UptimeMillis: uint64(now.Sub(h.set.Started).Milliseconds()), Connections: uint64(h.connections()), Fresh: true,
	}
	at := h.Level()
	a.Level = protocol.FeatureLevel{
		Cluster: uint64(at.Cluster), Newest: uint64(at.Newest), HeldBy: []byte(clip(at.Holders())),
	}
	if err := h.refusal(); err != nil {
		a.Refusal = []byte(clip(err.Error()))
	}
	l := h.meta.Leader()
	a.Meta = protocol.ShardStatus{
		ID: replica.MetaShard, LeaderHostID: uint64(l.Leader), Term: l.Term, AppliedIndex: h.meta.AppliedIndex(),
	}
	for _, rp := range h.replicas {
		if rp.Holds() && rp.Doubtful(now) {
			a.Fresh = false
		}
		a.Sessions += uint64(rp.Leases.Counts().Attached)
		count, l := rp.Machine.Count(), rp.Known()
		a.Shards.Append(protocol.ShardStatus{
			ID: rp.ID, LeaderHostID: uint64(l.Leader), Term: l.Term, AppliedIndex: rp.AppliedIndex(),
			Sessions: uint64(count.Sessions), Semaphores: uint64(count.OfKind[shard.KindSemaphore]),
			Waiters: uint64(count.Waiters), Rollouts: uint64(count.OfKind[shard.KindRollout]),
			Processes: uint64(count.OfKind[shard.KindProcess]),
		})
	}
	c.Answer(r.ID, &a)
}
