package session

import (
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/caller"
	"github.com/signalbox/signalbox/server/handle"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
)

// bind also lets a session act over the request's connection.
func (h handlers) bind(r *handle.Request) (handle.Reply, error) {
	id, key := shard.SessionID(r.SessionBind.SessionID), slices.Clone(r.SessionBind.SessionSecret)
	home, by, from := h.Set.Home(id), r.Caller, r.From()
	return handle.Later(func(t handle.Ticket) {
		home.Lookup.Find(id, key, protocol.ConsistencyStrict, func(s replica.HomeSession) {
			if err := h.mayBind(t, by, from, &s); err != nil {
				t.Fail(err)
			} else if !h.Set.Sessions.Bind(id, s.Node, false, t.Conn) ||
				!t.Conn.AnswerBound(id, t.Ticket, &protocol.SessionBindAnswer{NodeID: uint64(s.Node)}) {
				t.Fail(over)
			} else {
				t.Conn.Flush(false)
			}
		})
	}), nil
}

// mayBind refuses to bind a session unless the session is alive and the client may bind it. For a hidden session, the
// answer is the same as for an ended session.
func (h handlers) mayBind(t handle.Ticket, by *caller.Caller, from string, s *replica.HomeSession) error {
	switch {
	case s.Liveness == shard.Unknown:
		return &handle.HomeAway
	case s.Liveness == shard.Dead || !by.Sees(s.Node):
		return over
	case !by.Unbound() && h.Unfilled(s.Node):
		return handle.Refuse(protocol.StatusUnavailable, handle.MetaUnfilled.Message)
	case !by.PermitsIn(t.Kind, s.Node, ""):
		node, _ := h.Meta.Machine.NodeByID(s.Node)
		return by.Unauthorized(from, t.Kind, node.Path, "")
	}
	return h.checkKey(t.Conn, func() bool { return s.Key })
}
