package rights

import (
	"fmt"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/rights"
)

// The changes of a book. Each change returns the next book, or the same book if nothing changes. An error is a
// Refusal.

// SetRole makes a role, or replaces its rules.
func (b *Book) SetRole(name string, rules []Rule) (*Book, error) {
	next := &Role{Name: name, Rules: rules}
	if err := next.Check(); err != nil {
		return b, badRequest(err)
	}
	i, found := b.roleIndex(name)
	before := 0
	switch {
	case found && slices.Equal(b.roles[i].Rules, rules):
		return b, nil
	case found:
		before = sizeOf(b.roles[i])
	case len(b.roles) >= MaxRoles:
		return b, refuse(protocol.StatusPreconditionFailed, "there are %d roles, which is as many as there may be",
			MaxRoles)
	}
	c, err := b.change(sizeOf(next) - before)
	if err != nil {
		return b, err
	}
	c.roles = place(b.roles, i, found, next)
	return c, nil
}

// DeleteRole removes a role without grants.
func (b *Book) DeleteRole(name string) (*Book, error) {
	if kind.Predefined(name) != nil {
		return b, refuse(protocol.StatusBadRequest, "the role %s is always there", name)
	}
	i, found := b.roleIndex(name)
	if !found {
		return b, nil
	}
	for _, r := range b.records {
		for _, g := range r.Grants {
			if g.Role == name {
				return b, refuse(protocol.StatusPreconditionFailed, "%v has the role %s on %s: revoke it first",
					r.Principal, name, g.Path)
			}
		}
	}
	c := b.changed(-sizeOf(b.roles[i]))
	c.roles = slices.Delete(slices.Clone(b.roles), i, i+1)
	return c, nil
}

// CreateToken makes a token. The asking client has drawn the secret; hash is the SHA-256 of the secret.
func (b *Book) CreateToken(name string, hash [32]byte, expires uint64, grants []Grant, wall uint64, by string) (*Book,
	error) {
	r := &Record{Principal: Principal{Kind: Token, Name: name}, Hash: hash, Expires: expires, Created: wall, By: by,
		Grants: grants}
	if err := r.check(); err != nil {
		return b, badRequest(err)
	}
	if i, found := b.hashIndex(hash); found && b.tokens[i].Name != name {
		return b, refuse(protocol.StatusAlreadyExists, "the secret is that of the token %s", b.tokens[i].Name)
	}
	if before := b.Record(r.Principal); before != nil {
		if before.Hash == hash && before.Expires == expires && slices.Equal(before.Grants, grants) {
			return b, nil
		}
		return b, refuse(protocol.StatusAlreadyExists, "there is a token %s; revoke it, or take another name", name)
	}
	if len(b.tokens) >= MaxTokens {
		return b, refuse(protocol.StatusPreconditionFailed, "there are %d tokens, which is as many as there may be; "+
			"revoke those that are over", MaxTokens)
	}
	for i, g := range grants {
		if err := b.checkGrant(g); err != nil {
			return b, err
		}
		if slices.Contains(grants[:i], g) {
			return b, refuse(protocol.StatusBadRequest, "%v is there twice", g)
		}
	}
	return b.put(r)
}

// check returns an error if the form of a record is wrong.
func (r *Record) check() error {
	if err := r.Principal.Check(); err != nil {
		return err
	}
	switch {
	case (r.Kind == Token) != (r.Hash != [32]byte{}):
		return fmt.Errorf("a token has the hash of a secret, and nothing else has")
	case r.Kind != Token && r.Expires != 0:
		return fmt.Errorf("only a token expires")
	case len(r.Grants) > kind.MaxGrants:
		return fmt.Errorf("%d roles are granted; at most %d are allowed", len(r.Grants), kind.MaxGrants)
	case len(r.Grants) == 0 && (r.Kind == CommonName || r.Kind == AltName):
		return fmt.Errorf("a certificate that has no role is not kept")
	case len(r.By) > kind.MaxName:
		return fmt.Errorf("who made it has %d bytes; at most %d are allowed", len(r.By), kind.MaxName)
	}
	return nil
}

// checkGrant returns why a role cannot be granted so.
func (b *Book) checkGrant(g Grant) error {
	if err := g.Check(); err != nil {
		return badRequest(err)
	}
	role := b.Role(g.Role)
	if role == nil {
		return refuse(protocol.StatusNotFound, "there is no role %q", g.Role)
	}
	for _, r := range role.Rules {
		if rule, _ := below(r, g.Path, g.Object); rule.Rights != r.Rights {
			if rule.Object != "" && r.Rights&^kind.OnRoot&kind.OnNodes != 0 {
				return refuse(protocol.StatusBadRequest, "the role %s is about nodes, and not about "+
					"objects of some names", g.Role)
			}
			return refuse(protocol.StatusBadRequest, "the role %s is about the cluster as a whole, or about other "+
				"objects: grant it on / without names of objects", g.Role)
		}
	}
	return nil
}

// Grant gives a principal a role. Of a certificate, and of anonymous clients, there is a record from the first on.
func (b *Book) Grant(p Principal, g Grant, wall uint64, by string) (*Book, error) {
	if err := p.Check(); err != nil {
		return b, badRequest(err)
	}
	if err := b.checkGrant(g); err != nil {
		return b, err
	}
	r := b.Record(p)
	switch {
	case r == nil && p.Kind == Token:
		return b, refuse(protocol.StatusNotFound, "there is no token %s", p.Name)
	case r == nil && p.Kind != Anonymous && b.certificates() >= MaxCertificates:
		return b, refuse(protocol.StatusPreconditionFailed, "there are rules for %d certificates, which is as many as "+
			"there may be", MaxCertificates)
	case r == nil:
		r = &Record{Principal: p, Created: wall, By: by}
	case slices.Contains(r.Grants, g):
		return b, nil
	case len(r.Grants) >= kind.MaxGrants:
		return b, refuse(protocol.StatusPreconditionFailed, "%v has %d roles, which is as many as there may be", p,
			kind.MaxGrants)
	}
	next := *r
	next.Grants = append(slices.Clone(r.Grants), g)
	return b.put(&next)
}

func (b *Book) certificates() (n int) {
	first, _ := b.index(Principal{Kind: CommonName})
	last, _ := b.index(Principal{Kind: Anonymous})
	return last - first
}

// Revoke takes a role from a principal, or, for a nil grant, all roles. A token without roles stays; a certificate
// without roles is forgotten; anonymous clients without roles stay on record, as allowed nothing.
func (b *Book) Revoke(p Principal, g *Grant, wall uint64, by string) (*Book, error) {
	if err := p.Check(); err != nil {
		return b, badRequest(err)
	}
	r := b.Record(p)
	if r == nil {
		if p.Kind != Anonymous || g != nil {
			return b, nil
		}
		return b.put(&Record{Principal: p, Created: wall, By: by})
	}
	next := *r
	next.Grants = slices.DeleteFunc(slices.Clone(r.Grants), func(has Grant) bool { return g == nil || has == *g })
	switch {
	case len(next.Grants) == len(r.Grants):
		return b, nil
	case len(next.Grants) == 0:
		next.Grants = nil
		if p.Kind == CommonName || p.Kind == AltName {
			return b.remove(r), nil
		}
	}
	return b.put(&next)
}

// Closed returns the book without any token and any grant: anonymous clients may do nothing either. Roles stay.
func (b *Book) Closed(wall uint64, by string) (*Book, error) {
	c := &Book{revision: b.revision, roles: b.roles}
	for _, r := range c.roles {
		c.bytes += sizeOf(r)
	}
	return c.Revoke(Principal{Kind: Anonymous}, nil, wall, by)
}

// RevokeToken removes a token.
func (b *Book) RevokeToken(name string) (*Book, error) {
	r := b.Record(Principal{Kind: Token, Name: name})
	if r == nil {
		return b, nil
	}
	return b.remove(r), nil
}

// put returns the book with a record, new or in the place of the old record.
func (b *Book) put(r *Record) (*Book, error) {
	i, found := b.index(r.Principal)
	before := 0
	if found {
		before = b.records[i].size()
	}
	c, err := b.change(r.size() - before)
	if err != nil {
		return b, err
	}
	c.records = place(b.records, i, found, r)
	if r.Kind == Token {
		at, has := b.hashIndex(r.Hash)
		c.tokens = place(b.tokens, at, has, r)
	}
	return c, nil
}

// place returns a copy of a list with an entry at a place, new or in the place of the old entry.
func place[T any](list []T, at int, found bool, r T) []T {
	list = slices.Clone(list)
	if found {
		list[at] = r
		return list
	}
	return slices.Insert(list, at, r)
}

// remove returns the book without a record.
func (b *Book) remove(r *Record) *Book {
	c := b.changed(-r.size())
	i, _ := b.index(r.Principal)
	c.records = slices.Delete(slices.Clone(b.records), i, i+1)
	if r.Kind == Token {
		i, _ = b.hashIndex(r.Hash)
		c.tokens = slices.Delete(slices.Clone(b.tokens), i, i+1)
	}
	return c
}

// change is changed where the book may have no room for the bytes.
func (b *Book) change(bytes int) (*Book, error) {
	if bytes > 0 && b.bytes+bytes > MaxBytes {
		return b, refuse(protocol.StatusPreconditionFailed, "roles and principals take %d MiB, which is as much as "+
			"they "+
			"may", MaxBytes>>20)
	}
	return b.changed(bytes), nil
}

// changed returns a copy of the book, with the next revision and so many bytes more, for the caller to change.
func (b *Book) changed(bytes int) *Book {
	c := *b
	c.revision++
	c.bytes += bytes
	return &c
}
