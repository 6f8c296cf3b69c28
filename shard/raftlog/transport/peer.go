package transport

import (
	"crypto/x509"
	"encoding/binary"
	"fmt"

	"github.com/signalbox/signalbox/internal/certfile"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// Identity is who a host is to others.
type Identity struct {
	// Host is zero for a host that has no id yet. It can call others and answer calls, and nothing else.
	Host        shard.HostID
	Incarnation hosts.Incarnation
	Start       hosts.Start
	Deployment  uint64
	Generation  Generation
}

// Target returns what the engine has for the host.
func (i *Identity) Target() Target { return Target{Host: i.Host, Incarnation: i.Incarnation} }

// Generation is another one where a cluster is made of what another one left: its number, with the highest byte first,
// in the first four bytes, and then random ones. It is all zero before the first time. Hosts of two generations refuse
// each
// other.
type Generation [16]byte

func (g Generation) number() uint32 { return binary.BigEndian.Uint32(g[:]) }

// String shows the number, and the random bytes where there are any.
func (g Generation) String() string {
	if g == (Generation{}) {
		return "0"
	}
	return fmt.Sprintf("%d (%x)", g.number(), g[4:])
}

// Peer is the host at the other end of a connection.
type Peer struct {
	Identity
	// Address is from where it came, or where it was dialled.
	Address string
	// Transcript is a digest of what both sides have drawn at random for this connection: a proof that names it is
	// worth nothing on another one.
	Transcript [32]byte
	// Behind says in what the positions of the peer are behind what it has confirmed to this host. It is nil where they
	// are not, and where no positions were exchanged.
	Behind error
	// Certificate is the one that the peer has shown, which an authority of the hosts has signed; nil without TLS.
	Certificate *x509.Certificate
}

// Named reports whether the peer has said, and proved as far as the cluster has a secret, which host it is.
func (p *Peer) Named() bool { return p.Host != 0 }

// CertifiedAs reports whether the peer's certificate has a name, as an alternative name or as the common one.
func (p *Peer) CertifiedAs(name string) bool {
	return certfile.Names(p.Certificate, name)
}

// String returns the peer for logs.
func (p *Peer) String() string {
	if !p.Named() {
		return "an unnamed host at " + p.Address
	}
	return fmt.Sprintf("host %d at %s", p.Host, p.Address)
}

// Host is an entry of the address book: one of the hosts of the cluster.
type Host struct {
	ID          shard.HostID
	Name        string
	Incarnation hosts.Incarnation
	// Address is where the host listens for others, host:port.
	Address string
}

// Target returns what the engine has for the host.
func (h *Host) Target() Target { return Target{Host: h.ID, Incarnation: h.Incarnation} }
