package access

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
)

// The limits of a file of tokens.
const (
	// MaxEntries is the largest number of entries of a file, MaxPaths the largest number of paths of an entry.
	MaxEntries = 10_000
	MaxPaths   = 1_000
	// MaxFileBytes is the largest size of a file.
	MaxFileBytes = 16 << 20
	// MaxNameBytes is the longest name in an entry.
	MaxNameBytes = 256

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

// Entry is an entry of the file.
type Entry struct {
	// Name is the name of the token's owner, for logs and metrics.
	Name string `yaml:"name"`
	// SHA256 is the hash of the token, in hex.
	SHA256 string `yaml:"sha256"`
	Roles  []Role `yaml:"roles"`
	// Paths are paths of nodes. A path covers the node with the path and all nodes below.
	Paths []string `yaml:"paths"`
}

// NewEntry returns the entry for a token.
func NewEntry(name, token string, roles []Role, paths []string) Entry {
	sum := hashOf([]byte(token))
	return Entry{Name: name, SHA256: hex.EncodeToString(sum[:]), Roles: roles, Paths: paths}
}

// Check returns all mistakes in the entry, as an error of type Mistakes.
func (e Entry) Check() error {
	_, mistakes := e.compile()
	if len(mistakes) == 0 {
		return nil
	}
	return mistakes
}

// Line returns the entry as a line of the file.
func (e Entry) Line() string {
	roles := make([]string, 0, len(e.Roles))
	for _, r := range e.Roles {
		roles = append(roles, quote(string(r)))
	}
	paths := make([]string, 0, len(e.Paths))
	for _, p := range e.Paths {
		paths = append(paths, quote(p))
	}
	return fmt.Sprintf("- {name: %s, sha256: %q, roles: [%s], paths: [%s]}",
		quote(e.Name), e.SHA256, strings.Join(roles, ", "), strings.Join(paths, ", "))
}

// quote puts a text into quotes if YAML could read the text in a different way.
func quote(s string) string {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', c == '/' && len(s) > 1, c == '_':
		case i > 0 && ('0' <= c && c <= '9' || c == '-' || c == '.'):
		default:
			return fmt.Sprintf("%q", s)
		}
	}
	switch strings.ToLower(s) {
	case "", "true", "false", "yes", "no", "on", "off", "null", "y", "n":
		return fmt.Sprintf("%q", s)
	}
	return s
}
