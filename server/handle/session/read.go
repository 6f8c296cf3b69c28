package session

import (
	"slices"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/session"
	"github.com/signalbox/signalbox/server/caller"
	"github.com/signalbox/signalbox/server/handle"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/access"
)

func (h handlers) describe(r *handle.Request) (handle.Reply, error) {
	id, by := shard.SessionID(r.SessionDescribe.SessionID), r.Caller
	rp := h.Set.Home(id)
	consistency := protocol.ConsistencyUnset
	if rp.Machine.Liveness(id) == shard.Unknown {
		consistency = protocol.ConsistencyStrict // a session the replica has not applied yet is not over
	}
	return h.ReadIn(id.Slot(), 0, consistency, func(rp *replica.Replica) (handle.Reply, error) {
		view, known := rp.Machine.DescribeSession(id)
		if !known || !by.Sees(view.Node) {
			return nil, over
		}
		info := h.info(rp, &view)
		if !h.sees(by, rp, &view) {
			info.Details, info.Client = kind.Details{}, protocol.ClientInfo{}
		}
		return handle.Later(func(t handle.Ticket) {
			h.Set.HomeShards.AskParts([]shard.SessionID{id}, func(parts map[shard.SessionID]protocol.Session) {
				addParts(&info, parts)
				t.Done(&protocol.SessionDescribeAnswer{Session: info}, nil)
			})
		}), nil
	})
}

func (h handlers) list(r *handle.Request) (handle.Reply, error) {
	m, by := r.SessionList, r.Caller
	id := shard.NodeID(m.NodeID)
	if err := h.AuthorizeIn(r, id, nil); err != nil {
		return nil, err
	}
	after, limit := shard.SessionID(m.After), handle.ItemLimit(m.Limit)
	return h.ReadPage(m.ShardID, &m.ListSlots, h.Consistency(0, id), func(p *handle.Page) (handle.Reply, error) {
		page, last, more := p.Machine.ListSessions(id, after, limit, nil)
		page = slices.DeleteFunc(page, func(v shard.SessionView) bool { return !p.Has(v.ID.Slot()) })
		ids := make([]shard.SessionID, len(page))
		for i := range page {
			ids[i] = page[i].ID
		}
		return handle.Later(func(t handle.Ticket) {
			h.Set.HomeShards.AskParts(ids, func(parts map[shard.SessionID]protocol.Session) {
				a := &protocol.SessionListAnswer{Missing: p.Missing}
				for i := range page {
					if h.sees(by, p.Replica, &page[i]) {
						info := h.info(p.Replica, &page[i])
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
				t.Done(a, nil)
			})
		}), nil
	})
}

// sees reports whether the client may see a session's purpose. A client whose rights are limited to some object names
// sees two kinds of sessions in full: sessions that hold or wait for such an object, as far as the host knows, and
// sessions attached by the client's own token.
func (h handlers) sees(by *caller.Caller, home *replica.Replica, v *shard.SessionView) bool {
	node, _ := h.Meta.Machine.NodeByID(v.Node)
	if set, known := by.Set(); !known || set.Covers(access.Rule{Path: node.Path, Rights: protocol.RightRead}) {
		return true
	}
	if c := handle.CallerOf(home.Leases.Holder(v.ID)); c != nil && c.Name != "" && c.Name == by.Name {
		return true
	}
	for _, rp := range h.Set.All() {
		var after shard.OrderID
		for more := true; more; {
			var page []shard.Holding
			page, more = rp.Machine.ListHoldings(v.ID, after, shard.MaxPage, nil)
			for i := range page {
				if by.SeesObject(v.Node, page[i].Name) {
					return true
				}
				after = page[i].Order
			}
		}
	}
	return false
}

// info returns everything the host's shards know about a session.
func (h handlers) info(home *replica.Replica, v *shard.SessionView) protocol.Session {
	s := protocol.Session{
		ID: uint64(v.ID), NodeID: uint64(v.Node), TimeoutMillis: v.Timeout, Details: Details(v),
		SinceMillis: v.Created,
	}
	s.Client, s.Attached = handle.ClientAt(home, v)
	for _, r := range h.Set.All() {
		addHoldings(&s, r)
	}
	return s
}

// addHoldings adds a session's holdings in a shard, from the local replica.
func addHoldings(s *protocol.Session, r *replica.Replica) {
	if here, known := r.Machine.Session(shard.SessionID(s.ID)); known {
		s.Owned += uint64(here.Owns)
		s.Waiting += uint64(here.Waits)
	}
}

// Show describes a session for a remote host: its home shard record, if the local host has a replica of the home
// shard, and its holdings in the listed shards only.
func Show(h *handle.Host, id shard.SessionID, parts []uint64) protocol.Session {
	s := protocol.Session{ID: uint64(id)}
	if home := h.Set.Home(id); len(parts) == 0 && home.Here() {
		if v, known := home.Machine.DescribeSession(id); known {
			s.Details = Details(&v)
			s.Client, s.Attached = handle.ClientAt(home, &v)
		}
	}
	for _, r := range h.Set.All() {
		if slices.Contains(parts, r.ID) {
			addHoldings(&s, r)
		}
	}
	return s
}

// addParts adds the sessions' holdings on remote hosts.
func addParts(s *protocol.Session, parts map[shard.SessionID]protocol.Session) {
	there := parts[shard.SessionID(s.ID)]
	s.Owned += there.Owned
	s.Waiting += there.Waiting
}

// holdings answers with a session's holdings. The session's own client sees every holding, regardless of rights: the
// client considers an unlisted lease lost.
func (h handlers) holdings(r *handle.Request) (handle.Reply, error) {
	m, by := r.SessionHoldings, r.Caller
	id, after, limit := shard.SessionID(m.SessionID), shard.OrderID(m.After), handle.ItemLimit(m.Limit)
	own := r.Conn.Acts(id)
	return h.ReadPage(m.ShardID, &m.ListSlots, m.Consistency, func(p *handle.Page) (handle.Reply, error) {
		a := &protocol.SessionHoldingsAnswer{Missing: p.Missing}
		view, known := p.Machine.Session(id)
		if !known || !own && !by.Sees(view.Node) {
			return a, nil
		}
		page, more := p.Machine.ListHoldings(id, after, limit, nil)
		for i := range page {
			x := &page[i]
			shown := protocol.Holding{
				Name: []byte(x.Name), OrderID: uint64(x.Order), Count: x.Count, Waiting: !x.Owner, SinceMillis: x.Since,
				ObjectKind: protocol.ObjectKind(x.Kind),
			}
			if x.Kind != shard.KindSemaphore { // for semaphores the other fields suffice
				shown.Role = []byte(x.Role)
			}
			if p.Has(shard.SlotOf(view.Node, protocol.View(x.Name))) && (own || by.SeesObject(view.Node, x.Name)) {
				a.Holdings.Append(shown)
			}
			if handle.EndsPage(a.Holdings.Size(), i, len(page), more) {
				a.Next = uint64(x.Order)
				break
			}
		}
		return a, nil
	})
}
