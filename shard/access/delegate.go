package access

import (
	"slices"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/access"
)

// Checks for the right to change rights. A principal with the right admin below a path can give there no more rights
// than its own. Each check returns a Refusal, or nil if the change is allowed.

// MayGrant returns why a client with the set may not make a grant, or nil.
func (b *Book) MayGrant(by *Set, g Grant) error {
	if err := mayChange(by, g.Path); err != nil {
		return err
	}
	for _, r := range b.RulesOf(g) {
		if !by.Covers(r) {
			return refuse(protocol.StatusUnauthorized, "the role %s gives %v, which who grants it does not have itself",
				g.Role, r)
		}
	}
	return nil
}

// mayChange returns why a client with the set may not grant or revoke rights below a path, or nil.
func mayChange(by *Set, path string) error {
	if err := kind.CheckPath(path); err != nil {
		return badRequest(err)
	}
	if !by.Administers(path) {
		return refuse(protocol.StatusUnauthorized, "that takes the right admin on %s, or above it", path)
	}
	return nil
}

// MayCreate returns why a client with the set may not create a token with the grants, or nil.
func (b *Book) MayCreate(by *Set, grants []Grant) error {
	if len(grants) == 0 {
		return mayChange(by, "/")
	}
	for _, g := range grants {
		if err := b.MayGrant(by, g); err != nil {
			return err
		}
	}
	return nil
}

// MayRevoke returns why a client with the set may not revoke a grant from a principal, or nil. A nil grant means all
// grants, or revoking a token.
func (b *Book) MayRevoke(by *Set, p Principal, g *Grant) error {
	if g != nil {
		return mayChange(by, g.Path)
	}
	r := b.Record(p)
	if r == nil || len(r.Grants) == 0 {
		return mayChange(by, "/")
	}
	for _, has := range r.Grants {
		if err := mayChange(by, has.Path); err != nil {
			return err
		}
	}
	return nil
}

// MaySetRole returns why a client with the set may not set a role's rules, or nil. Without rules, it checks whether the
// client may delete the role. All principals with the role get or lose rights, so the set must cover the new rules and
// the old.
func (b *Book) MaySetRole(by *Set, name string, rules []Rule) error {
	if err := mayChange(by, "/"); err != nil {
		return err
	}
	if before := b.Role(name); before != nil {
		rules = append(rules[:len(rules):len(rules)], before.Rules...)
	}
	for _, r := range rules {
		if !by.Covers(r) {
			return refuse(protocol.StatusUnauthorized, "the role %s gives %v, which who changes it does not "+
				"have itself", name, r)
		}
	}
	return nil
}

// MayImport returns why a client with the set may not import or export roles and principals, or nil.
func MayImport(by *Set) error {
	if by.Covers(Rule{Path: "/", Rights: protocol.RightAll}) {
		return nil
	}
	return refuse(protocol.StatusUnauthorized, "that takes the role root on /")
}

// HasAdmin reports whether some principal may change rights on /. Otherwise only a host's root token can.
func (b *Book) HasAdmin() bool {
	return slices.ContainsFunc(b.records, func(r *Record) bool { return b.Set(r.Principal).Administers("/") })
}

// Shown reports whether a client with the set may see a principal's record: the client may grant rights on a path in
// the principal's grants.
func (b *Book) Shown(to *Set, r *Record) bool {
	return to.Administers("/") || slices.ContainsFunc(r.Grants, func(g Grant) bool { return to.Administers(g.Path) })
}
