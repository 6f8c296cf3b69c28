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

// Authority is the digest of a CA or host certificate.
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

// Token lets a single host join. The meta shard stores the token's id and hash; the token itself is shown once, to
// its creator.
type Token struct {
	ID     string
	secret []byte
	// Authority is the authority that signs the hosts' certificates, zero if hosts do not use TLS.
	Authority Authority
}

const (
	// TokenPrefix is the prefix of every join token.
	TokenPrefix = "sbj."
	// tokenSecretBytes is the secret's length.
	tokenSecretBytes = 32
	// tokenIDLetters is the length of a new token's id.
	tokenIDLetters = 10
)

// NewToken draws a join token for a cluster whose host certificates are from the given authority; zero without
// certificates.
func NewToken(authority Authority) Token {
	secret := make([]byte, tokenSecretBytes)
	_, _ = rand.Read(secret) // never fails
	return Token{ID: strings.ToLower(rand.Text()[:tokenIDLetters]), secret: secret, Authority: authority}
}

// Hash is what the meta shard stores for the token. Proofs are made from the hash too.
func (t *Token) Hash() [32]byte { return sha256.Sum256(t.secret) }

// String returns the token in the form a host receives.
func (t *Token) String() string {
	parts := []string{t.ID, base64.RawURLEncoding.EncodeToString(t.secret)}
	if t.Authority != (Authority{}) {
		parts = append(parts, base64.RawURLEncoding.EncodeToString(t.Authority[:]))
	}
	return TokenPrefix + strings.Join(parts, ".")
}

var errToken = errors.New("invalid join token; a join token begins with " + TokenPrefix + " and is created by " +
	"signalbox host join-token create")

// ParseToken parses the result of String.
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

// CheckAuthorities compares the authorities a host trusts with the authority named in the token, and returns an error
// if they differ.
func (t *Token) CheckAuthorities(trusted []Authority) error {
	switch {
	case t.Authority == (Authority{}) || slices.Contains(trusted, t.Authority):
		return nil
	case len(trusted) == 0:
		return errors.New("the cluster authenticates hosts by certificates; give --raft-tls-cert, --raft-tls-key " +
			"and --raft-tls-ca too")
	}
	return errors.New("the join token was created for another CA than --raft-tls-ca; one of the two belongs to " +
		"another cluster")
}
