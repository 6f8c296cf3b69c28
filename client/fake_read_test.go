package client_test

import (
	"bytes"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/session"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/semaphore"
)

// readShard serves reads, at any host.
func (c *fakeConn) readShard(r *protocol.Request) {
	f := c.host.cluster
	page := f.pageSize
	switch r.Kind {
	case protocol.KindSemaphoreDescribe:
		m := &r.SemaphoreDescribe
		f.shardOf(shard.SlotOf(shard.NodeID(m.NodeID), m.Name)).describe(c, r, m, page)
	case protocol.KindSemaphoreList:
		m := &r.SemaphoreList
		list, _, more := semaphore.List(f.listed(m.ShardID, &m.ListSlots).machine, shard.NodeID(m.NodeID),
			string(m.Prefix), string(m.After), page, nil)
		var a protocol.SemaphoreListAnswer
		for _, v := range list {
			item := protocol.Semaphore{Name: []byte(v.Name), Limit: v.Limit, Count: v.Count,
				Revision: uint64(v.Revision), Owners: uint64(v.Owners), Ephemeral: v.Ephemeral}
			if m.IncludeData {
				item.Data = []byte(v.Data)
			}
			a.Semaphores.Append(item)
			if more {
				a.Next = []byte(v.Name)
			}
		}
		c.answer(r.ID, &a)
	case protocol.KindSessionDescribe:
		id := r.SessionDescribe.SessionID
		v, known := f.home(id).machine.DescribeSession(shard.SessionID(id))
		if !known {
			c.refuse(r, protocol.StatusSessionExpired)
			return
		}
		c.answer(r.ID, &protocol.SessionDescribeAnswer{Session: f.wireSession(&v)})
	case protocol.KindSessionList:
		m := &r.SessionList
		s := f.listed(m.ShardID, &m.ListSlots)
		if f.hosts[s.leader] != c.host {
			c.fail(r.ID, r.Kind, f.leaderResult(s))
			return
		}
		list, last, more := s.machine.ListSessions(shard.NodeID(m.NodeID), shard.SessionID(m.After), page, nil)
		var a protocol.SessionListAnswer
		for i := range list {
			a.Sessions.Append(f.wireSession(&list[i]))
		}
		if more {
			a.Next = uint64(last)
		}
		c.answer(r.ID, &a)
	case protocol.KindSessionHoldings:
		m := &r.SessionHoldings
		list, more := f.listed(m.ShardID, &m.ListSlots).machine.ListHoldings(shard.SessionID(m.SessionID),
			shard.OrderID(m.After), page, nil)
		var a protocol.SessionHoldingsAnswer
		for _, h := range list {
			a.Holdings.Append(protocol.Holding{Name: []byte(h.Name), OrderID: uint64(h.Order), Count: h.Count,
				Waiting: !h.Owner})
			if more {
				a.Next = uint64(h.Order)
			}
		}
		c.answer(r.ID, &a)
	}
}

// listed returns the shard of a list: that with the first slot, if the request names slots.
func (f *fakeCluster) listed(id uint64, of *protocol.ListSlots) *fakeShard {
	for r := range of.Slots.All() {
		return f.shardOf(shard.Slot(r.First))
	}
	return f.shards[id-1]
}

func (f *fakeCluster) wireSession(v *shard.SessionView) protocol.Session {
	x := f.sessions[uint64(v.ID)]
	return protocol.Session{
		ID: uint64(v.ID), NodeID: uint64(v.Node), TimeoutMillis: v.Timeout,
		Details:  kind.Details{Description: v.Details},
		Attached: x != nil && x.conn != nil, Owned: uint64(v.Owns), Waiting: uint64(v.Waits),
	}
}

func (s *fakeShard) describe(c *fakeConn, r *protocol.Request, m *protocol.SemaphoreDescribe, page int) {
	watch := m.WatchData || m.WatchOwners
	if _, ok := c.sessions[m.SessionID]; watch && !ok {
		c.refuse(r, protocol.StatusBadSession)
		return
	}
	var d shard.Description
	of := shard.Ref{Kind: shard.KindSemaphore, Node: shard.NodeID(m.NodeID), Name: string(m.Name)}
	if !s.machine.Describe(of, shard.DescribeOptions{
		Owners: m.IncludeOwners, Waiters: m.IncludeWaiters, After: shard.OrderID(m.After), Limit: page,
	}, &d) {
		c.refuse(r, protocol.StatusNotFound)
		return
	}
	if watch {
		old, was := s.notices.Add(shard.SessionID(m.SessionID), shard.NodeID(m.NodeID), string(m.Name), m.WatchData,
			m.WatchOwners, fakeRef{c, r.ID})
		if was {
			old.conn.push(old.request, &protocol.WatchChanged{})
		}
	}
	a := &protocol.SemaphoreDescribeAnswer{WatchAdded: watch, Semaphore: protocol.Semaphore{
		Name: m.Name, Limit: d.Limit, Count: d.Count, Ephemeral: d.Ephemeral, Revision: uint64(d.Revision),
		Owners: uint64(d.Owners), Waiters: uint64(d.Waiters),
	}}
	if m.After == 0 {
		a.Semaphore.Data = []byte(d.Data)
	}
	for _, l := range d.Links {
		if l.Owner {
			a.Owners.Append(wireOwner(&l))
		} else {
			a.Waiters.Append(protocol.Waiter{OrderID: uint64(l.Order), SessionID: uint64(l.Session), Count: l.Count,
				Data: []byte(l.Data), TimeoutMillis: l.Timeout})
		}
		if d.More {
			a.Next = uint64(l.Order)
		}
	}
	c.answer(r.ID, a)
}

func wireOwner(l *shard.LinkView) protocol.Owner {
	return protocol.Owner{OrderID: uint64(l.Order), SessionID: uint64(l.Session), Count: l.Count, Data: []byte(l.Data)}
}

// fakeWatch is a streaming watch.
type fakeWatch struct {
	conn         *fakeConn
	request      uint64
	node         uint64
	name         []byte
	owners, data bool
	since        shard.Revision
	exists       bool
}

func (s *fakeShard) watch(c *fakeConn, request uint64, m *protocol.Watch) {
	if _, ok := s.cluster.ids[m.NodeID]; !ok {
		c.fail(request, protocol.KindWatch, &protocol.Result{Status: protocol.StatusNotFound})
		return
	}
	c.answer(request, &protocol.WatchAnswer{})
	w := &fakeWatch{
		conn: c, request: request, node: m.NodeID, name: slices.Clone(m.Name), owners: m.Owners, data: m.Data,
		since: shard.Revision(m.Since),
	}
	s.watches = append(s.watches, w)
	if w.since == 0 {
		s.snapshot(w)
		return
	}
	s.follow(w, protocol.ExistenceSame)
}

func (s *fakeShard) dropWatch(c *fakeConn, request uint64) {
	s.watches = slices.DeleteFunc(s.watches, func(w *fakeWatch) bool { return w.conn == c && w.request == request })
}

func (s *fakeShard) endWatches(node uint64) {
	s.watches = slices.DeleteFunc(s.watches, func(w *fakeWatch) bool {
		if w.node == node {
			w.conn.push(w.request, &protocol.WatchEnd{Result: protocol.Result{Status: protocol.StatusNotFound}})
		}
		return w.node == node
	})
}

func (w *fakeWatch) ref() shard.Ref {
	return shard.Ref{Kind: shard.KindSemaphore, Node: shard.NodeID(w.node), Name: string(w.name)}
}

// snapshot sends the whole state, in pages.
func (s *fakeShard) snapshot(w *fakeWatch) {
	p := &protocol.WatchSnapshot{First: true}
	after := shard.OrderID(0)
	for {
		var d shard.Description
		p.Exists = s.machine.Describe(w.ref(),
			shard.DescribeOptions{Owners: true, After: after, Limit: s.cluster.pageSize}, &d)
		w.exists, p.Last = p.Exists, !d.More
		if !p.Exists {
			var delta shard.Delta
			s.machine.Changes(w.ref(), 0, &delta)
			d.Revision = delta.To
		}
		p.Revision, p.Ephemeral, p.Limit = uint64(d.Revision), d.Ephemeral, d.Limit
		if w.data && p.First {
			p.Data = []byte(d.Data)
		}
		for i := range d.Links {
			if w.owners {
				p.Owners.Append(wireOwner(&d.Links[i]))
			}
			after = d.Links[i].Order
		}
		w.conn.push(w.request, p)
		w.since = d.Revision
		if p.Last {
			return
		}
		p = &protocol.WatchSnapshot{}
	}
}

// changed notifies a semaphore's watches.
func (s *fakeShard) changed(e *shard.Effect) {
	for _, w := range s.watches {
		if w.node != uint64(e.Node) || !bytes.Equal(w.name, []byte(e.Name)) {
			continue
		}
		switch {
		case e.Flags&shard.FlagDeleted != 0:
			s.follow(w, protocol.ExistenceDeleted)
		case e.Flags&shard.FlagCreated != 0:
			s.follow(w, protocol.ExistenceCreated)
		default:
			s.follow(w, protocol.ExistenceSame)
		}
	}
}

// follow brings a watch to the present.
func (s *fakeShard) follow(w *fakeWatch, x protocol.Existence) {
	var d shard.Delta
	p := &protocol.WatchDelta{From: uint64(w.since), Existence: x}
	switch kind := s.machine.Changes(w.ref(), w.since, &d); {
	case kind == shard.DeltaAbsent:
		p.Existence = protocol.ExistenceDeleted
	case kind == shard.DeltaNone:
		return
	case kind == shard.DeltaSnapshot || x == protocol.ExistenceCreated:
		s.snapshot(w)
		return
	case kind == shard.DeltaBehind:
		panic("a watch is ahead of its shard")
	default:
		p.Limit = d.Limit
		if d.DataChanged && w.data {
			p.DataChanged, p.Data = true, []byte(d.Data)
		}
		for i := range d.Joined {
			if w.owners {
				p.Joined.Append(wireOwner(&d.Joined[i]))
			}
		}
		for _, order := range d.Gone {
			p.Gone.Append(protocol.OrderID(order))
		}
	}
	p.To = uint64(d.To)
	w.since = d.To
	w.conn.push(w.request, p)
}
