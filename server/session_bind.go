package server

import (
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
)

// sessionBind lets a session act over this connection too.
func (c *conn) sessionBind(r *protocol.Request) {
	id := shard.SessionID(r.SessionBind.SessionID)
	b := &bind{c: c, home: c.host.set.Of(id.Slot()), id: id, request: r.ID, from: c.from()}
	b.home.Find(id, slices.Clone(r.SessionBind.Key), protocol.ConsistencyStrict, func(s replica.HomeSession) {
		switch s.Liveness {
		case shard.Alive:
			b.found(s.Node, s.Key)
		case shard.Dead:
			b.fail(protocol.StatusSessionExpired, "")
		default:
			b.fail(protocol.StatusUnavailable, homeAway)
		}
	})
}

// bind is a SESSION_BIND under way.
type bind struct {
	c       *conn
	home    *replica.Replica
	id      shard.SessionID
	request uint64
	from    string
}

func (b *bind) fail(s protocol.Status, message string) {
	b.c.Fail(b.request, protocol.KindSessionBind, &protocol.Result{Status: s, Message: message})
	b.c.flush()
}

// found binds a session of a node; key says that the request has the session's key.
func (b *bind) found(n shard.NodeID, key bool) {
	c, k := b.c, protocol.KindSessionBind
	switch {
	case !c.sees(n):
		b.fail(protocol.StatusSessionExpired, "") // a hidden session is answered like an ended session
	case !c.unbound() && c.host.unfilled(n):
		b.fail(protocol.StatusUnavailable, metaUnfilled.Message)
	case !c.permitsIn(k, n, ""):
		node, _ := c.host.meta.Machine.NodeByID(n)
		b.fail(protocol.StatusUnauthorized, c.lacking(b.from, k, node.Path, ""))
	case !c.tried(func() bool { return key }, b.request, k):
	case !b.home.Bind(b.id, n, false, c) ||
		!c.AnswerBound(b.id, b.request, &protocol.SessionBindAnswer{NodeID: uint64(n)}):
		b.fail(protocol.StatusSessionExpired, "")
	default:
		c.flush()
	}
}
