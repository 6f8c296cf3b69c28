package access

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"time"
)

const (
	// maxFileBytes is the largest size of a file of root tokens.
	maxFileBytes = 1 << 20
	// pollInterval is how often the file is read. A change counts when two reads in a row found equal content, so a
	// half-written file is not used.
	pollInterval = 500 * time.Millisecond
	// tokenBytes is how many random bytes a new token has.
	tokenBytes = 32
)

// tokenPrefix makes tokens easy to find in places where no token should be.
const tokenPrefix = "sbx_"

// hash stands in the file in the place of a token. A token is so random that guessing is hopeless, so a plain hash is
// enough.
type hash [sha256.Size]byte

func hashOf(token []byte) hash { return sha256.Sum256(token) }

// NewToken makes a random token.
func NewToken() string {
	var random [tokenBytes]byte
	_, _ = rand.Read(random[:]) // never fails
	return tokenPrefix + base64.RawURLEncoding.EncodeToString(random[:])
}

// HashText returns the hash of a token as files have it.
func HashText(token string) string {
	sum := hashOf([]byte(token))
	return hex.EncodeToString(sum[:])
}
