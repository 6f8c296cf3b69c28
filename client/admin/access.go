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

// Kinds of access operations that hooks report.
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
	// Right is a bit set of rights, such as access.See or access.Acquire.
	Right = access.Right
	// Principal is a client identity with its roles.
	Principal = access.Principal
	// AccessRole is a named list of access rules.
	AccessRole = access.Role
	// AccessRules are roles and principals. They include token hashes, but never secrets.
	AccessRules = access.Rules
	// Decision is why a principal may do something.
	Decision = access.Decision
)

// Grant gives a principal a role. A caller with the admin right on a path may grant rights below the path, limited to
// the caller's own rights there.
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

// SetRole creates a role or replaces the rules of an existing role, for all principals with the role.
func (a *Admin) SetRole(ctx context.Context, role AccessRole, by ChangeInfo) (changed bool, err error) {
	m := &protocol.AccessChange{Action: protocol.AccessSetRole, Role: protocol.View(role.Name), Rules: role.Rules}
	return a.access(ctx, role.Name, m, by)
}

// DeleteRole deletes a role that is not granted to any principal.
func (a *Admin) DeleteRole(ctx context.Context, name string, by ChangeInfo) (changed bool, err error) {
	m := &protocol.AccessChange{Action: protocol.AccessDeleteRole, Role: protocol.View(name)}
	return a.access(ctx, name, m, by)
}

// CreateToken creates a token from a secret that the caller generated. Hosts only get the secret's hash. A zero expires
// means that the token never expires.
func (a *Admin) CreateToken(ctx context.Context, name, secret string, expires time.Time, grants []Grant, by ChangeInfo,
) (changed bool, err error) {
	return a.CreateTokenFromHash(ctx, name, sha256.Sum256([]byte(secret)), expires, grants, by)
}

// CreateTokenFromHash is CreateToken for a caller that knows only the secret's SHA-256.
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

// RevokeToken revokes a token and closes all connections that use the token.
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

// Import sets the given roles and principals to their exported state and keeps all others. Import needs the role root
// on /. Rules larger than about 48 KiB are applied as several changes. The first changes revoke all grants that the new
// rules lack, so meanwhile no principal has a right that is missing from both the old and the new rules. After a
// failure, call Import again with the same rules to apply the rest.
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

// importBytes is the maximum rule size per import request.
const importBytes = 48 << 10

// importChanges returns the changes that turn the cluster's rules into the imported rules: first the revocations, then
// the full rules.
func importChanges(now, next AccessRules) []*protocol.AccessChange {
	return append(importParts(revoked(now, next)), importParts(next)...)
}

// importParts splits rules into at least one request.
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

// revoked returns the current principals that lose grants by importing next, without the lost grants.
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

// Export returns all roles, principals and token hashes, ready for Import. Export needs the role root on /.
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

// AccessPart is a section from the list of principals or roles.
type AccessPart struct {
	Principals []Principal
	Roles      []AccessRole
	// Open: the cluster has no rules yet.
	Open bool
}

// AccessParts lists principals or roles in sections of about 256 KiB, starting after the given name; an empty name
// starts at the beginning. Use AccessParts to avoid holding the full list in memory.
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

// Roles returns all user-defined roles.
func (a *Admin) Roles(ctx context.Context) (list []AccessRole, err error) {
	for part, err := range a.AccessParts(ctx, true, "") {
		if err != nil {
			return nil, err
		}
		list = append(list, part.Roles...)
	}
	return list, nil
}

// WhoCan returns the principals that have the given right at a path. If object is not empty, WhoCan checks the right
// for objects with that name.
func (a *Admin) WhoCan(ctx context.Context, right, path, object string) (list []Decision, more bool, err error) {
	return a.ask(ctx, "", right, path, object)
}

// Can returns the rule that allows a principal to use a right, or nil if no rule does.
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
	need, _ := access.SumOf(right) // unknown names match no principal
	m := &protocol.AccessCheck{Principal: protocol.View(principal), Path: protocol.View(path),
		Object: protocol.View(object), Right: need}
	err = a.read(ctx, OpAskAccess, cluster.AnyHost, m, func(a *protocol.Answer) {
		list, more = a.AccessCheck.Decisions, a.AccessCheck.More
	})
	return list, more, err
}
