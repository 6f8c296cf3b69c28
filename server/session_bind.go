package server

import (
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// sessionBind lets a session act over this connection too.
func (c *conn) sessionBind(r *protocol.Request) {
	id := shard.SessionID(r.SessionBind.SessionID)
	home := c.host.set.Of(id.Slot())
	request, kind, key, from := r.ID, r.Kind, slices.Clone(r.SessionBind.Key), c.from()
	fail := func(s protocol.Status, message string) {
		c.Fail(request, kind, &protocol.Result{Status: s, Message: message})
		c.flush()
	}
	try := func(sure bool) bool {
		view, known := c.session(home, id)
		switch {
		case known && !c.unbound() && c.host.unfilled(view.Node):
			fail(protocol.StatusUnavailable, metaUnfilled.Message)
		case known && !c.permitsIn(kind, view.Node, ""):
			node, _ := c.host.meta.Machine.NodeByID(view.Node)
			fail(protocol.StatusUnauthorized, c.lackingFrom(from, kind, node.Path, ""))
		case known && !c.tryKey(home, id, key, request, kind):
		case known:
			if !home.Bind(id, view.Node, false, c) ||
				!c.AnswerBound(id, request, &protocol.SessionBindAnswer{NodeID: uint64(view.Node)}) {
				fail(protocol.StatusSessionExpired, "")
				break
			}
			c.flush()
		case sure || home.Machine.Liveness(id) == shard.Dead:
			fail(protocol.StatusSessionExpired, "")
		default:
			return false
		}
		return true
	}
	if try(false) {
		return
	}
	home.Confirm(func(ok, _ bool) {
		if !ok {
			fail(protocol.StatusUnavailable, homeAway)
			return
		}
		try(true)
	})
}
