package transport

import (
	"context"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// A connection between hosts begins with five steps. Both sides send a hello. The dialer proves that it has the cluster
// secret. The dialer goes first, so a program without the secret gets no proof to test guessed secrets on. Then each
// side sends its verdict on whether the peer is admitted, the acceptor first, under a MAC that also proves the secret.
// A hello is
//
//	bytes 0..2     "SBX"
//	byte  3        3, a kind that no frame has
//	byte  4        handshakeVersion
//	byte  5        1 if a secret is set, else 0
//	byte  6        the purpose
//	byte  7        for frames: 1 if the host exchanges positions; for calls: 2 if the host keeps the
//	               connection for further calls; else 0
//	bytes 8..15    deployment, big endian
//	bytes 16..31   generation
//	bytes 32..39   id of the host, big endian
//	bytes 40..55   incarnation
//	bytes 56..63   number of the start, big endian
//	bytes 64..71   draw of the start, big endian
//	bytes 72..103  random
//
// If both hellos offer position exchange, the sides send their replica positions (position.go): the dialer after its
// proof, the acceptor after its positive verdict. So each side has the peer's positions before sending its own verdict.
//
// A verdict is a code (1 byte), the text length (2 bytes), the text, and a MAC over all three (32 bytes). The proof,
// and the keys for verdicts and frames, are derived from the secret with HKDF-SHA256, salted with both hellos. Without
// a secret the derivation uses an empty secret, which proves nothing, and frames have no MAC.
//
// An unnamed host sends a hello without an identity, and is treated as if the cluster had no secret. An unnamed host
// can make one call, and its request has to prove its claims: Peer.Transcript binds a proof to the connection.
const (
	// handshakeVersion is increased if hosts with the previous version must not connect to hosts with this version.
	// Versions up to 3 belong to development builds before release 0.1.0.
	handshakeVersion = 4

	helloKind  = 3
	helloHead  = 8 // checked before the rest is read
	helloSize  = 104
	helloNonce = 72
	// helloOffer is the byte that announces what else the host supports on a connection for that purpose.
	helloOffer      = 7
	offersPositions = 1
	offersKept      = 2
	proofSize       = sha256.Size
)

// ErrClients: the address is a client port, not a port for hosts.
var ErrClients = errors.New("the address is a client port; hosts need a host port")

// purpose is what a connection is used for: byte 6 in a hello, and above that byte 7 if it selects a variant.
type purpose uint16

const (
	purposeFrames  purpose = 1 // the engine's frames, from the dialer to the acceptor
	purposeCall    purpose = 2 // one request and its answer
	purposeUnnamed purpose = 3 // one request and its answer, from a host that does not identify itself
	// purposeCalls is a connection for many calls. A host with a build that does not support persistent connections
	// reads purposeCall, and answers with a hello for that purpose; both hosts then use the connection for a single
	// call.
	purposeCalls = offersKept<<8 | purposeCall
)

// errHandshake is the error for a handshake that would fail again.
var errHandshake = errors.New("handshake refused")

// hello is a host's first message on a connection.
type hello [helloSize]byte

func newHello(self *Identity, secret []byte, purpose purpose) *hello {
	var h hello
	copy(h[:], frameMagic[:])
	h[3], h[4], h[6], h[helloOffer] = helloKind, handshakeVersion, byte(purpose), byte(purpose>>8)
	if len(secret) > 0 {
		h[5] = 1
	}
	binary.BigEndian.PutUint64(h[8:], self.Deployment)
	copy(h[16:32], self.Generation[:])
	binary.BigEndian.PutUint64(h[32:], uint64(self.Host))
	copy(h[40:56], self.Incarnation[:])
	binary.BigEndian.PutUint64(h[56:], self.Start.Number)
	binary.BigEndian.PutUint64(h[64:], self.Start.Draw)
	_, _ = rand.Read(h[helloNonce:]) // never fails
	return &h
}

func (h *hello) purpose() purpose {
	if purpose(h[6]) == purposeCall && h[helloOffer] == offersKept {
		return purposeCalls
	}
	return purpose(h[6])
}

// identity is the identity the hello's sender claims.
func (h *hello) identity() (i Identity) {
	i.Deployment = binary.BigEndian.Uint64(h[8:])
	copy(i.Generation[:], h[16:32])
	i.Host = shard.HostID(binary.BigEndian.Uint64(h[32:]))
	copy(i.Incarnation[:], h[40:56])
	i.Start = hosts.Start{Number: binary.BigEndian.Uint64(h[56:]), Draw: binary.BigEndian.Uint64(h[64:])}
	return i
}

// isHello reports whether the first bytes belong to a hello. The check precedes any answer.
func (h *hello) isHello() bool { return [3]byte(h[:3]) == frameMagic && h[3] == helloKind }

// isFrameOfClients reports whether the first bytes are an answer from a client port: a client protocol frame begins
// with a length, far below 65536 in an answer.
func (h *hello) isFrameOfClients() bool { return h[0] == 0 && h[1] == 0 && (h[2] != 0 || h[3] != 0) }

// read reads the peer's hello. If the version differs, read reads the head, or all bytes if the size is known: unread
// bytes could keep the peer from reading the answer.
func (h *hello) read(conn io.Reader) error {
	if _, err := io.ReadFull(conn, h[:helloHead]); err != nil {
		return err
	}
	size := helloHead
	if h.isHello() {
		size = map[byte]int{handshakeVersion - 1: helloSize, handshakeVersion: helloSize}[h[4]]
	}
	_, err := io.ReadFull(conn, h[helloHead:max(size, helloHead)])
	return err
}

// ErrOneSecret is the error if only one of two connecting hosts has a secret.
var ErrOneSecret = errors.New("only one of the two hosts has a cluster secret: give all hosts the same secret")

// compare returns an error if the two hellos are incompatible.
func (h *hello) compare(theirs *hello) error {
	switch {
	case !theirs.isHello() && [3]byte(theirs[:3]) == frameMagic:
		return otherVersion(1)
	case !theirs.isHello():
		return errors.New("the peer is not a host")
	case theirs[4] != h[4]:
		return otherVersion(theirs[4])
	case theirs[5] != h[5]:
		return ErrOneSecret
	}
	return nil
}

func otherVersion(version byte) error {
	return fmt.Errorf("the peer speaks version %d between hosts, this host speaks version %d: the versions cannot "+
		"share a cluster or exchange data directories; run one version of Signalbox on all hosts", version,
		handshakeVersion)
}

// handshakeKeys are derived from the secret and the hellos, at both sides.
type handshakeKeys struct {
	proof            []byte // the dialer's proof
	dialer, acceptor []byte // keys for their verdicts
	frames, answers  []byte // keys for what the dialer sends, and for what the acceptor sends
	ahead, back      []byte // keys for the dialer's positions, and for the acceptor's
}

func drawKeys(secret []byte, dialer, acceptor *hello) (keys handshakeKeys, err error) {
	salt := slices.Concat(dialer[:], acceptor[:])
	for label, key := range map[string]*[]byte{
		"signalbox dialer": &keys.proof, "signalbox dialer verdict": &keys.dialer,
		"signalbox acceptor verdict": &keys.acceptor, "signalbox frames": &keys.frames,
		"signalbox answers": &keys.answers, "signalbox dialer positions": &keys.ahead,
		"signalbox acceptor positions": &keys.back,
	} {
		if *key, err = hkdf.Key(sha256.New, secret, salt, label, proofSize); err != nil {
			return keys, err
		}
	}
	return keys, nil
}

// greeting is a handshake's result.
type greeting struct {
	peer    Peer
	purpose purpose
	out, in *frameMAC // for sent and received frames; nil: frames have no MAC
}

// newGreeting is the greeting for a handshake in which both sides have sent a hello.
func newGreeting(conn net.Conn, dialer, acceptor, theirs *hello) greeting {
	g := greeting{purpose: dialer.purpose(), peer: Peer{Address: conn.RemoteAddr().String()}}
	if g.purpose == purposeCalls && acceptor.purpose() != purposeCalls {
		g.purpose = purposeCall
	}
	if secured, ok := conn.(*tls.Conn); ok {
		g.peer.Certificate = secured.ConnectionState().PeerCertificates[0]
	}
	g.peer.Transcript = sha256.Sum256(slices.Concat(dialer[:], acceptor[:]))
	g.peer.Identity = theirs.identity()
	return g
}

// greetAsDialer runs the handshake for the side that dialled an address book entry.
func (t *Transport) greetAsDialer(ctx context.Context, conn net.Conn, to Host, purpose purpose) (g greeting,
	err error) {
	defer boundHandshake(ctx, conn)()
	self, secret := t.credentials()
	if purpose == purposeUnnamed {
		self, secret = Identity{}, nil
	}
	ours, theirs := newHello(&self, secret, purpose), new(hello)
	offered := t.offer(ours, to.ID)
	if _, err := conn.Write(ours[:]); err != nil {
		return g, err
	}
	if err := theirs.read(conn); err != nil {
		return g, err
	}
	if theirs.isFrameOfClients() {
		return g, fmt.Errorf("%w: %w", errHandshake, ErrClients)
	}
	if err := ours.compare(theirs); err != nil && (purpose != purposeUnnamed || theirs[4] != ours[4]) {
		if errors.Is(err, ErrOneSecret) && t.config.OneSecret != nil {
			t.config.OneSecret(to)
		}
		return g, fmt.Errorf("%w: %w", errHandshake, err)
	}
	keys, err := drawKeys(secret, ours, theirs)
	if err != nil {
		return g, err
	}
	if _, err := conn.Write(keys.proof); err != nil {
		return g, err
	}
	positions := offered.with(theirs)
	if err := positions.say(conn, keys.ahead); err != nil {
		return g, err
	}
	g = newGreeting(conn, ours, theirs, theirs)
	if err := t.hear(conn, keys.acceptor, &g); err != nil {
		return g, err
	}
	if err := positions.hear(conn, keys.back, &g.peer); err != nil {
		return g, err
	}
	var refusal *Refused
	if purpose != purposeUnnamed {
		refusal = t.judgeDialled(&g.peer, to)
	}
	if err := sendVerdict(conn, keys.dialer, refusal); err != nil {
		return g, err
	}
	return g, g.setMACs(secret, keys.frames, keys.answers)
}

// greetAsAcceptor runs the handshake for the accepting side, and enrolls the peer before a positive verdict.
func (t *Transport) greetAsAcceptor(ctx context.Context, conn net.Conn,
	enroll func(Peer, purpose) *Refused) (g greeting, err error) {
	defer boundHandshake(ctx, conn)()
	theirs := new(hello)
	if err := theirs.read(conn); err != nil {
		return g, err
	}
	self, secret := t.credentials()
	if theirs.isHello() && theirs[4] == handshakeVersion && theirs.purpose() == purposeUnnamed {
		secret = nil
	}
	ours := newHello(&self, secret, theirs.purpose())
	positions := t.offer(ours, theirs.identity().Host).with(theirs)
	if theirs.isHello() {
		if _, err := conn.Write(ours[:]); err != nil {
			return g, err
		}
	}
	if err := ours.compare(theirs); err != nil {
		return g, err
	}
	keys, err := drawKeys(secret, theirs, ours)
	if err != nil {
		return g, err
	}
	g = newGreeting(conn, theirs, ours, theirs)
	var proof [proofSize]byte
	if _, err := io.ReadFull(conn, proof[:]); err != nil {
		return g, err
	}
	if !hmac.Equal(proof[:], keys.proof) {
		return g, fmt.Errorf("the peer claims to be host %d, but does not have this host's secret", g.peer.Host)
	}
	if err := positions.hear(conn, keys.ahead, &g.peer); err != nil {
		return g, err
	}
	refusal := t.judgeAccepted(&g)
	if refusal == nil {
		refusal = enroll(g.peer, g.purpose)
	}
	if err := sendVerdict(conn, keys.acceptor, refusal); err != nil {
		return g, fmt.Errorf("%s: %w", &g.peer, err)
	}
	if err := positions.say(conn, keys.back); err != nil {
		return g, err
	}
	if err := t.hear(conn, keys.dialer, &g); err != nil {
		return g, err
	}
	return g, g.setMACs(secret, keys.answers, keys.frames)
}

// boundHandshake ends a handshake after a timeout, or when its context ends, until the returned function is called.
func boundHandshake(ctx context.Context, conn net.Conn) (done func()) {
	_ = conn.SetDeadline(time.Now().Add(handshakeTimeout))
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	return func() {
		if stop() {
			_ = conn.SetDeadline(time.Time{})
		}
	}
}
