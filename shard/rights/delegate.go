package rights

import (
	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/rights"
)

// Who may change what: who may give rights below a path gives there no more than it has. Each returns a Refusal, nil
// where the change is allowed.

// MayGrant reports why who has a set may not grant a role so.
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

// mayChange reports why who has a set may not give or take rights below a path.
func mayChange(by *Set, path string) error {
	if err := kind.CheckPath(path); err != nil {
		return badRequest(err)
	}
	if !by.Administers(path) {
		return refuse(protocol.StatusUnauthorized, "that takes the right admin on %s, or above it", path)
	}
	return nil
}

// MayCreate reports why who has a set may not make a token with these grants.
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

// MayRevoke reports why who has a set may not take a grant from a principal, or all of them, or end a token, where the
// grant is nil.
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

// MaySetRole reports why who has a set may not give a role these rules, or delete it, where there are none: each
// principal that has the role anywhere gets or loses something.
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

// Shown reports whether who has a set may see what is kept of a principal: it may give rights where the principal has
// some.
func (b *Book) Shown(to *Set, r *Record) bool {
	if to.Administers("/") {
		return true
	}
	for _, g := range r.Grants {
		if to.Administers(g.Path) {
			return true
		}
	}
	return false
}
