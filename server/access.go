package server

import (
	"fmt"
	"maps"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// Right is what a client may be allowed to do.
type Right uint8

const (
	// RightRead allows to describe, list and watch.
	RightRead Right = 1 << iota
	// RightWrite allows sessions, and to create, update, resize, acquire and release.
	RightWrite
	// RightAdmin allows to create, alter and drop nodes, to delete semaphores, and to end the sessions
	// of others.
	RightAdmin
)

// String returns the role that gives the right.
func (r Right) String() string {
	switch r {
	case RightRead:
		return "read"
	case RightWrite:
		return "write"
	case RightAdmin:
		return "admin"
	}
	return fmt.Sprintf("right %d", uint8(r))
}

// Rights are what one token allows, under which paths.
type Rights interface {
	// Allows tells whether the rights hold for the node of that path; an empty path asks whether they
	// hold for any.
	Allows(path string, need Right) bool
	// Valid tells whether the token is still good: it may have been taken away.
	Valid() bool
	// Version is another one whenever the rights are: what is open under them is looked at again then.
	Version() uint64
}

// Access knows tokens.
type Access interface {
	// Enter returns what a token allows, and who it belongs to; ok is false for an unknown one.
	Enter(token []byte) (rights Rights, name string, ok bool)
}

// everything is what clients may do where there is no Access.
type everything struct{}

func (everything) Allows(string, Right) bool { return true }
func (everything) Valid() bool               { return true }
func (everything) Version() uint64           { return 0 }

// rightOf is the right that a request needs. What is not in it needs none, or is not known: nothing is asked for its
// right that is not in it.
var rightOf = [requestKinds]Right{
	protocol.KindHostStatus:        RightRead,
	protocol.KindNodeCreate:        RightAdmin,
	protocol.KindNodeAlter:         RightAdmin,
	protocol.KindNodeDrop:          RightAdmin,
	protocol.KindNodeDescribe:      RightRead,
	protocol.KindNodeList:          RightRead,
	protocol.KindSessionStart:      RightWrite,
	protocol.KindSessionAttach:     RightWrite,
	protocol.KindSessionBind:       RightWrite,
	protocol.KindSessionStop:       RightWrite,
	protocol.KindSessionDestroy:    RightAdmin,
	protocol.KindSessionDescribe:   RightRead,
	protocol.KindSessionList:       RightRead,
	protocol.KindSessionHoldings:   RightRead,
	protocol.KindSemaphoreCreate:   RightWrite,
	protocol.KindSemaphoreUpdate:   RightWrite,
	protocol.KindSemaphoreDelete:   RightAdmin,
	protocol.KindSemaphoreResize:   RightWrite,
	protocol.KindAcquire:           RightWrite,
	protocol.KindRelease:           RightWrite,
	protocol.KindSemaphoreDescribe: RightRead,
	protocol.KindSemaphoreList:     RightRead,
	protocol.KindWatch:             RightRead,
}

// permits tells whether the client may do something in the node of a path; an empty path asks for any node. A kind
// without a right of its own is refused.
func (c *conn) permits(k protocol.Kind, path string) bool {
	need := rightOf[k]
	return need != 0 && c.rights.Valid() && c.rights.Allows(path, need)
}

// lacking says what a token lacks that does not permit something: by the token's name, never by itself.
func (c *conn) lacking(k protocol.Kind, path string) string {
	need := rightOf[k]
	switch {
	case need == 0:
		return clip(fmt.Sprintf("no role allows %v", k))
	case !c.rights.Valid():
		return clip(fmt.Sprintf("the token of %q is not good any more", c.name))
	case path == "" || !c.rights.Allows("", need):
		return clip(fmt.Sprintf("the token of %q does not have the role %v, which %v needs", c.name, need, k))
	}
	return clip(fmt.Sprintf("the token of %q has the role %v, which %v needs, but not for %s", c.name, need, k, path))
}

// allowed is permits for a node that is named by its id.
func (c *conn) allowed(k protocol.Kind, id shard.NodeID) bool {
	n, _ := c.host.meta.machine.NodeByID(id)
	return c.permits(k, n.Path)
}

// sees tells whether the client may know that the node is there. What it may not know of it is answered as what is
// not there.
func (c *conn) sees(id shard.NodeID) bool {
	return c.allowed(protocol.KindNodeDescribe, id)
}

// session returns what the machine of a shard knows of a session, where the client may know of it.
func (c *conn) session(rp *replica, id shard.SessionID) (view shard.SessionView, known bool) {
	view, known = rp.machine.Session(id)
	return view, known && c.sees(view.Node)
}

// withdrawn is sent to clients for what they have open and their token does not allow any more.
var withdrawn = protocol.Result{
	Status: protocol.StatusUnauthorized, Message: "the token does not give the right to this any more",
}

// review ends what is open over the connection and not allowed any more: watches, and sessions with all that is pushed
// for them. The sessions are detached; their time runs.
func (c *conn) review() {
	for _, rp := range c.host.replicas {
		rp.hub.EndUnless(c, c.mayWatch, withdrawn)
	}
	c.mu.Lock()
	sessions := maps.Clone(c.sessions)
	c.mu.Unlock()
	for id, b := range sessions {
		c.reviewSession(id, b)
	}
	c.flush()
}

func (c *conn) mayWatch(id shard.NodeID) bool { return c.allowed(protocol.KindWatch, id) }

// reviewSession takes a session away from the connection that may not act in its node any more.
func (c *conn) reviewSession(id shard.SessionID, b *binding) {
	if _, all := c.rights.(everything); all || c.allowed(protocol.KindSessionBind, b.node) && c.sees(b.node) {
		return
	}
	attached := b.home.leases.Withdraw(id, c.holder)
	b.home.takeAway(id, c, withdrawn)
	if attached {
		c.holder.Told(1)
	}
}
