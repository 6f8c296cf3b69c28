package transport

import (
	"crypto/x509"
	"encoding/binary"
	"fmt"

	"github.com/signalbox/signalbox/internal/certfile"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// Identity identifies a host to the rest of the cluster.
type Identity struct {
	// Host is zero for a host without an id. Such a host can only make and answer calls.
	Host        shard.HostID
	Incarnation hosts.Incarnation
	Start       hosts.Start
	Deployment  uint64
	Generation  Generation
}

// Target returns the engine's name for the host.
func (i *Identity) Target() Target { return Target{Host: i.Host, Incarnation: i.Incarnation} }

// Generation changes when a cluster is restored from a backup or from survivors. The first four bytes are a big-endian
// number, the rest is random. All bytes are zero before the first change. Hosts from two generations refuse connections
// between them.
type Generation [16]byte

func (g Generation) number() uint32 { return binary.BigEndian.Uint32(g[:]) }

// String returns the number, and the random bytes for a generation above the first.
func (g Generation) String() string {
	if g == (Generation{}) {
		return "0"
	}
	return fmt.Sprintf("%d (%x)", g.number(), g[4:])
}

// Peer is the remote host on a connection.
type Peer struct {
	Identity
	// Address is the connection's remote address.
	Address string
	// Transcript is a digest over both hellos, including this connection's random bytes: a proof that names the
	// transcript is worthless on a second connection.
	Transcript [32]byte
	// Behind lists the peer's positions below the confirmed ones. Behind is nil if there are none, or if no positions
	// were exchanged.
	Behind error
	// Certificate is the peer's certificate, signed by one of the hosts' authorities; nil without TLS.
	Certificate *x509.Certificate
}

// Named reports whether the peer has identified itself as a host, with a proof if the cluster has a secret.
func (p *Peer) Named() bool { return p.Host != 0 }

// CertifiedAs reports whether the peer's certificate contains a name, as an alternative name or as the common name.
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

// Host is an address book entry: one host in the cluster.
type Host struct {
	ID          shard.HostID
	Name        string
	Incarnation hosts.Incarnation
	// Address is where the host listens for other hosts, as host:port.
	Address string
}

// Target returns the engine's name for the host.
func (h *Host) Target() Target { return Target{Host: h.ID, Incarnation: h.Incarnation} }
