package caller

import (
	"crypto/x509"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	"github.com/signalbox/signalbox/shard/access"
	"github.com/signalbox/signalbox/shard/meta"
)

// How long a host without proof of an up-to-date copy of the meta shard goes by the rights in the copy.
const (
	// rightsLag is after how long the host lets no client in by the copy, and refuses requests with a risk of much
	// harm.
	rightsLag = 10 * time.Second
	// rightsEnd is after how long the host ends the connections of clients that came in by the copy.
	rightsEnd = 60 * time.Second
	// expiryWarning is how long before a token expires its clients are warned.
	expiryWarning = 5 * time.Minute
	// checkEvery is how often a host makes sure of the cluster's rights, and how long it waits between attempts.
	checkEvery = 2 * time.Second
)

// grave are the rights that a host does not grant while the copy may lag behind the cluster.
const grave = protocol.RightOperate | protocol.RightAdmin | protocol.RightCluster | protocol.RightDelete |
	protocol.RightBackup

// Meta is the host's copy of the meta shard, as the gate uses it; replica.Meta documents the methods.
type Meta interface {
	Rights() *access.Book
	SureFor(now time.Time) time.Duration
	CaughtUp() bool
	Confirm(done func(ok bool))
}

// Gate lets clients in. Any goroutine may use it.
type Gate struct {
	Config
	denials          denials
	addressThrottles addressThrottles
	askedAt          time.Time // when MakeSure last asked; used on the host's loop
}

// Config is what a gate goes by.
type Config struct {
	Access  Access // of the host itself; may be nil
	Closed  bool   // a cluster without rules is not open to anonymous clients on this host
	Meta    Meta
	Nodes   *meta.Machine
	Clock   func() time.Time
	Started time.Time // the start of the host
}

// NewGate returns a gate without clients. A gate with Access is closed.
func NewGate(c Config) *Gate {
	c.Closed = c.Closed || c.Access != nil
	return &Gate{Config: c}
}

// Open reports whether anonymous clients may do everything on this host, by the book of the cluster.
func (g *Gate) Open(book *access.Book) bool { return book.Open() && !g.Closed }

// Enter finds out the rights of a client from its HELLO and the connection. The host's own Access comes first, and
// holds whatever becomes of the cluster; then come the rights in the cluster's book. refused says why a client is not
// let in. A client is unknown if it has shown a token that this host has not applied: the cluster may know the token.
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
		refused = &protocol.Result{Status: protocol.StatusUnauthorized, Message: "the token is not known here"}
	case !k.Valid():
		refused = &protocol.Result{Status: protocol.StatusUnauthorized,
			Message: "a client without a token may do nothing here"}
	}
	return c, unknown, refused
}

// EnterSure is Enter behind a barrier, with all tokens known: the client's token may have been made a moment ago,
// through another host.
func (g *Gate) EnterSure(token []byte, certificate *x509.Certificate, done func(*Caller, *protocol.Result)) {
	g.Meta.Confirm(func(sure bool) {
		c, unknown, refused := g.Enter(token, certificate)
		if unknown && !sure {
			refused = &lagging
		}
		done(c, refused)
	})
}

// lagging is the answer of a host that has heard too little of the cluster.
var lagging = protocol.Result{
	Status: protocol.StatusUnavailable, Message: "this host cannot make sure at the moment who may do what",
	WaitMillis: 100,
}

// Lagging is why the host ends the connection of a client whose rights are Lost.
var Lagging = lagging.Message

// appendCertificate appends the principals with roles from a client's certificate.
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

// wall is the wall clock in milliseconds.
func (g *Gate) wall() uint64 { return field.WallMillis(g.Clock()) }

// Age is how long ago this host last made sure that its copy of the rights is up to date.
func (g *Gate) Age() time.Duration { return g.Meta.SureFor(g.Clock()) }

// KnownAge is Age if the cluster keeps rights, else 0.
func (g *Gate) KnownAge() time.Duration {
	if g.Meta.Rights().Revision() == 0 {
		return 0
	}
	return min(g.Age(), g.Clock().Sub(g.Started))
}

// MakeSure keeps this host sure of the rights of the cluster, if there are rights. The host's loop calls it.
func (g *Gate) MakeSure(now time.Time) {
	if g.Meta.Rights().Revision() == 0 || g.Meta.SureFor(now) < checkEvery || now.Sub(g.askedAt) < checkEvery {
		return
	}
	g.askedAt = now
	g.Meta.Confirm(func(bool) {})
}
