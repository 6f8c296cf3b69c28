package access

import (
	"encoding/hex"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/access"
	"github.com/signalbox/signalbox/protocol/field"
)

// The types below are aliases: package protocol/access declares them once, for hosts and clients.
type (
	// Principal names a client identity.
	Principal = kind.Identity
	Rule      = kind.Rule
	Grant     = kind.Grant
	Role      = kind.Role
)

// The principal kinds.
const (
	Token      = kind.Token
	CommonName = kind.CommonName
	AltName    = kind.AltName
	Anonymous  = kind.Anonymous
)

// Record is a principal's record, and never changes.
type Record struct {
	Principal
	// Hash is the SHA-256 of a token's secret; zero for the other kinds.
	Hash [32]byte
	// Expires is the wall clock time, in milliseconds, from which the token is invalid; 0 for never. Hosts use their
	// own clocks.
	Expires uint64
	// Created is the wall clock time when the record was created, By the author.
	Created uint64
	By      string
	Grants  []Grant
}

// View returns the record for people, without the hash.
func (r *Record) View() kind.Principal {
	return kind.Principal{Name: r.Principal.String(), Created: field.WallTime(r.Created), By: r.By, Grants: r.Grants,
		Expires: field.WallTime(r.Expires)}
}

// Export returns a record's View, and the token's hash, in the form that Import reads. If a role has changed so that a
// grant has no effect, Export leaves out the grant, because Import would refuse it.
func (b *Book) Export(r *Record) kind.Principal {
	p := r.View()
	p.Grants = slices.DeleteFunc(slices.Clone(p.Grants), func(g Grant) bool { return b.checkGrant(g) != nil })
	if r.Kind == Token {
		p.SHA256 = hex.EncodeToString(r.Hash[:])
	}
	return p
}

// Entry is a principal in an import: a Record without its author.
type Entry struct {
	Principal Principal
	Hash      [32]byte
	Expires   uint64
	Grants    []Grant
}

// Entries returns the import entries for exported principals, or a Refusal.
func Entries(list []kind.Principal) ([]Entry, error) {
	entries := make([]Entry, len(list))
	for i, p := range list {
		e := &entries[i]
		var err error
		if e.Principal, err = kind.ParseIdentity(p.Name); err != nil {
			return nil, badRequest(err)
		}
		hash, err := hex.DecodeString(p.SHA256)
		token := e.Principal.Kind == Token
		if err != nil || token && len(hash) != len(e.Hash) || !token && len(hash) != 0 {
			return nil, refuse(protocol.StatusBadRequest, "%s: a token has sha256, the SHA-256 of its secret in 64 "+
				"hex digits, and no other principal has it", p.Name)
		}
		if e.Grants = p.Grants; !p.Expires.IsZero() {
			e.Expires = uint64(max(1, p.Expires.UnixMilli())) // 0 stands for never
		}
		copy(e.Hash[:], hash)
	}
	return entries, nil
}

// size is the approximate encoded size of the record.
func (r *Record) size() int {
	n := len(r.Name) + len(r.By) + 64
	for _, g := range r.Grants {
		n += len(g.Role) + len(g.Path) + len(g.Object) + 6
	}
	return n
}

// sizeOf is the approximate encoded size of a role.
func sizeOf(r *Role) int {
	n := len(r.Name) + 8
	for _, rule := range r.Rules {
		n += len(rule.Path) + len(rule.Object) + 8
	}
	return n
}
