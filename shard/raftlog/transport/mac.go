package transport

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
)

// setMACs creates the frame MACs, if there is a secret.
func (g *greeting) setMACs(secret, out, in []byte) (err error) {
	if len(secret) == 0 {
		return nil
	}
	if g.out, err = newFrameMAC(out); err != nil {
		return err
	}
	g.in, err = newFrameMAC(in)
	return err
}

// frameMAC authenticates the frames in one direction on a connection: GMAC with AES-256 over the payload, with a nonce
// made from the frame number and its kind. Each side has a counter, and each direction a key.
type frameMAC struct {
	aead   cipher.AEAD
	next   uint64
	buffer [12]byte // the last nonce
}

func newFrameMAC(key []byte) (*frameMAC, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	return &frameMAC{aead: aead}, nil
}

// macSize is how many bytes a MAC adds to a frame, after the payload.
const macSize = 16

func (m *frameMAC) nonce(kind byte) []byte {
	binary.BigEndian.PutUint64(m.buffer[:], m.next)
	m.buffer[8] = kind
	m.next++
	return m.buffer[:]
}

// seal appends the next frame's MAC; the payload begins after the header.
func (m *frameMAC) seal(frame []byte, kind byte) []byte {
	return m.aead.Seal(frame, m.nonce(kind), nil, frame[frameHeaderSize:])
}

// check reports whether a frame is the next frame the peer sent.
func (m *frameMAC) check(kind byte, payload, mac []byte) bool {
	_, err := m.aead.Open(nil, m.nonce(kind), mac, payload)
	return err == nil
}
