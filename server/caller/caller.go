package caller

import (
	"fmt"
	"time"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/access"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/access"
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

// Caller is a client that was let in. Any goroutine may use it.
type Caller struct {
	Rights
	// Name is the name of the owner of the token or certificate; empty for an anonymous client.
	Name string
	// Client is how the client's sessions show the client.
	Client shard.ClientState

	gate *Gate
}

// Permits reports whether the client may send requests of a kind about an object in the node of a path; without an
// object about the node as a whole, without a path about at least one node. A kind without a right of nodes is
// refused.
func (c *Caller) Permits(k protocol.Kind, path, object string) bool {
	need := k.Right() & protocol.RightAll
	return need != protocol.RightNone && c.Valid() && c.Allows(path, object, need)
}

// PermitsIn is Permits for a node by its id. A node that is unknown here counts as at least one node: a new request
// in the node has been answered UNAVAILABLE already, and open watches and sessions do not end while a copy is being
// filled.
func (c *Caller) PermitsIn(k protocol.Kind, id shard.NodeID, object string) bool {
	if c.Unbound() {
		return true
	}
	n, _ := c.gate.Nodes.NodeByID(id)
	return c.Permits(k, n.Path, object)
}

// Sees reports whether the client may know of the node. A hidden node is answered like a missing node.
func (c *Caller) Sees(id shard.NodeID) bool { return c.PermitsIn(protocol.KindNodeDescribe, id, "") }

// SeesObject reports whether the client may know of the object.
func (c *Caller) SeesObject(id shard.NodeID, name string) bool {
	return c.PermitsIn(protocol.KindSemaphoreDescribe, id, name)
}

// Unbound reports whether the client may do everything.
func (c *Caller) Unbound() bool {
	k, is := c.Rights.(*kept)
	return is && k.current().all && k.token == nil
}

// Who names the client: by token or certificate, anonymous without either.
func (c *Caller) Who() string {
	if k, is := c.Rights.(*kept); is {
		return k.who[0].String()
	}
	return c.Name
}

// Unauthorized is the refusal of a request of the client from an address. It says for people which right the client
// lacks. It names the client by the name of the token, never by the token itself. The gate remembers the refusal.
func (c *Caller) Unauthorized(from string, k protocol.Kind, path, object string) error {
	c.Denied(from, k, path, object)
	need, who := k.Right()&protocol.RightAll, "a client without a token"
	if c.Name != "" {
		who = fmt.Sprintf("the token of %q", c.Name)
	}
	var why string
	switch {
	case need == protocol.RightNone:
		why = fmt.Sprintf("no right allows %v", k)
	case !c.Valid():
		why = fmt.Sprintf("%s is not good any more", who)
	case path == "" || !c.Allows("", "", need):
		why = fmt.Sprintf("%s does not have the right %v, which %v needs", who, need, k)
	case object != "":
		why = fmt.Sprintf("%s has the right %v, which %v needs, but not for %q in %s", who, need, k, object, path)
	default:
		why = fmt.Sprintf("%s has the right %v, which %v needs, but not for %s", who, need, k, path)
	}
	return &protocol.Result{Status: protocol.StatusUnauthorized, Message: why}
}

// Set is the rights of the client as rules, if its rights consist of rules.
func (c *Caller) Set() (_ *access.Set, known bool) {
	if k, is := c.Rights.(*kept); is {
		if k.current().all {
			return allRights, true
		}
		return k.current().set, true
	}
	if own, is := c.Rights.(interface{ Set() *access.Set }); is {
		return own.Set(), true
	}
	return nil, false
}

var allRights = access.NewSet(kind.Rule{Path: "/", Rights: protocol.RightAll})

// Giver is the set of rights that the client may give.
func (c *Caller) Giver() *access.Set {
	if set, known := c.Set(); known {
		return set
	}
	return &access.Set{}
}

// KeepsAdmin refuses a change after which the client could not change rights on / any more, and an open cluster's first
// change if no principal could change rights after it. Such a change is a slip, and perhaps no client would be left to
// undo it. A root token of the host is not checked: it stays good.
func (c *Caller) KeepsAdmin(next *access.Book) error {
	k, is := c.Rights.(*kept)
	switch {
	case !is || next.Open():
		return nil
	case k.current().all:
		if !next.HasAdmin() {
			return &access.Refusal{Status: protocol.StatusPreconditionFailed, Text: "these are the first access " +
				"rules, and after them nobody could change any: first make a token with the role root on /"}
		}
		return nil
	case !c.Giver().Administers("/") || next.Set(k.who...).Administers("/"):
		return nil
	}
	return &access.Refusal{Status: protocol.StatusPreconditionFailed, Text: "after this you could not change rights " +
		"any more: do it with a token that has the role admin or root on / by itself"}
}

// Lagging refuses a request of the client if this host's knowledge of the cluster's rights is too old
// for the request.
func (c *Caller) Lagging(k protocol.Kind, from func() string) error {
	of, is := c.Rights.(*kept)
	need := k.Right()
	if !is || need&protocol.RightAll == 0 || k == protocol.KindHostStatus || k == protocol.KindHostLoad ||
		k == protocol.KindHealth {
		return nil
	}
	// Every request comes here, so the clock is read only for grave rights.
	all := of.current().all
	if all && c.gate.Meta.CaughtUp() || !all && (need&grave == 0 || c.gate.Age() <= rightsLag) {
		return nil
	}
	if !all { // while all may do everything the host has only just started
		c.Denied(from(), k, "", "")
	}
	return &lagging
}

// Lost reports that the host can vouch for the client's rights no longer.
func (c *Caller) Lost() bool {
	k, is := c.Rights.(*kept)
	return is && !k.current().all && c.gate.Age() > rightsEnd
}

// Expiring returns the notice of the end of the client's token, once, when little time is left.
func (c *Caller) Expiring() *protocol.TokenExpiring {
	k, is := c.Rights.(*kept)
	if !is || k.token == nil || k.token.Expires == 0 {
		return nil
	}
	wall := c.gate.wall()
	left := time.Duration(k.token.Expires-min(wall, k.token.Expires)) * time.Millisecond
	if left <= 0 || left > expiryWarning || k.warned.Swap(true) {
		return nil
	}
	return &protocol.TokenExpiring{Token: []byte(k.token.Name), LeftMillis: uint64(left.Milliseconds())}
}
