package admin

import (
	"context"
	"crypto/sha256"
	"slices"
	"strings"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/protocol"
)

// The kinds of operations on rights, as hooks see them.
const (
	OpAccess     client.OperationKind = "change_access"
	OpListAccess client.OperationKind = "list_access"
	OpAskAccess  client.OperationKind = "ask_access"
	OpDenials    client.OperationKind = "list_denials"
)

// Grant is a role below a path.
type Grant struct {
	Role string
	Path string
	// Object, where it is not empty, binds the role to objects whose names begin with it.
	Object string
}

// Rule allows rights below a path: see, acquire, write, delete, operate, admin, cluster, backup.
type Rule struct {
	Path   string
	Object string // see Grant
	Rights []string
}

// Principal is who clients are: Name is token:NAME, cn:NAME, san:NAME, or anonymous.
type Principal struct {
	Name    string
	Expires time.Time // of a token; zero for never
	Created time.Time
	By      string // who made it
	Grants  []Grant
}

// AccessRole is a list of rules under a name.
type AccessRole struct {
	Name  string
	Rules []Rule
}

// Decision is why a principal may do something: the role that it was granted, and the rule of that, as it counts there.
type Decision struct {
	Principal string
	Grant     Grant
	Rule      Rule
}

// Grant gives a principal a role. One who has the right admin on a path may give below it what they have there.
func (a *Admin) Grant(ctx context.Context, principal string, g Grant, by By) (changed bool, err error) {
	m := &protocol.AccessChange{Verb: protocol.AccessGrantRole, Principal: protocol.View(principal)}
	m.Grants.Append(g.wire())
	return a.access(ctx, principal, m, by)
}

// Revoke takes a role from a principal, or all roles where none is given. To take all from anonymous closes the cluster
// for clients that show neither a token nor a certificate.
func (a *Admin) Revoke(ctx context.Context, principal string, g *Grant, by By) (changed bool, err error) {
	m := &protocol.AccessChange{Verb: protocol.AccessRevokeRole, Principal: protocol.View(principal)}
	if g != nil {
		m.Grants.Append(g.wire())
	}
	return a.access(ctx, principal, m, by)
}

// SetRole makes a role, or gives it other rules, for all that have it.
func (a *Admin) SetRole(ctx context.Context, role AccessRole, by By) (changed bool, err error) {
	m := &protocol.AccessChange{Verb: protocol.AccessSetRole, Role: protocol.View(role.Name)}
	for _, r := range role.Rules {
		m.Rules.Append(protocol.AccessRule{Path: protocol.View(r.Path), Object: protocol.View(r.Object),
			Rights: rightsOf(r.Rights)})
	}
	return a.access(ctx, role.Name, m, by)
}

// DeleteRole deletes a role that is granted nowhere.
func (a *Admin) DeleteRole(ctx context.Context, name string, by By) (changed bool, err error) {
	m := &protocol.AccessChange{Verb: protocol.AccessDeleteRole, Role: protocol.View(name)}
	return a.access(ctx, name, m, by)
}

// CreateToken makes a token of a secret that the caller has drawn: hosts get its hash. The zero time is for never.
func (a *Admin) CreateToken(ctx context.Context, name, secret string, expires time.Time, grants []Grant, by By,
) (changed bool, err error) {
	return a.CreateTokenOf(ctx, name, sha256.Sum256([]byte(secret)), expires, grants, by)
}

// CreateTokenOf is CreateToken where the SHA-256 of the secret is known, and not the secret.
func (a *Admin) CreateTokenOf(ctx context.Context, name string, hash [32]byte, expires time.Time, grants []Grant, by By,
) (changed bool, err error) {
	m := &protocol.AccessChange{Verb: protocol.AccessCreateToken, Principal: protocol.View("token:" + name),
		Hash: hash[:]}
	if !expires.IsZero() {
		m.ExpiresMillis = uint64(expires.UnixMilli())
	}
	for _, g := range grants {
		m.Grants.Append(g.wire())
	}
	return a.access(ctx, name, m, by)
}

// RevokeToken ends a token: connections that came with it are closed.
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

// Principals returns those that have some role where the caller may give rights. Decided says whether it was said what
// anonymous clients may do; until then hosts without a file of tokens let them do everything.
func (a *Admin) Principals(ctx context.Context) (list []Principal, decided bool, err error) {
	m := &protocol.AccessList{}
	for more := true; more && err == nil; {
		err = a.read(ctx, OpListAccess, cluster.AnyHost, m, func(a *protocol.Answer) {
			decided = a.AccessList.Decided
			for p := range a.AccessList.Principals.All() {
				list = append(list, principalOf(&p))
			}
			m.After = slices.Clone(a.AccessList.Next)
			more = len(m.After) > 0
		})
	}
	return list, decided, err
}

// Roles returns the roles that were made.
func (a *Admin) Roles(ctx context.Context) (list []AccessRole, err error) {
	m := &protocol.AccessList{Roles: true}
	for more := true; more && err == nil; {
		err = a.read(ctx, OpListAccess, cluster.AnyHost, m, func(a *protocol.Answer) {
			for r := range a.AccessList.Roles.All() {
				role := AccessRole{Name: string(r.Name)}
				for rule := range r.Rules.All() {
					role.Rules = append(role.Rules, ruleOf(&rule))
				}
				list = append(list, role)
			}
			m.After = slices.Clone(a.AccessList.Next)
			more = len(m.After) > 0
		})
	}
	return list, err
}

// WhoCan returns which principals may do something at a path, with objects of a name where one is given.
func (a *Admin) WhoCan(ctx context.Context, right, path, object string) (list []Decision, more bool, err error) {
	return a.ask(ctx, "", right, path, object)
}

// Can returns by which rule a principal may do something, nil where it may not.
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
	m := &protocol.AccessAsk{Principal: protocol.View(principal), Path: protocol.View(path),
		Object: protocol.View(object), Right: rightsOf([]string{right})}
	err = a.read(ctx, OpAskAccess, cluster.AnyHost, m, func(a *protocol.Answer) {
		list, more = nil, a.AccessAsk.More
		for d := range a.AccessAsk.Decisions.All() {
			list = append(list,
				Decision{Principal: string(d.Principal), Grant: grantOf(&d.Grant), Rule: ruleOf(&d.Rule)})
		}
	})
	return list, more, err
}

func (g Grant) wire() protocol.AccessGrant {
	return protocol.AccessGrant{Role: protocol.View(g.Role), Path: protocol.View(g.Path),
		Object: protocol.View(g.Object)}
}

func grantOf(g *protocol.AccessGrant) Grant {
	return Grant{Role: string(g.Role), Path: string(g.Path), Object: string(g.Object)}
}

func ruleOf(r *protocol.AccessRule) Rule {
	return Rule{Path: string(r.Path), Object: string(r.Object), Rights: protocol.Right(r.Rights).Names()}
}

func principalOf(p *protocol.AccessPrincipal) Principal {
	out := Principal{Name: string(p.Principal), Created: time.UnixMilli(int64(p.CreatedMillis)), By: string(p.By)}
	if p.ExpiresMillis != 0 {
		out.Expires = time.UnixMilli(int64(p.ExpiresMillis))
	}
	for g := range p.Grants.All() {
		out.Grants = append(out.Grants, grantOf(&g))
	}
	return out
}

// rightsOf is the sum of the bits of rights. Of a name that is none the host refuses it all.
func rightsOf(names []string) (sum uint64) {
	for _, name := range names {
		right, known := protocol.ParseRight(strings.ToLower(name))
		if !known {
			return 0
		}
		sum |= uint64(right)
	}
	return sum
}
