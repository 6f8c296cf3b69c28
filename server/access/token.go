package access

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"time"
)

const (
	// maxFileBytes is the maximum size of a root token file.
	maxFileBytes = 1 << 20
	// pollInterval is the interval between file reads. A change takes effect after two consecutive reads with equal
	// content, so a half-written file is ignored.
	pollInterval = 500 * time.Millisecond
	// tokenBytes is the number of random bytes in a new token.
	tokenBytes = 32
)

// tokenPrefix makes leaked tokens easy to find.
const tokenPrefix = "sbx_"

// hash is stored in files in place of the token. Tokens have enough random bits to make guessing hopeless, so a plain
// hash is sufficient.
type hash [sha256.Size]byte

func hashOf(token []byte) hash { return sha256.Sum256(token) }

// NewToken returns a random token.
func NewToken() string {
	var random [tokenBytes]byte
	_, _ = rand.Read(random[:]) // never fails
	return tokenPrefix + base64.RawURLEncoding.EncodeToString(random[:])
}

// HashText returns the token hash in the file format.
func HashText(token string) string {
	sum := hashOf([]byte(token))
	return hex.EncodeToString(sum[:])
}
