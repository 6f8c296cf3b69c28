package meta

import (
	"errors"
	"fmt"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/access"
	"github.com/signalbox/signalbox/shard/access"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// Requests about rights. The proposing host checks whether the asking principal may make the change, and names the
// rights revision it has checked; if the rights have changed since, the machine refuses the request.

// Rights returns the book of all rights, which never changes.
func (m *Machine) Rights() *access.Book {
	return look(m, func(c *content) *access.Book { return c.rights })
}

// Checked is the rights revision at which a change was found to be allowed; 0 means any revision.
type Checked uint64

// AccessGrant grants a principal a role.
type AccessGrant struct {
	Checked   Checked
	Principal access.Principal
	Grant     kind.Grant
}

func (ag *AccessGrant) code(c *codec.Coder) { codeAll(c, &ag.Checked, &ag.Principal, &ag.Grant) }

func (ag *AccessGrant) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.changeRights(at, ag.Checked, fmt.Sprintf("%v got the role %v", ag.Principal, ag.Grant),
		func(b *access.Book) (*access.Book, error) {
			return b.Grant(ag.Principal, ag.Grant, at.Wall, codec.Cut(at.By, kind.MaxName))
		})
}

// AccessRevoke revokes a role, or all roles, from a principal.
type AccessRevoke struct {
	Checked   Checked
	Principal access.Principal
	All       bool
	Grant     kind.Grant // unless All is set
}

func (ar *AccessRevoke) code(c *codec.Coder) {
	codeAll(c, &ar.Checked, &ar.Principal, &ar.All, &ar.Grant)
}

func (ar *AccessRevoke) apply(m *Machine, at hosts.At) hosts.Answer {
	what, grant := fmt.Sprintf("%v lost the role %v", ar.Principal, ar.Grant), &ar.Grant
	if ar.All {
		what, grant = fmt.Sprintf("%v lost all roles", ar.Principal), nil
	}
	return m.changeRights(at, ar.Checked, what, func(b *access.Book) (*access.Book, error) {
		return b.Revoke(ar.Principal, grant)
	})
}

// AccessRoleSet creates a role, or replaces its rules.
type AccessRoleSet struct {
	Checked Checked
	Name    string
	Rules   []kind.Rule
}

func (ars *AccessRoleSet) code(c *codec.Coder) {
	codeAll(c, &ars.Checked, &ars.Name)
	codec.List(c, &ars.Rules, anyLength, func(r *kind.Rule) { c.Fields(r.Fields) })
}

func (ars *AccessRoleSet) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.changeRights(at, ars.Checked, fmt.Sprintf("the role %s has %d rules now", ars.Name, len(ars.Rules)),
		func(b *access.Book) (*access.Book, error) { return b.SetRole(ars.Name, ars.Rules) })
}

// AccessRoleDelete removes a role.
type AccessRoleDelete struct {
	Checked Checked
	Name    string
}

func (ard *AccessRoleDelete) code(c *codec.Coder) { codeAll(c, &ard.Checked, &ard.Name) }

func (ard *AccessRoleDelete) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.changeRights(at, ard.Checked, fmt.Sprintf("the role %s was deleted", ard.Name),
		func(b *access.Book) (*access.Book, error) { return b.DeleteRole(ard.Name) })
}

// AccessTokenCreate creates a token. The asking client has drawn the secret; Hash is its SHA-256.
type AccessTokenCreate struct {
	Checked Checked
	Name    string
	Hash    [32]byte
	Expires uint64 // wall clock in milliseconds; 0 for never
	Grants  []kind.Grant
}

func (atc *AccessTokenCreate) code(c *codec.Coder) {
	codeAll(c, &atc.Checked, &atc.Name, &atc.Hash, &atc.Expires)
	codec.List(c, &atc.Grants, anyLength, func(g *kind.Grant) { c.Fields(g.Fields) })
}

func (atc *AccessTokenCreate) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.changeRights(at, atc.Checked, fmt.Sprintf("the token %s was made", atc.Name),
		func(b *access.Book) (*access.Book, error) {
			return b.CreateToken(atc.Name, atc.Hash, atc.Expires, atc.Grants, at.Wall, codec.Cut(at.By, kind.MaxName))
		})
}

// AccessTokenRevoke removes a token.
type AccessTokenRevoke struct {
	Checked Checked
	Name    string
}

func (atr *AccessTokenRevoke) code(c *codec.Coder) { codeAll(c, &atr.Checked, &atr.Name) }

func (atr *AccessTokenRevoke) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.changeRights(at, atr.Checked, fmt.Sprintf("the token %s was revoked", atr.Name),
		func(b *access.Book) (*access.Book, error) { return b.RevokeToken(atr.Name) })
}

// AccessImport sets roles and principals, and keeps all others.
type AccessImport struct {
	Checked Checked
	// First is set if the rules come from a host's file. They change nothing once there are rules.
	First   bool
	Roles   []kind.Role
	Entries []access.Entry
}

func (ai *AccessImport) code(c *codec.Coder) {
	codeAll(c, &ai.Checked, &ai.First)
	codec.List(c, &ai.Roles, anyLength, func(r *kind.Role) { c.Fields(r.Fields) })
	codec.List(c, &ai.Entries, anyLength, func(e *access.Entry) {
		codeAll(c, &e.Principal, &e.Hash, &e.Expires)
		codec.List(c, &e.Grants, anyLength, func(g *kind.Grant) { c.Fields(g.Fields) })
	})
}

func (ai *AccessImport) apply(m *Machine, at hosts.At) hosts.Answer {
	if ai.First && !m.rights.Open() {
		return hosts.Answer{Existed: true}
	}
	what := fmt.Sprintf("%d roles and %d principals were imported", len(ai.Roles), len(ai.Entries))
	return m.changeRights(at, ai.Checked, what, func(b *access.Book) (*access.Book, error) {
		return b.Import(ai.Roles, ai.Entries, at.Wall, codec.Cut(at.By, kind.MaxName))
	})
}

// changeRights changes the rights, and adds an audit entry.
func (m *Machine) changeRights(at hosts.At, checked Checked, what string,
	change func(*access.Book) (*access.Book, error)) hosts.Answer {
	if checked != 0 && uint64(checked) != m.rights.Revision() {
		return refusal(protocol.StatusOverloaded, "the rights were changed at the same time; try again")
	}
	next, err := change(m.rights)
	var refused *access.Refusal
	switch {
	case errors.As(err, &refused):
		return refusal(refused.Status, "%s", refused.Text)
	case next == m.rights:
		return hosts.Answer{Existed: true}
	}
	m.rights = next
	m.topology.records.Note(at, hosts.EventAccess, what)
	return hosts.Answer{}
}
