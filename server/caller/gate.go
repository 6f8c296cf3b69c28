package caller

import (
	"crypto/x509"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	"github.com/signalbox/signalbox/shard/access"
	"github.com/signalbox/signalbox/shard/meta"
)

// Time limits for relying on the host's replica of the meta shard while the replica is not proven up to date.
const (
	// rightsLag is the replica age at which the host stops admitting clients and refuses dangerous requests.
	rightsLag = 10 * time.Second
	// rightsEnd is the replica age at which the host disconnects clients that were admitted by the replica.
	rightsEnd = 60 * time.Second
	// expiryWarning is how long before token expiry clients are warned.
	expiryWarning = 5 * time.Minute
	// checkEvery is the interval at which a host confirms the cluster's rights, and between retries.
	checkEvery = 2 * time.Second
)

// grave are the dangerous rights, which a host does not grant while its replica may lag behind the cluster.
const grave = protocol.RightOperate | protocol.RightAdmin | protocol.RightCluster | protocol.RightDelete |
	protocol.RightBackup

// Meta is the gate's view of the host's meta shard replica; replica.Meta documents the methods.
type Meta interface {
	Rights() *access.Book
	SureFor(now time.Time) time.Duration
	CaughtUp() bool
	Confirm(done func(ok bool))
}

// Gate admits clients. Safe for concurrent use.
type Gate struct {
	Config
	denials          denials
	addressThrottles addressThrottles
	askedAt          time.Time // when MakeSure last asked; used on the host's loop
}

// Config configures a gate.
type Config struct {
	Access  Access // the host's own access source; may be nil
	Closed  bool   // if the cluster has no rules, refuse anonymous clients on the host
	Meta    Meta
	Nodes   *meta.Machine
	Clock   func() time.Time
	Started time.Time // host start time
}

// NewGate returns a gate without clients. A gate with Access is closed.
func NewGate(c Config) *Gate {
	c.Closed = c.Closed || c.Access != nil
	return &Gate{Config: c}
}

// Open reports whether anonymous clients may do everything on the host, given the cluster's book.
func (g *Gate) Open(book *access.Book) bool { return book.Open() && !g.Closed }

// Enter determines a client's rights from its HELLO and the connection. The host's own Access has priority and does
// not depend on the cluster; the cluster's book is next. refused explains why a client is not admitted. unknown
// reports that the client's token has not been applied on the local host: the cluster may know the token.
func (g *Gate) Enter(token []byte, certificate *x509.Certificate) (c *Caller, unknown bool, refused *protocol.Result) {
	if g.Access != nil {
		if own, name, ok := g.Access.Authenticate(token); ok {
			return &Caller{gate: g, Rights: own, Name: name}, false, nil
		}
	}
	k := &kept{gate: g}
	book := g.Meta.Rights()
	if t := book.TokenOf(token, g.wall()); t != nil {
		k.token = t
		k.who = append(k.who, t.Principal)
	}
	k.who = appendCertificate(k.who, book, certificate)
	c, unknown = &Caller{gate: g, Rights: k}, len(token) > 0 && k.token == nil
	if len(k.who) > 0 {
		c.Name = k.who[0].Name
	}
	k.who = append(k.who, access.Principal{Kind: access.Anonymous})
	switch {
	case k.current().all:
	case g.Age() > rightsLag:
		refused = &protocol.Result{Status: protocol.StatusUnavailable, Message: lagging.Message}
	case unknown:
		refused = &protocol.Result{Status: protocol.StatusUnauthorized, Message: "unknown token"}
	case !k.Valid():
		refused = &protocol.Result{Status: protocol.StatusUnauthorized,
			Message: "a token is required"}
	}
	return c, unknown, refused
}

// EnterSure is Enter after a read barrier, so that all committed tokens are known. The client's token may just have
// been created through a remote host.
func (g *Gate) EnterSure(token []byte, certificate *x509.Certificate, done func(*Caller, *protocol.Result)) {
	g.Meta.Confirm(func(sure bool) {
		c, unknown, refused := g.Enter(token, certificate)
		if unknown && !sure {
			refused = &lagging
		}
		done(c, refused)
	})
}

// lagging is the answer from a host whose replica is too far behind.
var lagging = protocol.Result{
	Status: protocol.StatusUnavailable, Message: "the host cannot confirm the access rules at the moment",
	WaitMillis: 100,
}

// Lagging is the disconnect reason for a client whose rights are Lost.
var Lagging = lagging.Message

// appendCertificate appends the principals in a client's certificate that have roles.
func appendCertificate(who []access.Principal, book *access.Book, c *x509.Certificate) []access.Principal {
	if c == nil {
		return who
	}
	names := []access.Principal{{Kind: access.CommonName, Name: c.Subject.CommonName}}
	for _, name := range c.DNSNames {
		names = append(names, access.Principal{Kind: access.AltName, Name: name})
	}
	for _, uri := range c.URIs {
		names = append(names, access.Principal{Kind: access.AltName, Name: uri.String()})
	}
	for _, p := range names {
		if book.Record(p) != nil {
			who = append(who, p)
		}
	}
	return who
}

// wall returns the wall clock in milliseconds.
func (g *Gate) wall() uint64 { return field.WallMillis(g.Clock()) }

// Age returns the time since the host last confirmed that its copy of the rights is up to date.
func (g *Gate) Age() time.Duration { return g.Meta.SureFor(g.Clock()) }

// KnownAge returns Age if the cluster has access rules, else 0.
func (g *Gate) KnownAge() time.Duration {
	if g.Meta.Rights().Revision() == 0 {
		return 0
	}
	return min(g.Age(), g.Clock().Sub(g.Started))
}

// MakeSure keeps the local host's copy of the cluster's rights confirmed, if there are any rights. The host's loop
// calls MakeSure.
func (g *Gate) MakeSure(now time.Time) {
	if g.Meta.Rights().Revision() == 0 || g.Meta.SureFor(now) < checkEvery || now.Sub(g.askedAt) < checkEvery {
		return
	}
	g.askedAt = now
	g.Meta.Confirm(func(bool) {})
}
