package server

import (
	"crypto/x509"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	"github.com/signalbox/signalbox/shard/rights"
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
)

// grave are the rights that a host does not grant while the copy may lag behind the cluster.
const grave = protocol.RightOperate | protocol.RightAdmin | protocol.RightCluster | protocol.RightDelete |
	protocol.RightBackup

// entry is a client's identity and rights at its HELLO.
type entry struct {
	rights Rights
	name   string // of the owner of the token or certificate; empty for an anonymous client
	// unknown: the client has shown a token that this host has not applied; the cluster may know the token.
	unknown bool
}

// enter finds out the rights of a client from its HELLO and the connection. The host's own Access comes first, and
// holds whatever becomes of the cluster; then come the rights in the cluster's book. For a client that is not let in,
// refused says why.
func (h *Host) enter(token []byte, certificate *x509.Certificate) (e entry, refused *protocol.Result) {
	if h.config.Access != nil {
		if own, name, ok := h.config.Access.Authenticate(token); ok {
			return entry{rights: own, name: name}, nil
		}
	}
	k := &kept{host: h}
	book := h.meta.Rights()
	if t := book.TokenOf(token, h.wall()); t != nil {
		k.token = t
		k.who = append(k.who, t.Principal)
	}
	k.who = appendCertificate(k.who, book, certificate)
	e = entry{rights: k, unknown: len(token) > 0 && k.token == nil}
	if len(k.who) > 0 {
		e.name = k.who[0].Name
	}
	k.who = append(k.who, rights.Principal{Kind: rights.Anonymous})
	switch {
	case k.current().all:
	case h.rightsAge() > rightsLag:
		return e, &protocol.Result{Status: protocol.StatusUnavailable, Message: lagging}
	case e.unknown:
		return e, &protocol.Result{Status: protocol.StatusUnauthorized, Message: "the token is not known here"}
	case !k.Valid():
		return e, &protocol.Result{Status: protocol.StatusUnauthorized,
			Message: "a client without a token may do nothing here"}
	}
	return e, nil
}

const lagging = "this host cannot make sure at the moment who may do what"

// appendCertificate appends the principals with roles from a client's certificate.
func appendCertificate(who []rights.Principal, book *rights.Book, c *x509.Certificate) []rights.Principal {
	if c == nil {
		return who
	}
	names := []rights.Principal{{Kind: rights.CommonName, Name: c.Subject.CommonName}}
	for _, name := range c.DNSNames {
		names = append(names, rights.Principal{Kind: rights.AltName, Name: name})
	}
	for _, uri := range c.URIs {
		names = append(names, rights.Principal{Kind: rights.AltName, Name: uri.String()})
	}
	for _, p := range names {
		if book.Record(p) != nil {
			who = append(who, p)
		}
	}
	return who
}

// certificateOf returns the certificate of a client, if the host has checked it.
func (c *conn) certificateOf() *x509.Certificate {
	state := c.peer.TLS()
	if state == nil || len(state.VerifiedChains) == 0 || len(state.PeerCertificates) == 0 {
		return nil
	}
	return state.PeerCertificates[0]
}

// wall is the wall clock in milliseconds.
func (h *Host) wall() uint64 { return field.WallMillis(h.config.Clock()) }

// rightsAge is how long ago this host last made sure that its copy of the rights is up to date.
func (h *Host) rightsAge() time.Duration { return h.meta.SureFor(h.config.Clock()) }

// knownRightsAge is rightsAge if the cluster keeps rights, else 0.
func (h *Host) knownRightsAge() time.Duration {
	if h.meta.Rights().Revision() == 0 {
		return 0
	}
	return min(h.rightsAge(), h.config.Clock().Sub(h.set.Started))
}

// kept are the rights of a client by the cluster's book. Any goroutine may use them.
type kept struct {
	host  *Host
	token *rights.Record // as it was when the client came; nil without a token
	who   []rights.Principal

	state  atomic.Pointer[keptState]
	warned atomic.Bool // of the end of the token
}

// keptState is the rights of a client by one version of the book.
type keptState struct {
	book *rights.Book
	set  *rights.Set
	// all: no right has been set yet for anonymous clients, and this host has no Access to keep them out.
	all     bool
	gone    bool // the token was revoked
	version uint64
}

// current returns the rights by the book as this host has applied it.
func (k *kept) current() *keptState {
	book := k.host.meta.Rights()
	s := k.state.Load()
	if s != nil && s.book == book {
		return s
	}
	next := &keptState{book: book, set: book.Set(k.who...), all: !book.Decided() && k.host.config.Access == nil,
		version: 1}
	if k.token != nil {
		t := book.Record(k.token.Principal)
		next.gone = t == nil || t.Hash != k.token.Hash
	}
	if s != nil {
		next.version = s.version
		if s.all != next.all || !s.set.Equal(next.set) {
			next.version++
		}
	}
	k.state.CompareAndSwap(s, next) // if another goroutine was first, both states are of one book
	return next
}

// Allows implements Rights.
func (k *kept) Allows(path, object string, need protocol.Right) bool {
	s := k.current()
	return s.all || s.set.Allows(path, object, need)
}

// Valid implements Rights.
func (k *kept) Valid() bool {
	s := k.current()
	switch {
	case k.token != nil:
		return !s.gone && (k.token.Expires == 0 || k.host.wall() < k.token.Expires)
	case s.all:
		return true
	}
	return s.set.Allows("", "", protocol.RightAll)
}

// Version implements Rights.
func (k *kept) Version() uint64 { return k.current().version }

// unbound reports whether the client may do everything.
func (c *conn) unbound() bool {
	k, is := c.rights.(*kept)
	return is && k.current().all && k.token == nil
}

// refuseLagging answers a request if this host's knowledge of the cluster's rights is too old for the request.
func (c *conn) refuseLagging(r *protocol.Request) bool {
	k, is := c.rights.(*kept)
	need := r.Kind.Right()
	if !is || need&protocol.RightAll == 0 || r.Kind == protocol.KindHostStatus || r.Kind == protocol.KindHostLoad ||
		r.Kind == protocol.KindConcerns {
		return false
	}
	// Every request comes here, so the clock is read only for grave rights.
	all := k.current().all
	if all && c.host.meta.CaughtUp() || !all && (need&grave == 0 || c.host.rightsAge() <= rightsLag) {
		return false
	}
	if !all { // while all may do everything the host has only just started
		c.denied(c.from(), r.Kind, "", "")
	}
	c.Fail(r.ID, r.Kind, &protocol.Result{Status: protocol.StatusUnavailable, Message: lagging,
		WaitMillis: lagWait})
	return true
}

// lagWait is how long a client waits before it asks a lagging host again.
const lagWait = 100

// reviewKept ends the connection of a client when this host can vouch for the rights no longer, and warns a client
// before the end of a token. It returns false if the connection has ended.
func (c *conn) reviewKept() bool {
	k, is := c.rights.(*kept)
	if !is {
		return true
	}
	if !k.current().all && c.host.rightsAge() > rightsEnd {
		c.cutOff(cutLagging, protocol.StatusUnavailable, lagging)
		return false
	}
	if k.token == nil || k.token.Expires == 0 {
		return true
	}
	if left := time.Duration(k.token.Expires-min(c.host.wall(), k.token.Expires)) * time.Millisecond; left > 0 &&
		left <= expiryWarning && !k.warned.Swap(true) {
		c.Push(0, &protocol.Expiring{Token: []byte(k.token.Name), LeftMillis: uint64(left.Milliseconds())})
		c.flush()
	}
	return true
}
