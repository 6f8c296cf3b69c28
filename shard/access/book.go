package access

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/access"
)

// Book has a cluster's roles and principals at one point in time, and never changes. A change returns a new book, which
// shares the unchanged parts with the old book. A book is safe for concurrent use.
type Book struct {
	revision uint64
	roles    []*Role   // created by operators, by name
	records  []*Record // by kind and name
	tokens   []*Record // the token records, by hash
	bytes    int
}

// Empty is the book for a cluster without any rights changes so far.
func Empty() *Book { return &Book{} }

// Refusal is why a change is refused.
type Refusal struct {
	Status protocol.Status
	Text   string
}

// Error returns the text.
func (r *Refusal) Error() string { return r.Text }

func refuse(s protocol.Status, format string, args ...any) error {
	return &Refusal{s, fmt.Sprintf(format, args...)}
}

func badRequest(err error) error { return &Refusal{protocol.StatusBadRequest, err.Error()} }

// Revision grows by one with each change.
func (b *Book) Revision() uint64 { return b.revision }

// Roles returns the roles created by operators, by name. Callers must not modify the list.
func (b *Book) Roles() []*Role { return b.roles }

// Records returns the principals by kind and name. Callers must not modify the list.
func (b *Book) Records() []*Record { return b.records }

// Role returns the role with a name, predefined or created, or nil.
func (b *Book) Role(name string) *Role {
	if r := kind.Predefined(name); r != nil {
		return r
	}
	if i, found := b.roleIndex(name); found {
		return b.roles[i]
	}
	return nil
}

func (b *Book) roleIndex(name string) (int, bool) {
	return slices.BinarySearchFunc(b.roles, name, func(r *Role, name string) int { return cmp.Compare(r.Name, name) })
}

// Record returns a principal's record, or nil.
func (b *Book) Record(p Principal) *Record {
	if i, found := b.index(p); found {
		return b.records[i]
	}
	return nil
}

func (b *Book) index(p Principal) (int, bool) {
	return slices.BinarySearchFunc(b.records, p, func(r *Record, p Principal) int { return r.Compare(p) })
}

// TokenOf returns a secret's token, or nil if the secret is unknown or the token has expired at the wall clock time.
func (b *Book) TokenOf(secret []byte, wall uint64) *Record {
	i, found := b.hashIndex(sha256.Sum256(secret))
	if !found || len(secret) == 0 {
		return nil
	}
	if t := b.tokens[i]; !t.Over(wall) {
		return t
	}
	return nil
}

// Over reports whether a token has expired at the wall clock time.
func (r *Record) Over(wall uint64) bool { return r.Expires != 0 && wall >= r.Expires }

func (b *Book) hashIndex(hash [32]byte) (int, bool) {
	return slices.BinarySearchFunc(b.tokens, hash, func(r *Record, hash [32]byte) int {
		return bytes.Compare(r.Hash[:], hash[:])
	})
}

// Open reports whether no rule was ever set. Anonymous clients may then do everything. A book never becomes open again,
// so revoking the last rule does not open a cluster.
func (b *Book) Open() bool { return b.revision == 0 }

// Set returns the rights for a client that has all the principals. A principal without a record contributes nothing.
func (b *Book) Set(who ...Principal) *Set {
	var list []Origin
	for _, p := range who {
		if r := b.Record(p); r != nil {
			list = b.origins(list, r)
		}
	}
	return compile(list)
}

// origins appends a principal's rules.
func (b *Book) origins(list []Origin, r *Record) []Origin {
	for _, g := range r.Grants {
		for _, rule := range b.RulesOf(g) {
			list = append(list, Origin{Principal: r.Principal, Grant: g, Rule: rule})
		}
	}
	return list
}

// RulesOf returns a grant's rules.
func (b *Book) RulesOf(g Grant) (rules []Rule) {
	role := b.Role(g.Role)
	if role == nil {
		return nil
	}
	for _, r := range role.Rules {
		if rule, ok := below(r, g.Path, g.Object); ok {
			rules = append(rules, rule)
		}
	}
	return rules
}

// below returns the rule as granted below a path, for objects with a name prefix; ok is false if the rule allows
// nothing there.
func below(r Rule, path, object string) (_ Rule, ok bool) {
	switch {
	case path == "/":
	case r.Path == "/":
		r.Path = path
	default:
		r.Path = path + r.Path
	}
	switch {
	case strings.HasPrefix(r.Object, object):
	case strings.HasPrefix(object, r.Object):
		r.Object = object
	default:
		return r, false
	}
	r.Rights = r.Effective()
	return r, r.Rights != 0
}

// Holders returns the principals that have a right, by kind and name, each with the deciding rule.
func (b *Book) Holders(path, object string, need protocol.Right) (list []Origin) {
	for _, r := range b.records {
		if o, ok := b.Set(r.Principal).Decide(path, object, need); ok {
			list = append(list, o)
		}
	}
	return list
}

// Limits on a book. They are constants because every replica must agree on them.
const (
	// MaxTokens is the maximum number of tokens, MaxCertificates the maximum number of certificate rules.
	MaxTokens       = 10_000
	MaxCertificates = 10_000
	// MaxRoles is the maximum number of created roles.
	MaxRoles = 1_000
	// MaxBytes is the maximum encoded size of all roles and principals together.
	MaxBytes = 16 << 20
)
