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

// Rights are what one token allows, under which paths.
type Rights interface {
	// Allows reports whether one of the rights that are needed holds for an object in the node of that path. Without an
	// object it asks for the node as a whole, without a path whether the right holds for any node.
	Allows(path, object string, need protocol.Right) bool
	// Valid reports whether the token is still good: it may have been withdrawn.
	Valid() bool
	// Version is another one whenever the rights are: what is open under them is reviewed then.
	Version() uint64
}

// Access is who may do what, by token.
type Access interface {
	// Authenticate returns what a token allows, and who it belongs to; ok is false for an unknown one.
	Authenticate(token []byte) (rights Rights, name string, ok bool)
}

// permits reports whether the client may do something with an object in the node of a path; without an object it asks
// for the node as a whole, without a path for any node. A kind that needs no right of a node is refused.
func (c *conn) permits(k protocol.Kind, path, object string) bool {
	need := k.Right() & protocol.RightAll
	return need != protocol.RightNone && c.rights.Valid() && c.rights.Allows(path, object, need)
}

// lacking says what a client lacks that may not do something, by the name of its token, never by the token itself; and
// has the refusal remembered.
func (c *conn) lacking(k protocol.Kind, path, object string) string {
	return c.lackingFrom(c.from(), k, path, object)
}

// lackingFrom is lacking for a request that is not being dispatched any more, and came from an address.
func (c *conn) lackingFrom(from string, k protocol.Kind, path, object string) string {
	c.deniedFrom(from, k, path, object)
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

// who names the client: by its token or certificate, anonymous without one.
func (c *conn) who() string {
	if k, is := c.rights.(*kept); is {
		return k.who[0].String()
	}
	return c.name
}

// authorize reports whether the client may do this with the object in the node of that path, and answers where it may
// not.
func (c *conn) authorize(r *protocol.Request, path, object string) bool {
	if c.permits(r.Kind, path, object) {
		return true
	}
	c.failure(r, protocol.StatusUnauthorized, c.lacking(r.Kind, path, object))
	return false
}

// authorizeIn is authorize for a node that is named by its id. The object is empty for what is about the node as a
// whole.
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
		return c.authorize(r, "", "") // it may do so in no node at all
	case !ok || !c.permits(protocol.KindNodeDescribe, node.Path, ""):
		if ok || !c.host.unfilled(id) {
			c.denied(r.Kind, node.Path, name)
		}
		c.refuseNode(r, id)
		return false
	}
	return c.authorize(r, node.Path, name)
}

// refuseNode answers a request in a node that is not there, or that the client may not know of: both take a barrier,
// and are answered alike. A node that has come meanwhile, and is not hidden from the client, is to be asked for again.
func (c *conn) refuseNode(r *protocol.Request, id shard.NodeID) {
	request, kind := r.ID, r.Kind
	c.host.meta.Confirm(func(sure bool) {
		result := protocol.Result{Status: protocol.StatusNotFound, Message: replica.NoSuchNode}
		switch _, known := c.host.meta.Machine.NodeByID(id); {
		case !sure:
			result = protocol.Result{Status: protocol.StatusUnavailable, Message: metaAway}
		case known && c.sees(id):
			result = metaUnfilled
		}
		c.Fail(request, kind, &result)
		c.flush()
	})
}

// unfilled reports whether this host's copy of the meta shard may not have the node yet: it has just got a replica, and
// leads a data shard already.
func (h *Host) unfilled(id shard.NodeID) bool { return h.meta.Machine.NodeAlive(id) == meta.NodeLater }

// metaUnfilled is answered where a node is not known, and may be there.
var metaUnfilled = protocol.Result{
	Status: protocol.StatusUnavailable, Message: "this host's copy of the meta shard is being filled",
	WaitMillis: uint64(replica.OverloadWait.Milliseconds()),
}

// permitsIn is permits for a node that is named by its id. One that is not known here is like any node: what asks for
// something there is answered UNAVAILABLE before, and what is open is not ended for a copy that is being filled.
func (c *conn) permitsIn(k protocol.Kind, id shard.NodeID, object string) bool {
	if c.unbound() {
		return true
	}
	n, _ := c.host.meta.Machine.NodeByID(id)
	return c.permits(k, n.Path, object)
}

// sees reports whether the client may know that the node is there. What it may not know of it is answered as what is
// not there.
func (c *conn) sees(id shard.NodeID) bool {
	return c.permitsIn(protocol.KindNodeDescribe, id, "")
}

// seesObject reports whether the client may know that the object is there.
func (c *conn) seesObject(id shard.NodeID, name string) bool {
	return c.permitsIn(protocol.KindSemaphoreDescribe, id, name)
}

// seesSession reports whether the client may know what a session is for. One that may see only objects of some names
// sees so much of the sessions that have to do with such objects, as far as this host knows, and of those attached by
// its own token.
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

// session returns what the machine of a shard knows of a session, where the client may know of it.
func (c *conn) session(rp *replica.Replica, id shard.SessionID) (view shard.SessionView, known bool) {
	view, known = rp.Machine.Session(id)
	return view, known && c.sees(view.Node)
}

// review ends what is open over the connection and not allowed any more: watches, and sessions with all that is pushed
// for them. The sessions are detached; their time runs. Of a session that stays some of what it has open may end.
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

// Review detaches a session from the connection that may not act in its node any more.
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
