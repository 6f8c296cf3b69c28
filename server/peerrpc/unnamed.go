package peerrpc

import (
	"context"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
)

// CallUnnamed calls the host at an address without an identity. request builds the request for the connection. The
// connection is used for one call only.
type CallUnnamed func(ctx context.Context, address string, request func(Transcript) ([]byte, error)) (answer []byte,
	err error)

// Transcript is a digest of the random bytes both sides draw for a connection. Proofs and seals made with a
// Transcript are worthless on other connections.
type Transcript [32]byte

// Key returns a key that only holders of the secret can derive. The label keeps a key made for one purpose from being
// used for another.
func (t Transcript) Key(secret []byte, label string) ([]byte, error) {
	return hkdf.Key(sha256.New, secret, t[:], label, sha256.Size)
}

// Prove returns a proof for a message, which only a holder of the secret can make.
func (t Transcript) Prove(secret []byte, label string, message []byte) ([]byte, error) {
	key, err := t.Key(secret, label)
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, key)
	mac.Write(message)
	return mac.Sum(nil), nil
}

// Proves reports whether a proof is the expected proof.
func (t Transcript) Proves(secret []byte, label string, message, proof []byte) bool {
	expected, err := t.Prove(secret, label, message)
	return err == nil && hmac.Equal(expected, proof)
}
