package server

import (
	"fmt"
	"maps"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
	"github.com/signalbox/signalbox/shard/rights"
)

// Rights are the permissions of one token, by path.
type Rights interface {
	// Allows reports whether one of the needed rights holds for an object in the node of the path. Without an object
	// Allows asks for the node as a whole, without a path for at least one node.
	Allows(path, object string, need protocol.Right) bool
	// Valid reports whether the token is still good: the token may have been withdrawn.
	Valid() bool
	// Version changes with every change of the rights: then everything open under them is reviewed.
	Version() uint64
}

// Access finds the rights of a client by its token.
type Access interface {
	// Authenticate returns the rights of a token, and the name of its owner; ok is false for an unknown token.
	Authenticate(token []byte) (rights Rights, name string, ok bool)
}

// permits reports whether the client may send requests of a kind about an object in the node of a path; without an
// object about the node as a whole, without a path about at least one node. A kind without a right of nodes is
// refused.
func (c *conn) permits(k protocol.Kind, path, object string) bool {
	need := k.Right() & protocol.RightAll
	return need != protocol.RightNone && c.rights.Valid() && c.rights.Allows(path, object, need)
}

// lacking says for people which right the client of a request from an address lacks. It names the client by the name of
// the token, never by the token itself, and notes the refusal.
func (c *conn) lacking(from string, k protocol.Kind, path, object string) string {
	c.denied(from, k, path, object)
	need, who := k.Right()&protocol.RightAll, "a client without a token"
	if c.name != "" {
		who = fmt.Sprintf("the token of %q", c.name)
	}
	switch {
	case need == protocol.RightNone:
		return clip(fmt.Sprintf("no right allows %v", k))
	case !c.rights.Valid():
		return clip(fmt.Sprintf("%s is not good any more", who))
	case path == "" || !c.rights.Allows("", "", need):
		return clip(fmt.Sprintf("%s does not have the right %v, which %v needs", who, need, k))
	case object != "":
		return clip(fmt.Sprintf("%s has the right %v, which %v needs, but not for %q in %s", who, need, k, object,
			path))
	}
	return clip(fmt.Sprintf("%s has the right %v, which %v needs, but not for %s", who, need, k, path))
}

// who names the client: by token or certificate, anonymous without either.
func (c *conn) who() string {
	if k, is := c.rights.(*kept); is {
		return k.who[0].String()
	}
	return c.name
}

// authorize reports whether the client may send the request about the object in the node of the path, and answers the
// request if not.
func (c *conn) authorize(r *protocol.Request, path, object string) bool {
	if c.permits(r.Kind, path, object) {
		return true
	}
	c.failure(r, protocol.StatusUnauthorized, c.lacking(c.from(), r.Kind, path, object))
	return false
}

// authorizeIn is authorize for a node by its id. The object is empty for requests about the node as a whole.
func (c *conn) authorizeIn(r *protocol.Request, id shard.NodeID, object []byte) bool {
	if c.unbound() {
		return true
	}
	node, ok := c.host.meta.Machine.NodeByID(id)
	name := protocol.Text(object)
	switch {
	case ok && c.permits(r.Kind, node.Path, name):
		return true
	case !c.permits(r.Kind, "", ""):
		return c.authorize(r, "", "") // the client may not do so in a single node
	case !ok || !c.permits(protocol.KindNodeDescribe, node.Path, ""):
		if ok || !c.host.unfilled(id) {
			c.denied(c.from(), r.Kind, node.Path, name)
		}
		c.refuseNode(r, id)
		return false
	}
	return c.authorize(r, node.Path, name)
}

// refuseNode answers a request in a node that does not exist, or that must stay hidden from the client: both cases
// take a barrier, and get the same answer. If the node has come meanwhile, and is not hidden, the client is to ask
// again.
func (c *conn) refuseNode(r *protocol.Request, id shard.NodeID) {
	request, kind := r.ID, r.Kind
	c.confirmMeta(r, func() {
		result := protocol.Result{Status: protocol.StatusNotFound, Message: replica.NoSuchNode}
		if _, known := c.host.meta.Machine.NodeByID(id); known && c.sees(id) {
			result = metaUnfilled
		}
		c.Fail(request, kind, &result)
	})
}

// unfilled reports whether this host's copy of the meta shard may not have the node yet: the host has just got a
// replica of the meta shard, and leads a data shard already.
func (h *Host) unfilled(id shard.NodeID) bool { return h.meta.Machine.NodeAlive(id) == meta.NodeLater }

// metaUnfilled is the answer when a node is unknown here, and may exist.
var metaUnfilled = protocol.Result{
	Status: protocol.StatusUnavailable, Message: "this host's copy of the meta shard is being filled",
	WaitMillis: uint64(replica.OverloadWait.Milliseconds()),
}

// permitsIn is permits for a node by its id. A node that is unknown here counts as at least one node: a new request
// in the node has been answered UNAVAILABLE already, and open watches and sessions do not end while a copy is being
// filled.
func (c *conn) permitsIn(k protocol.Kind, id shard.NodeID, object string) bool {
	if c.unbound() {
		return true
	}
	n, _ := c.host.meta.Machine.NodeByID(id)
	return c.permits(k, n.Path, object)
}

// sees reports whether the client may know of the node. A hidden node is answered like a missing node.
func (c *conn) sees(id shard.NodeID) bool {
	return c.permitsIn(protocol.KindNodeDescribe, id, "")
}

// seesObject reports whether the client may know of the object.
func (c *conn) seesObject(id shard.NodeID, name string) bool {
	return c.permitsIn(protocol.KindSemaphoreDescribe, id, name)
}

// seesSession reports whether the client may know the purpose of a session. A client that may see only objects of
// some names sees two kinds of sessions in full: sessions with a part in such an object, as far as this host knows,
// and sessions attached by the client's own token.
func (c *conn) seesSession(home *replica.Replica, v *shard.SessionView) bool {
	node, _ := c.host.meta.Machine.NodeByID(v.Node)
	if set, known := c.set(); !known || set.Covers(rights.Rule{Path: node.Path, Rights: protocol.RightSee}) {
		return true
	}
	if holder := home.Leases.Holder(v.ID); holder != nil {
		if by, is := holder.Owner.(*conn); is && by.name != "" && by.name == c.name {
			return true
		}
	}
	for _, rp := range c.host.replicas {
		var after shard.OrderID
		for more := true; more; {
			var page []shard.Holding
			page, more = rp.Machine.ListHoldings(v.ID, after, shard.MaxPage, nil)
			for i := range page {
				if c.seesObject(v.Node, page[i].Name) {
					return true
				}
				after = page[i].Order
			}
		}
	}
	return false
}

// session returns a session as the machine of a shard knows it, if the client may know of the session.
func (c *conn) session(rp *replica.Replica, id shard.SessionID) (view shard.SessionView, known bool) {
	view, known = rp.Machine.Session(id)
	return view, known && c.sees(view.Node)
}

// review ends everything open over the connection that is no longer allowed: watches, and sessions with all their
// pushes. The sessions are detached; their time runs. A session that stays may lose some of its watches, waits and
// inboxes.
func (c *conn) review() {
	for _, rp := range c.host.replicas {
		rp.Hub.EndUnless(c, c.mayWatch, replica.Withdrawn)
	}
	c.mu.Lock()
	sessions := maps.Clone(c.sessions)
	c.mu.Unlock()
	for id, b := range sessions {
		c.Review(id, b.node, b.home)
		for _, rp := range c.host.replicas {
			rp.Withdraw(id, c)
		}
	}
	c.flush()
}

func (c *conn) mayWatch(of shard.ObjectName) bool { return c.May(protocol.KindWatch, of) }

// May implements replica.Conn.
func (c *conn) May(k protocol.Kind, of shard.ObjectName) bool {
	return c.permitsIn(k, of.Node, of.Name)
}

// Review detaches a session from the connection if the client may act in its node no more.
func (c *conn) Review(id shard.SessionID, node shard.NodeID, home *replica.Replica) {
	if c.permitsIn(protocol.KindSessionBind, node, "") && c.sees(node) {
		return
	}
	attached := home.Leases.Withdraw(id, c.holder)
	home.Detach(id, c, replica.Withdrawn)
	if attached {
		c.holder.Reported(1)
	}
}
