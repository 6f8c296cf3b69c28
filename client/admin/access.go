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
	"github.com/signalbox/signalbox/protocol/access"
)

// The kinds of operations on rights, as hooks see them.
const (
	OpAccess     client.OperationKind = "change_access"
	OpListAccess client.OperationKind = "list_access"
	OpAskAccess  client.OperationKind = "ask_access"
	OpDenials    client.OperationKind = "list_denials"
)

// The types below are aliases: package protocol/access declares them once, for hosts and clients.
type (
	// Grant is a role below a path.
	Grant = access.Grant
	// Rule allows rights below a path.
	Rule = access.Rule
	// Right is a sum of rights: access.See, access.Acquire and so on.
	Right = access.Right
	// Principal is who clients are, with their roles.
	Principal = access.Principal
	// AccessRole is a list of rules under a name.
	AccessRole = access.Role
	// AccessRules are roles and principals. Tokens have hashes in them, never secrets.
	AccessRules = access.Rules
	// Decision is why a principal may do something.
	Decision = access.Decision
)

// Grant gives a principal a role. A caller with the right admin on a path may give rights below the path, but no rights
// that the caller lacks there.
func (a *Admin) Grant(ctx context.Context, principal string, g Grant, by ChangeInfo) (changed bool, err error) {
	m := &protocol.AccessChange{Action: protocol.AccessGrantRole, Principal: protocol.View(principal)}
	m.Grants = []Grant{g}
	return a.access(ctx, principal, m, by)
}

// Revoke takes a role from a principal, or all roles if g is nil.
func (a *Admin) Revoke(ctx context.Context, principal string, g *Grant, by ChangeInfo) (changed bool, err error) {
	m := &protocol.AccessChange{Action: protocol.AccessRevokeRole, Principal: protocol.View(principal)}
	if g != nil {
		m.Grants = []Grant{*g}
	}
	return a.access(ctx, principal, m, by)
}

// SetRole makes a role, or gives an existing role new rules, for all principals that have the role.
func (a *Admin) SetRole(ctx context.Context, role AccessRole, by ChangeInfo) (changed bool, err error) {
	m := &protocol.AccessChange{Action: protocol.AccessSetRole, Role: protocol.View(role.Name), Rules: role.Rules}
	return a.access(ctx, role.Name, m, by)
}

// DeleteRole deletes a role that is granted nowhere.
func (a *Admin) DeleteRole(ctx context.Context, name string, by ChangeInfo) (changed bool, err error) {
	m := &protocol.AccessChange{Action: protocol.AccessDeleteRole, Role: protocol.View(name)}
	return a.access(ctx, name, m, by)
}

// CreateToken makes a token of a secret that the caller has drawn: hosts get the hash of the secret. The zero time is
// for never.
func (a *Admin) CreateToken(ctx context.Context, name, secret string, expires time.Time, grants []Grant, by ChangeInfo,
) (changed bool, err error) {
	return a.CreateTokenFromHash(ctx, name, sha256.Sum256([]byte(secret)), expires, grants, by)
}

// CreateTokenFromHash is CreateToken for a caller that knows the SHA-256 of the secret, and not the secret.
func (a *Admin) CreateTokenFromHash(ctx context.Context, name string, hash [32]byte, expires time.Time, grants []Grant,
	by ChangeInfo,
) (changed bool, err error) {
	m := &protocol.AccessChange{Action: protocol.AccessCreateToken, Principal: protocol.View("token:" + name),
		Hash: hash[:], Grants: grants}
	if !expires.IsZero() {
		m.ExpiresMillis = uint64(max(1, expires.UnixMilli())) // 0 stands for never
	}
	return a.access(ctx, name, m, by)
}

// RevokeToken ends a token: connections that came with the token are closed.
func (a *Admin) RevokeToken(ctx context.Context, name string, by ChangeInfo) (changed bool, err error) {
	m := &protocol.AccessChange{Action: protocol.AccessRevokeToken, Principal: protocol.View("token:" + name)}
	return a.access(ctx, name, m, by)
}

func (a *Admin) access(ctx context.Context, name string, m *protocol.AccessChange, by ChangeInfo) (changed bool,
	err error) {
	m.Operation = by.operation()
	err = a.change(ctx, OpAccess, name, m, &m.Operation, func(a *protocol.Answer) uint64 {
		changed = !a.AccessChange.Existed
		return a.AccessChange.Since
	})
	return changed, err
}

// Import makes roles and principals what an export says, and keeps all others. It takes the role root on /. Rules of
// more than about 48 KiB take several changes. The first ones revoke the grants that the rules do not have any more, so
// in between no principal has a right that neither the old rules nor the new rules give. After a failure an Import of
// the same rules makes the rest.
func (a *Admin) Import(ctx context.Context, rules AccessRules, by ChangeInfo) (changed bool, err error) {
	changes := importParts(rules)
	if len(changes) > 1 {
		now, err := a.Export(ctx)
		if err != nil {
			return false, err
		}
		changes = importChanges(now, rules)
	}
	for _, m := range changes {
		one, err := a.access(ctx, "rules", m, by)
		if changed = changed || one; err != nil {
			return changed, err
		}
	}
	return changed, nil
}

// importBytes is how much of an import goes into a request.
const importBytes = 48 << 10

// importChanges returns the changes from the rules of the cluster to imported rules: first without the grants that are
// revoked, then all of them.
func importChanges(now, next AccessRules) []*protocol.AccessChange {
	return append(importParts(revoked(now, next)), importParts(next)...)
}

// importParts divides rules into requests, at least one.
func importParts(rules AccessRules) []*protocol.AccessChange {
	part := &protocol.AccessChange{Action: protocol.AccessImport}
	parts, size := []*protocol.AccessChange{part}, 0
	next := func(more int) {
		if size += more; size > importBytes || len(part.Roles)+len(part.Principals) == protocol.MaxPageItems {
			part, size = &protocol.AccessChange{Action: protocol.AccessImport}, more
			parts = append(parts, part)
		}
	}
	for i := range rules.Roles {
		next(protocol.Size(&rules.Roles[i]))
		part.Roles = append(part.Roles, rules.Roles[i])
	}
	for i := range rules.Principals {
		next(protocol.Size(&rules.Principals[i]))
		part.Principals = append(part.Principals, rules.Principals[i])
	}
	return parts
}

// revoked returns the principals that lose grants when next is imported, as they are now, without these grants.
func revoked(now, next AccessRules) (rules AccessRules) {
	grants := make(map[string][]Grant, len(next.Principals))
	for _, p := range next.Principals {
		grants[p.Name] = p.Grants
	}
	for _, p := range now.Principals {
		keeps, imported := grants[p.Name]
		had := len(p.Grants)
		p.Grants = slices.DeleteFunc(p.Grants, func(g Grant) bool { return !slices.Contains(keeps, g) })
		if imported && len(p.Grants) < had {
			rules.Principals = append(rules.Principals, p)
		}
	}
	return rules
}

// Export returns all roles and principals for an Import, with the hashes of tokens. It takes the role root on /.
func (a *Admin) Export(ctx context.Context) (rules AccessRules, err error) {
	for _, roles := range []bool{true, false} {
		for part, err := range a.accessParts(ctx, protocol.AccessList{Roles: roles, Export: true}) {
			if err != nil {
				return rules, err
			}
			rules.Roles = append(rules.Roles, part.Roles...)
			for _, p := range part.Principals {
				p.Created, p.By = time.Time{}, ""
				rules.Principals = append(rules.Principals, p)
			}
		}
	}
	return rules, nil
}

// Principals returns the principals with a role at a path where the caller may give rights. open: the cluster has no
// rules yet, so anonymous clients may do everything.
func (a *Admin) Principals(ctx context.Context) (list []Principal, open bool, err error) {
	for part, err := range a.AccessParts(ctx, false, "") {
		if err != nil {
			return nil, false, err
		}
		list, open = append(list, part.Principals...), part.Open
	}
	return list, open, nil
}

// AccessPart is a part of the list of principals, or of the list of roles.
type AccessPart struct {
	Principals []Principal
	Roles      []AccessRole
	// Open: the cluster has no rules yet.
	Open bool
}

// AccessParts lists principals, or roles, in parts of about 256 KiB, behind a name; an empty name begins with the
// first. It is for programs that need not have all of them in memory at once.
func (a *Admin) AccessParts(ctx context.Context, roles bool, after string) iter.Seq2[AccessPart, error] {
	return a.accessParts(ctx, protocol.AccessList{Roles: roles, After: protocol.View(after)})
}

func (a *Admin) accessParts(ctx context.Context, m protocol.AccessList) iter.Seq2[AccessPart, error] {
	return func(yield func(AccessPart, error) bool) {
		for {
			var part AccessPart
			err := a.read(ctx, OpListAccess, cluster.AnyHost, &m, func(a *protocol.Answer) {
				is := &a.AccessList
				part = AccessPart{is.Principals, is.Roles, is.Open}
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
	need, _ := access.SumOf(right) // no right for an unknown name; no principal has it
	m := &protocol.AccessCheck{Principal: protocol.View(principal), Path: protocol.View(path),
		Object: protocol.View(object), Right: need}
	err = a.read(ctx, OpAskAccess, cluster.AnyHost, m, func(a *protocol.Answer) {
		list, more = a.AccessCheck.Decisions, a.AccessCheck.More
	})
	return list, more, err
}
