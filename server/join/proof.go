package join

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"errors"
)

// Transcript is a digest of the random bytes drawn by both sides for a connection. Proofs and seals made under a
// Transcript are worthless on other connections.
type Transcript [32]byte

// The labels keep a key for one purpose from being of use for another purpose.
const (
	tokenLabel  = "signalbox join token"
	secretLabel = "signalbox join secret"
	grantLabel  = "signalbox join grant"
)

// key is a key that only holders of the token or the secret can derive.
func (t Transcript) key(from []byte, label string) ([]byte, error) {
	return hkdf.Key(sha256.New, from, t[:], label, sha256.Size)
}

// prove returns a proof for an ask, which only a holder of the token or the secret can make.
func (t Transcript) prove(from []byte, label string, ask []byte) ([]byte, error) {
	key, err := t.key(from, label)
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, key)
	mac.Write(ask)
	return mac.Sum(nil), nil
}

// proves reports whether a proof is the expected proof.
func (t Transcript) proves(from []byte, label string, ask, proof []byte) bool {
	expected, err := t.prove(from, label, ask)
	return err == nil && hmac.Equal(expected, proof)
}

// sealer returns the cipher for the grant of an ask.
func (t Transcript) sealer(from []byte) (cipher.AEAD, error) {
	key, err := t.key(from, grantLabel)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// seal returns the grant for an ask in the form for the wire: sealed if from is not empty.
func (t Transcript) seal(from, ask []byte, g *Grant) ([]byte, error) {
	text, err := json.Marshal(g)
	if err != nil || len(from) == 0 {
		return text, err
	}
	sealer, err := t.sealer(from)
	if err != nil {
		return nil, err
	}
	return sealer.Seal(nil, nil, text, ask), nil
}

// errGrant: the answering host is not of the cluster, or does not know the proved token or secret.
var errGrant = errors.New("the answer is not of a host that knows the join token, or the secret of the cluster")

// open reads the output of seal.
func (t Transcript) open(from, ask, sealed []byte) (g Grant, err error) {
	if len(from) > 0 {
		sealer, err := t.sealer(from)
		if err != nil {
			return g, err
		}
		if sealed, err = sealer.Open(nil, nil, sealed, ask); err != nil {
			return g, errGrant
		}
	}
	return g, decode(sealed, &g)
}
