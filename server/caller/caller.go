package caller

import (
	"fmt"
	"time"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/access"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/access"
)

// Rights are a token's permissions, by path.
type Rights interface {
	// Allows reports whether one or more of the needed rights apply to an object in the node with the path. An empty
	// object means the whole node; an empty path means at least one node.
	Allows(path, object string, need protocol.Right) bool
	// Valid reports whether the token has not been revoked.
	Valid() bool
	// Version changes with every rights change. After a change, everything open under the rights is reviewed.
	Version() uint64
}

// Access looks up a client's rights by its token.
type Access interface {
	// Authenticate returns a token's rights and its owner's name. ok is false for an unknown token.
	Authenticate(token []byte) (rights Rights, name string, ok bool)
}

// Caller is an admitted client. Safe for concurrent use.
type Caller struct {
	Rights
	// Name is the token's or certificate's owner; empty for an anonymous client.
	Name string
	// Client describes the client in its sessions.
	Client shard.ClientState

	gate *Gate
}

// Permits reports whether the client may send a request kind for an object in the node with the path. An empty object
// means the whole node; an empty path means at least one node. A kind without a node right is refused.
func (c *Caller) Permits(k protocol.Kind, path, object string) bool {
	need := k.Right() & protocol.RightAll
	return need != protocol.RightNone && c.Valid() && c.Allows(path, object, need)
}

// PermitsIn is Permits for a node id. If the node is unknown on the host, PermitsIn requires the right on at least
// one node: new requests in the node have already been answered with UNAVAILABLE, and open watches and sessions
// survive while a replica is being filled.
func (c *Caller) PermitsIn(k protocol.Kind, id shard.NodeID, object string) bool {
	if c.Unbound() {
		return true
	}
	n, _ := c.gate.Nodes.NodeByID(id)
	return c.Permits(k, n.Path, object)
}

// Sees reports whether the client may learn about the node. For a hidden node, the answer is the same as for a
// missing node.
func (c *Caller) Sees(id shard.NodeID) bool { return c.PermitsIn(protocol.KindNodeDescribe, id, "") }

// SeesObject reports whether the client may learn about the object.
func (c *Caller) SeesObject(id shard.NodeID, name string) bool {
	return c.PermitsIn(protocol.KindSemaphoreDescribe, id, name)
}

// Unbound reports whether the client may do everything.
func (c *Caller) Unbound() bool {
	k, is := c.Rights.(*kept)
	return is && k.current().all && k.token == nil
}

// Who names the client by token or certificate, or as anonymous.
func (c *Caller) Who() string {
	if k, is := c.Rights.(*kept); is {
		return k.who[0].String()
	}
	return c.Name
}

// Credential is a client's token or certificate. Name is empty for a client without both.
type Credential struct {
	Name        string
	Certificate bool
}

// String names the credential for people, such as "token billing".
func (c Credential) String() string {
	if c.Certificate {
		return "certificate " + c.Name
	}
	return "token " + c.Name
}

// Credential returns the client's token or certificate.
func (c *Caller) Credential() Credential {
	k, is := c.Rights.(*kept)
	return Credential{Name: c.Name, Certificate: is && k.token == nil && c.Name != ""}
}

// Unauthorized returns the refusal for a client's request from an address, and records the refusal in the gate. The
// message says which right is missing, and names the client by its token name, never by the token.
func (c *Caller) Unauthorized(from string, k protocol.Kind, path, object string) error {
	c.Denied(from, k, path, object)
	need, who := k.Right()&protocol.RightAll, "a client without a token"
	if c.Name != "" {
		who = fmt.Sprintf("the token of %q", c.Name)
		if c.Credential().Certificate {
			who = fmt.Sprintf("the certificate of %q", c.Name)
		}
	}
	var why string
	switch {
	case need == protocol.RightNone:
		why = fmt.Sprintf("no permission allows %v", k)
	case !c.Valid():
		why = fmt.Sprintf("%s is no longer valid", who)
	case path == "" || !c.Allows("", "", need):
		why = fmt.Sprintf("%s lacks the permission %v, which %v needs", who, need, k)
	case object != "":
		why = fmt.Sprintf("%s has the permission %v, which %v needs, but not for %q in %s", who, need, k, object, path)
	default:
		why = fmt.Sprintf("%s has the permission %v, which %v needs, but not for %s", who, need, k, path)
	}
	return &protocol.Result{Status: protocol.StatusUnauthorized, Message: why}
}

// Set returns the client's rights as rules, if the rights consist of rules.
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

// Giver returns the rights the client may grant to others.
func (c *Caller) Giver() *access.Set {
	if set, known := c.Set(); known {
		return set
	}
	return &access.Set{}
}

// KeepsAdmin refuses a change after which the client could no longer change rights on /, and an open cluster's first
// change if no principal could change rights after it. Such a change is usually a mistake that perhaps no client
// could undo. Root tokens are exempt, because they stay valid.
func (c *Caller) KeepsAdmin(next *access.Book) error {
	k, is := c.Rights.(*kept)
	switch {
	case !is || next.Open():
		return nil
	case k.current().all:
		if !next.HasAdmin() {
			return &access.Refusal{Status: protocol.StatusPreconditionFailed, Text: "the first access rules " +
				"would leave nobody to change them; first create a token with the role root on /"}
		}
		return nil
	case !c.Giver().Administers("/") || next.Set(k.who...).Administers("/"):
		return nil
	}
	return &access.Refusal{Status: protocol.StatusPreconditionFailed, Text: "the change would remove your " +
		"permission to change access rules; use a token with the role admin or root on / of its own"}
}

// Lagging refuses a client's request if the host's copy of the cluster's rights is too old for the request.
func (c *Caller) Lagging(k protocol.Kind, from func() string) error {
	of, is := c.Rights.(*kept)
	need := k.Right()
	if !is || need&protocol.RightAll == 0 || k == protocol.KindHostStatus || k == protocol.KindHostLoad ||
		k == protocol.KindHealth {
		return nil
	}
	// Every request takes this path, so the clock is read only for dangerous rights.
	all := of.current().all
	if all && c.gate.Meta.CaughtUp() || !all && (need&grave == 0 || c.gate.Age() <= rightsLag) {
		return nil
	}
	if !all { // while access is open, the host may simply have just started
		c.Denied(from(), k, "", "")
	}
	return &lagging
}

// Lost reports whether the host can no longer vouch for the client's rights.
func (c *Caller) Lost() bool {
	k, is := c.Rights.(*kept)
	return is && !k.current().all && c.gate.Age() > rightsEnd
}

// Expiring returns a notice, once, shortly before the client's token expires.
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
