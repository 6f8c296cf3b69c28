package transport

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"github.com/signalbox/signalbox/shard"
)

// A connection between hosts begins with four steps: both sides send a hello, and then each proves that it has the
// secret of the cluster. The dialer proves it first, so that a program without the secret gets no proof to try secrets
// on. A hello is
//
//	bytes 0..2    "SBX"
//	byte  3       3, a kind that no frame has
//	byte  4       handshakeVersion
//	byte  5       1 where a secret is set, else 0
//	bytes 6..7    0
//	bytes 8..15   deployment, big endian
//	bytes 16..23  id of the host, big endian
//	bytes 24..55  random
//
// The proofs and the key of the frames are drawn from the secret with HKDF-SHA256, salted with both hellos. Without a
// secret the same is done with an empty one, which proves nothing, and frames have no MAC.
const (
	// handshakeVersion grows when hosts of the version before must not connect to those of this one. Version 1 had no
	// handshake: a connection began with a frame.
	handshakeVersion = 2

	helloKind  = 3
	helloSize  = 56
	helloNonce = 24
	proofSize  = sha256.Size
)

// errRefused is the error of a dial that would fail again.
var errRefused = errors.New("handshake refused")

// hello is the first message of a host on a connection.
type hello [helloSize]byte

func newHello(c *Config) *hello {
	var h hello
	copy(h[:], frameMagic[:])
	h[3], h[4] = helloKind, handshakeVersion
	if len(c.Secret) > 0 {
		h[5] = 1
	}
	binary.BigEndian.PutUint64(h[8:], c.Deployment)
	binary.BigEndian.PutUint64(h[16:], uint64(c.Host))
	_, _ = rand.Read(h[helloNonce:]) // never fails
	return &h
}

func (h *hello) host() shard.HostID { return shard.HostID(binary.BigEndian.Uint64(h[16:])) }

// isHello reports whether these are the first bytes of a hello. It is checked before anything is answered.
func (h *hello) isHello() bool { return [3]byte(h[:3]) == frameMagic && h[3] == helloKind }

// compare returns an error where a host that sent theirs is no peer of the one that sends h.
func (h *hello) compare(theirs *hello) error {
	switch {
	case !theirs.isHello() && [3]byte(theirs[:3]) == frameMagic:
		return otherVersion(1)
	case !theirs.isHello():
		return errors.New("it is no host")
	case theirs[4] != h[4]:
		return otherVersion(theirs[4])
	case theirs[5] != h[5]:
		return errors.New("one of the two hosts has a secret of the cluster and the other has none: give all hosts " +
			"the same")
	case [8]byte(theirs[8:16]) != [8]byte(h[8:16]):
		return fmt.Errorf("it is of deployment %d, this host of %d",
			binary.BigEndian.Uint64(theirs[8:]), binary.BigEndian.Uint64(h[8:]))
	case theirs.host() == h.host():
		return fmt.Errorf("it says that it is host %d, which this host is", h.host())
	}
	return nil
}

func otherVersion(version byte) error {
	return fmt.Errorf("it speaks version %d between hosts, this host version %d: stop all hosts, then start all with "+
		"one version",
		version, handshakeVersion)
}

// handshakeKeys are what both sides draw from the secret and the hellos.
type handshakeKeys struct {
	dialer, acceptor []byte // the proofs
	frames           []byte
}

func drawKeys(secret []byte, dialer, acceptor *hello) (keys handshakeKeys, err error) {
	salt := slices.Concat(dialer[:], acceptor[:])
	for label, key := range map[string]*[]byte{
		"signalbox dialer": &keys.dialer, "signalbox acceptor": &keys.acceptor, "signalbox frames": &keys.frames,
	} {
		if *key, err = hkdf.Key(sha256.New, secret, salt, label, proofSize); err != nil {
			return keys, err
		}
	}
	return keys, nil
}

// mac returns what authenticates the frames of the connection, nil without a secret.
func (k *handshakeKeys) mac(c *Config) (*frameMAC, error) {
	if len(c.Secret) == 0 {
		return nil, nil
	}
	block, err := aes.NewCipher(k.frames)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	return &frameMAC{aead: aead}, nil
}

// greetAsDialer runs the handshake of the side that dialled.
func greetAsDialer(ctx context.Context, conn net.Conn, c *Config) (*frameMAC, error) {
	defer boundHandshake(ctx, conn)()
	ours, theirs := newHello(c), new(hello)
	if _, err := conn.Write(ours[:]); err != nil {
		return nil, err
	}
	if _, err := io.ReadFull(conn, theirs[:]); err != nil {
		return nil, err
	}
	if err := ours.compare(theirs); err != nil {
		return nil, fmt.Errorf("%w: %w", errRefused, err)
	}
	keys, err := drawKeys(c.Secret, ours, theirs)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Write(keys.dialer); err != nil {
		return nil, err
	}
	var proof [proofSize]byte
	if _, err := io.ReadFull(conn, proof[:]); err != nil {
		return nil, fmt.Errorf("%w: the other host did not take the proof of the secret, its log says why: %w",
			errRefused, err)
	}
	if !hmac.Equal(proof[:], keys.acceptor) {
		return nil, fmt.Errorf("%w: the other host has another secret", errRefused)
	}
	return keys.mac(c)
}

// greetAsAcceptor runs the handshake of the side that accepted. It returns which host dialled.
func greetAsAcceptor(ctx context.Context, conn net.Conn, c *Config) (shard.HostID, *frameMAC, error) {
	defer boundHandshake(ctx, conn)()
	ours, theirs := newHello(c), new(hello)
	if _, err := io.ReadFull(conn, theirs[:frameHeaderSize]); err != nil {
		return 0, nil, err
	}
	if !theirs.isHello() {
		return 0, nil, ours.compare(theirs)
	}
	if _, err := io.ReadFull(conn, theirs[frameHeaderSize:]); err != nil {
		return 0, nil, err
	}
	if _, err := conn.Write(ours[:]); err != nil {
		return 0, nil, err
	}
	if err := ours.compare(theirs); err != nil {
		return 0, nil, err
	}
	if c.Members[theirs.host()] == "" {
		return 0, nil, fmt.Errorf("it says that it is host %d, which is no member of the cluster", theirs.host())
	}
	keys, err := drawKeys(c.Secret, theirs, ours)
	if err != nil {
		return 0, nil, err
	}
	var proof [proofSize]byte
	if _, err := io.ReadFull(conn, proof[:]); err != nil {
		return 0, nil, err
	}
	if !hmac.Equal(proof[:], keys.dialer) {
		return 0, nil, fmt.Errorf("it says that it is host %d and does not have the secret of this one", theirs.host())
	}
	if _, err := conn.Write(keys.acceptor); err != nil {
		return 0, nil, err
	}
	mac, err := keys.mac(c)
	return theirs.host(), mac, err
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

// frameMAC authenticates the frames of a connection: GMAC with AES-256 over the payload, and a nonce of the number of
// the frame and its kind. Frames go in one direction only, so each side has one counter.
type frameMAC struct {
	aead   cipher.AEAD
	next   uint64
	buffer [12]byte // the last nonce
}

// macSize is what a MAC adds to a frame, behind the payload.
const macSize = 16

func (m *frameMAC) nonce(kind byte) []byte {
	binary.BigEndian.PutUint64(m.buffer[:], m.next)
	m.buffer[8] = kind
	m.next++
	return m.buffer[:]
}

// seal appends the MAC of the next frame, whose payload begins behind its header.
func (m *frameMAC) seal(frame []byte, kind byte) []byte {
	return m.aead.Seal(frame, m.nonce(kind), nil, frame[frameHeaderSize:])
}

// check reports whether a frame is the next one that the other side sent.
func (m *frameMAC) check(kind byte, payload, mac []byte) bool {
	_, err := m.aead.Open(nil, m.nonce(kind), mac, payload)
	return err == nil
}
