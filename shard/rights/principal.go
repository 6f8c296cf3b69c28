package rights

import (
	"github.com/signalbox/signalbox/protocol/field"
	kind "github.com/signalbox/signalbox/protocol/rights"
)

// The types below are aliases: package protocol/rights declares them once, for hosts and clients.
type (
	// Principal names an identity of clients.
	Principal = kind.Identity
	Rule      = kind.Rule
	Grant     = kind.Grant
	Role      = kind.Role
)

// The kinds of principals.
const (
	Token      = kind.Token
	CommonName = kind.CommonName
	AltName    = kind.AltName
	Anonymous  = kind.Anonymous
)

// Record is the record of a principal, and never changes.
type Record struct {
	Principal
	// Hash is the SHA-256 of the secret of a token; zero for the other kinds.
	Hash [32]byte
	// Expires is the wall clock in milliseconds from which on the token lets in no more; 0 for never. Hosts go by their
	// own clocks.
	Expires uint64
	// Created is the wall clock at the making of the record, By the author.
	Created uint64
	By      string
	Grants  []Grant
}

// View returns the record for people.
func (r *Record) View() kind.Principal {
	return kind.Principal{Name: r.Principal.String(), Created: field.WallTime(r.Created), By: r.By, Grants: r.Grants,
		Expires: field.WallTime(r.Expires)}
}

// size is about the length of the record in its saved form.
func (r *Record) size() int {
	n := len(r.Name) + len(r.By) + 64
	for _, g := range r.Grants {
		n += len(g.Role) + len(g.Path) + len(g.Object) + 6
	}
	return n
}

// sizeOf is about the length of a role in its saved form.
func sizeOf(r *Role) int {
	n := len(r.Name) + 8
	for _, rule := range r.Rules {
		n += len(rule.Path) + len(rule.Object) + 8
	}
	return n
}
