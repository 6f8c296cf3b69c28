package admin

import (
	"context"
	"crypto/sha256"
	"iter"
	"slices"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/rights"
)

// The kinds of operations on rights, as hooks see them.
const (
	OpAccess     client.OperationKind = "change_access"
	OpListAccess client.OperationKind = "list_access"
	OpAskAccess  client.OperationKind = "ask_access"
	OpDenials    client.OperationKind = "list_denials"
)

// The types below are aliases: package protocol/rights declares them once, for hosts and clients.
type (
	// Grant is a role below a path.
	Grant = rights.Grant
	// Rule allows rights below a path.
	Rule = rights.Rule
	// Right is a sum of rights: rights.See, rights.Acquire and so on.
	Right = rights.Right
	// Principal is who clients are, with their roles.
	Principal = rights.Principal
	// AccessRole is a list of rules under a name.
	AccessRole = rights.Role
	// Decision is why a principal may do something.
	Decision = rights.Decision
)

// Grant gives a principal a role. A caller with the right admin on a path may give rights below the path, but no rights
// that the caller lacks there.
func (a *Admin) Grant(ctx context.Context, principal string, g Grant, by By) (changed bool, err error) {
	m := &protocol.AccessChange{Verb: protocol.AccessGrantRole, Principal: protocol.View(principal)}
	m.Grants = []Grant{g}
	return a.access(ctx, principal, m, by)
}

// Revoke takes a role from a principal, or all roles if g is nil. To take all roles from anonymous closes the cluster
// for clients that show neither a token nor a certificate.
func (a *Admin) Revoke(ctx context.Context, principal string, g *Grant, by By) (changed bool, err error) {
	m := &protocol.AccessChange{Verb: protocol.AccessRevokeRole, Principal: protocol.View(principal)}
	if g != nil {
		m.Grants = []Grant{*g}
	}
	return a.access(ctx, principal, m, by)
}

// SetRole makes a role, or gives an existing role new rules, for all principals that have the role.
func (a *Admin) SetRole(ctx context.Context, role AccessRole, by By) (changed bool, err error) {
	m := &protocol.AccessChange{Verb: protocol.AccessSetRole, Role: protocol.View(role.Name), Rules: role.Rules}
	return a.access(ctx, role.Name, m, by)
}

// DeleteRole deletes a role that is granted nowhere.
func (a *Admin) DeleteRole(ctx context.Context, name string, by By) (changed bool, err error) {
	m := &protocol.AccessChange{Verb: protocol.AccessDeleteRole, Role: protocol.View(name)}
	return a.access(ctx, name, m, by)
}

// CreateToken makes a token of a secret that the caller has drawn: hosts get the hash of the secret. The zero time is
// for never.
func (a *Admin) CreateToken(ctx context.Context, name, secret string, expires time.Time, grants []Grant, by By,
) (changed bool, err error) {
	return a.CreateTokenOf(ctx, name, sha256.Sum256([]byte(secret)), expires, grants, by)
}

// CreateTokenOf is CreateToken for a caller that knows the SHA-256 of the secret, and not the secret.
func (a *Admin) CreateTokenOf(ctx context.Context, name string, hash [32]byte, expires time.Time, grants []Grant, by By,
) (changed bool, err error) {
	m := &protocol.AccessChange{Verb: protocol.AccessCreateToken, Principal: protocol.View("token:" + name),
		Hash: hash[:], Grants: grants}
	if !expires.IsZero() {
		m.ExpiresMillis = uint64(max(1, expires.UnixMilli())) // 0 stands for never
	}
	return a.access(ctx, name, m, by)
}

// RevokeToken ends a token: connections that came with the token are closed.
func (a *Admin) RevokeToken(ctx context.Context, name string, by By) (changed bool, err error) {
	m := &protocol.AccessChange{Verb: protocol.AccessRevokeToken, Principal: protocol.View("token:" + name)}
	return a.access(ctx, name, m, by)
}

func (a *Admin) access(ctx context.Context, name string, m *protocol.AccessChange, by By) (changed bool, err error) {
	m.Operation = by.operation()
	err = a.change(ctx, OpAccess, name, m, &m.Operation, func(a *protocol.Answer) uint64 {
		changed = !a.AccessChange.Existed
		return a.AccessChange.Since
	})
	return changed, err
}

// Principals returns the principals with a role at a path where the caller may give rights. Decided says whether the
// rights of anonymous clients were ever set; until then, hosts without a file of tokens let anonymous clients do
// everything.
func (a *Admin) Principals(ctx context.Context) (list []Principal, decided bool, err error) {
	for part, err := range a.AccessParts(ctx, false, "") {
		if err != nil {
			return nil, false, err
		}
		list, decided = append(list, part.Principals...), part.Decided
	}
	return list, decided, nil
}

// AccessPart is a part of the list of principals, or of the list of roles.
type AccessPart struct {
	Principals []Principal
	Roles      []AccessRole
	// Decided: it was decided what anonymous clients may do.
	Decided bool
}

// AccessParts lists principals, or roles, in parts of about 256 KiB, behind a name; an empty name begins with the
// first. It is for programs that need not have all of them in memory at once.
func (a *Admin) AccessParts(ctx context.Context, roles bool, after string) iter.Seq2[AccessPart, error] {
	return func(yield func(AccessPart, error) bool) {
		m := &protocol.AccessList{Roles: roles, After: protocol.View(after)}
		for {
			var part AccessPart
			err := a.read(ctx, OpListAccess, cluster.AnyHost, m, func(a *protocol.Answer) {
				is := &a.AccessList
				part = AccessPart{is.Principals, is.Roles, is.Decided}
				m.After = slices.Clone(is.Next)
			})
			if !yield(part, err) || err != nil || len(m.After) == 0 {
				return
			}
		}
	}
}

// Roles returns the roles that were made.
func (a *Admin) Roles(ctx context.Context) (list []AccessRole, err error) {
	for part, err := range a.AccessParts(ctx, true, "") {
		if err != nil {
			return nil, err
		}
		list = append(list, part.Roles...)
	}
	return list, nil
}

// WhoCan returns the principals that may do something at a path, with objects of a name if a name is given.
func (a *Admin) WhoCan(ctx context.Context, right, path, object string) (list []Decision, more bool, err error) {
	return a.ask(ctx, "", right, path, object)
}

// Can returns by which rule a principal may do something, nil if the principal may not.
func (a *Admin) Can(ctx context.Context, principal, right, path, object string) (*Decision, error) {
	list, _, err := a.ask(ctx, principal, right, path, object)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}

func (a *Admin) ask(
	ctx context.Context, principal, right, path, object string,
) (list []Decision, more bool, err error) {
	need, _ := rights.SumOf(right) // no right for an unknown name; no principal has it
	m := &protocol.AccessAsk{Principal: protocol.View(principal), Path: protocol.View(path),
		Object: protocol.View(object), Right: need}
	err = a.read(ctx, OpAskAccess, cluster.AnyHost, m, func(a *protocol.Answer) {
		list, more = a.AccessAsk.Decisions, a.AccessAsk.More
	})
	return list, more, err
}
