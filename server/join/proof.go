package join

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/json"
	"errors"

	"github.com/signalbox/signalbox/server/peerrpc"
)

// The labels keep a key made for one purpose from being used for another.
const (
	tokenLabel  = "signalbox join token"
	secretLabel = "signalbox join secret"
	grantLabel  = "signalbox join grant"
)

// sealer returns the cipher for an ask's grant.
func sealer(t peerrpc.Transcript, from []byte) (cipher.AEAD, error) {
	key, err := t.Key(from, grantLabel)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// seal returns the grant for an ask in wire form, sealed if from is not empty.
func seal(t peerrpc.Transcript, from, ask []byte, g *Grant) ([]byte, error) {
	text, err := json.Marshal(g)
	if err != nil || len(from) == 0 {
		return text, err
	}
	c, err := sealer(t, from)
	if err != nil {
		return nil, err
	}
	return c.Seal(nil, nil, text, ask), nil
}

// errGrant: the answering host is not in the cluster, or does not know the proven token or secret.
var errGrant = errors.New("the answering host does not know the join token or the cluster secret")

// open reads the output of seal.
func open(t peerrpc.Transcript, from, ask, sealed []byte) (g Grant, err error) {
	if len(from) > 0 {
		c, err := sealer(t, from)
		if err != nil {
			return g, err
		}
		if sealed, err = c.Open(nil, nil, sealed, ask); err != nil {
			return g, errGrant
		}
	}
	return g, decode(sealed, &g)
}
