package meta

import (
	"errors"
	"fmt"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/internal/form"
	"github.com/signalbox/signalbox/shard/rights"
)

// What is asked about rights. Whether who asks may give them is for the host to say that proposes it: it names the
// revision of the rights that it has looked at, and nothing is changed where they are others by then.

// RightsLevel is the level from which the machine keeps rights.
var RightsLevel = level.Of(level.MetaRecord, "State.Rights")

// Rights returns who may do what. It never changes.
func (m *Machine) Rights() *rights.Book {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.rights
}

// Checked is the revision of the rights by which a change of them was found to be allowed; 0 for any.
type Checked uint64

// AccessGrant gives a principal a role.
type AccessGrant struct {
	Checked   Checked
	Principal rights.Principal
	Grant     rights.Grant
}

func (*AccessGrant) kind() CommandKind { return CmdAccessGrant }

func (ag *AccessGrant) code(c *form.Coder) {
	c.Number((*uint64)(&ag.Checked))
	ag.Principal.Code(c)
	ag.Grant.Code(c)
}

func (ag *AccessGrant) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.changeRights(at, ag.Checked, fmt.Sprintf("%v got the role %v", ag.Principal, ag.Grant),
		func(b *rights.Book) (*rights.Book, error) {
			return b.Grant(ag.Principal, ag.Grant, at.Wall, form.Cut(at.By, rights.MaxName))
		})
}

// AccessRevoke takes a role from a principal, or all roles.
type AccessRevoke struct {
	Checked   Checked
	Principal rights.Principal
	All       bool
	Grant     rights.Grant // where it is not all
}

func (*AccessRevoke) kind() CommandKind { return CmdAccessRevoke }

func (ar *AccessRevoke) code(c *form.Coder) {
	c.Number((*uint64)(&ar.Checked))
	ar.Principal.Code(c)
	c.Flag(&ar.All)
	ar.Grant.Code(c)
}

func (ar *AccessRevoke) apply(m *Machine, at hosts.At) hosts.Answer {
	what, grant := fmt.Sprintf("%v lost the role %v", ar.Principal, ar.Grant), &ar.Grant
	if ar.All {
		what, grant = fmt.Sprintf("%v lost all roles", ar.Principal), nil
	}
	return m.changeRights(at, ar.Checked, what, func(b *rights.Book) (*rights.Book, error) {
		return b.Revoke(ar.Principal, grant, at.Wall, form.Cut(at.By, rights.MaxName))
	})
}

// AccessRoleSet makes a role, or gives it other rules.
type AccessRoleSet struct {
	Checked Checked
	Name    string
	Rules   []rights.Rule
}

func (*AccessRoleSet) kind() CommandKind { return CmdAccessRoleSet }

func (rs *AccessRoleSet) code(c *form.Coder) {
	c.Number((*uint64)(&rs.Checked))
	c.Text(&rs.Name, anyLength)
	form.List(c, &rs.Rules, anyLength, func(r *rights.Rule) { r.Code(c) })
}

func (rs *AccessRoleSet) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.changeRights(at, rs.Checked, fmt.Sprintf("the role %s has %d rules now", rs.Name, len(rs.Rules)),
		func(b *rights.Book) (*rights.Book, error) { return b.SetRole(rs.Name, rs.Rules) })
}

// AccessRoleDelete removes a role.
type AccessRoleDelete struct {
	Checked Checked
	Name    string
}

func (*AccessRoleDelete) kind() CommandKind { return CmdAccessRoleDelete }

func (rd *AccessRoleDelete) code(c *form.Coder) {
	c.Number((*uint64)(&rd.Checked))
	c.Text(&rd.Name, anyLength)
}

func (rd *AccessRoleDelete) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.changeRights(at, rd.Checked, fmt.Sprintf("the role %s was deleted", rd.Name),
		func(b *rights.Book) (*rights.Book, error) { return b.DeleteRole(rd.Name) })
}

// AccessTokenCreate makes a token. Who asks has drawn its secret, of which Hash is the SHA-256.
type AccessTokenCreate struct {
	Checked Checked
	Name    string
	Hash    [32]byte
	Expires uint64 // wall clock in milliseconds; 0 for never
	Grants  []rights.Grant
}

func (*AccessTokenCreate) kind() CommandKind { return CmdAccessTokenCreate }

func (tc *AccessTokenCreate) code(c *form.Coder) {
	c.Number((*uint64)(&tc.Checked))
	c.Text(&tc.Name, anyLength)
	fixed(c, tc.Hash[:])
	c.Number(&tc.Expires)
	form.List(c, &tc.Grants, anyLength, func(g *rights.Grant) { g.Code(c) })
}

func (tc *AccessTokenCreate) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.changeRights(at, tc.Checked, fmt.Sprintf("the token %s was made", tc.Name),
		func(b *rights.Book) (*rights.Book, error) {
			return b.CreateToken(tc.Name, tc.Hash, tc.Expires, tc.Grants, at.Wall, form.Cut(at.By, rights.MaxName))
		})
}

// AccessTokenRevoke removes a token.
type AccessTokenRevoke struct {
	Checked Checked
	Name    string
}

func (*AccessTokenRevoke) kind() CommandKind { return CmdAccessTokenRevoke }

func (tr *AccessTokenRevoke) code(c *form.Coder) {
	c.Number((*uint64)(&tr.Checked))
	c.Text(&tr.Name, anyLength)
}

func (tr *AccessTokenRevoke) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.changeRights(at, tr.Checked, fmt.Sprintf("the token %s was revoked", tr.Name),
		func(b *rights.Book) (*rights.Book, error) { return b.RevokeToken(tr.Name) })
}

// changeRights carries a change out, and writes down what it was.
func (m *Machine) changeRights(at hosts.At, checked Checked, what string,
	change func(*rights.Book) (*rights.Book, error)) hosts.Answer {
	if checked != 0 && uint64(checked) != m.rights.Revision() {
		return refusal(protocol.StatusOverloaded, "the rights were changed at the same time; try again")
	}
	next, err := change(m.rights)
	var refused *rights.Refusal
	switch {
	case errors.As(err, &refused):
		return refusal(refused.Status, "%s", refused.Text)
	case next == m.rights:
		return hosts.Answer{Existed: true}
	}
	m.rights = next
	m.topology.records.NoteAccess(at, what)
	return hosts.Answer{}
}
