package transport

import (
	"crypto/x509"
	"encoding/binary"
	"fmt"

	"github.com/signalbox/signalbox/internal/certfile"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// Identity names a host to the rest of the cluster.
type Identity struct {
	// Host is zero for a host without an id. Such a host can call and answer calls, and nothing else.
	Host        shard.HostID
	Incarnation hosts.Incarnation
	Start       hosts.Start
	Deployment  uint64
	Generation  Generation
}

// Target returns the engine's name of the host.
func (i *Identity) Target() Target { return Target{Host: i.Host, Incarnation: i.Incarnation} }

// Generation changes when a cluster is made anew from a backup or from survivors. The first four bytes are a number,
// with the highest byte first, the rest is random. All bytes are zero before the first change. Hosts of two generations
// refuse connections between them.
type Generation [16]byte

func (g Generation) number() uint32 { return binary.BigEndian.Uint32(g[:]) }

// String shows the number, and the random bytes of a generation above the first.
func (g Generation) String() string {
	if g == (Generation{}) {
		return "0"
	}
	return fmt.Sprintf("%d (%x)", g.number(), g[4:])
}

// Peer is the host at the other end of a connection.
type Peer struct {
	Identity
	// Address is the remote address of the connection.
	Address string
	// Transcript is a digest of both hellos, with the random bytes of this connection: a proof that names the
	// transcript is worth nothing on a second connection.
	Transcript [32]byte
	// Behind names the positions of the peer below the confirmed ones. Behind is nil if there are none, and if no
	// positions were exchanged.
	Behind error
	// Certificate is the certificate of the peer, which an authority of the hosts has signed; nil without TLS.
	Certificate *x509.Certificate
}

// Named reports whether the peer has named a host, with a proof if the cluster has a secret.
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

// Target returns the engine's name of the host.
func (h *Host) Target() Target { return Target{Host: h.ID, Incarnation: h.Incarnation} }
