package server

import (
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// sessionBind lets a session act over this connection too.
func (c *conn) sessionBind(r *protocol.Request) {
	id := shard.SessionID(r.SessionBind.SessionID)
	home := c.host.replicaOf(id.Slot())
	request, kind, key := r.ID, r.Kind, slices.Clone(r.SessionBind.Key)
	fail := func(s protocol.Status, message string) {
		c.Fail(request, kind, &protocol.Result{Status: s, Message: message})
		c.flush()
	}
	try := func(sure bool) bool {
		view, known := c.session(home, id)
		switch {
		case known && !c.allowed(kind, view.Node):
			node, _ := c.host.meta.machine.NodeByID(view.Node)
			fail(protocol.StatusUnauthorized, c.lacking(kind, node.Path))
		case known && !c.tryKey(home, id, key, request, kind):
		case known:
			if !home.bindTo(id, &binding{node: view.Node, home: home}, c) ||
				!c.answerBound(id, request, &protocol.SessionBindAnswer{NodeID: uint64(view.Node)}) {
				fail(protocol.StatusSessionExpired, "")
				break
			}
			c.flush()
		case sure || home.machine.Liveness(id) == shard.Dead:
			fail(protocol.StatusSessionExpired, "")
		default:
			return false
		}
		return true
	}
	if try(false) {
		return
	}
	home.fresh.confirm(func(ok, _ bool) {
		if !ok {
			fail(protocol.StatusUnavailable, homeAway)
			return
		}
		try(true)
	})
}

// bindTo lets a session act over a connection that it is not attached over, or only hear of its end where the binding
// is silent. False: it has just ended.
func (r *replica) bindTo(id shard.SessionID, b *binding, c *conn) bool {
	if c.binding(id) != nil {
		return true
	}
	r.mu.Lock()
	if !slices.Contains(r.bound[id], c) {
		r.bound[id] = append(r.bound[id], c)
	}
	r.mu.Unlock()
	bound := c.bind(id, b)
	if r.host.afterBind != nil {
		r.host.afterBind()
	}
	// Whoever ends the session looks at the list after it is gone from the machine. So either the end finds the session
	// bound to this connection, or it is seen here.
	if _, known := r.machine.Session(id); !bound || !known {
		c.unbind(id)
		r.unbound(id, c)
		r.host.dropSession(id, c)
		return false
	}
	c.reviewSession(id, b) // the right may have been taken away meanwhile
	return true
}

// unbound takes a connection off the list of those that a session is bound to.
func (r *replica) unbound(id shard.SessionID, c *conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := slices.DeleteFunc(r.bound[id], func(x *conn) bool { return x == c })
	if len(list) == 0 {
		delete(r.bound, id)
		return
	}
	r.bound[id] = list
}
