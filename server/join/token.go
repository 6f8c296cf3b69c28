package join

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"slices"
	"strings"
)

// Authority is the digest of the certificate of an authority, or of a host.
type Authority [sha256.Size]byte

// Authorities returns the digests of the certificates in a PEM file.
func Authorities(text []byte) (all []Authority) {
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return all
		}
		if block.Type == "CERTIFICATE" {
			all = append(all, sha256.Sum256(block.Bytes))
		}
	}
}

// Token lets one host join. The meta shard has its id and its hash; the token itself is shown once, to who made it.
type Token struct {
	ID     string
	secret []byte
	// Authority is that of the hosts' certificates, zero where hosts do not use TLS.
	Authority Authority
}

const (
	// TokenPrefix is what the text of every join token begins with.
	TokenPrefix = "sbj."
	// tokenSecretBytes is the length of the secret.
	tokenSecretBytes = 32
	// tokenIDLetters is the length of the id of a new token.
	tokenIDLetters = 10
)

// NewToken draws a join token for a cluster whose hosts have certificates of this authority; zero: they have none.
func NewToken(authority Authority) Token {
	secret := make([]byte, tokenSecretBytes)
	_, _ = rand.Read(secret) // never fails
	return Token{ID: strings.ToLower(rand.Text()[:tokenIDLetters]), secret: secret, Authority: authority}
}

// Hash is what the meta shard keeps of the token. It is also what proofs are made from.
func (t *Token) Hash() [32]byte { return sha256.Sum256(t.secret) }

// String returns the token as it is given to a host.
func (t *Token) String() string {
	parts := []string{t.ID, base64.RawURLEncoding.EncodeToString(t.secret)}
	if t.Authority != (Authority{}) {
		parts = append(parts, base64.RawURLEncoding.EncodeToString(t.Authority[:]))
	}
	return TokenPrefix + strings.Join(parts, ".")
}

var errToken = errors.New("it is no join token, which begins with " + TokenPrefix + " and which signalbox host " +
	"join-token makes")

// ParseToken reads what String returns.
func ParseToken(text string) (t Token, err error) {
	rest, ok := strings.CutPrefix(strings.TrimSpace(text), TokenPrefix)
	parts := strings.Split(rest, ".")
	if !ok || len(parts) < 2 || len(parts) > 3 || parts[0] == "" {
		return t, errToken
	}
	secret, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || len(secret) != tokenSecretBytes {
		return t, errToken
	}
	t = Token{ID: parts[0], secret: secret}
	if len(parts) == 3 {
		authority, err := base64.RawURLEncoding.DecodeString(parts[2])
		if err != nil || len(authority) != len(t.Authority) {
			return Token{}, errToken
		}
		t.Authority = Authority(authority)
	}
	return t, nil
}

// CheckAuthorities returns what is wrong with the authorities by which a host is to know the others: the token says
// which one they have.
func (t *Token) CheckAuthorities(trusted []Authority) error {
	switch {
	case t.Authority == (Authority{}) || slices.Contains(trusted, t.Authority):
		return nil
	case len(trusted) == 0:
		return errors.New("the hosts of the cluster know each other by certificates: give --raft-tls-cert, " +
			"--raft-tls-key and --raft-tls-ca as well")
	}
	return errors.New("it was made for another authority than --raft-tls-ca has: one of the two is of another cluster")
}
