package access

import (
	"errors"
	"fmt"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/access"
)

// Changes to a book. Each returns the next book, or the same book if nothing changes. An error is a Refusal.

// SetRole creates a role, or replaces its rules.
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
		return b, refuse(protocol.StatusPreconditionFailed, "the cluster has the maximum, %d roles; delete "+
			"unneeded roles", MaxRoles)
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
		return b, refuse(protocol.StatusBadRequest, "the role %s is predefined and cannot be deleted", name)
	}
	i, found := b.roleIndex(name)
	if !found {
		return b, nil
	}
	for _, r := range b.records {
		for _, g := range r.Grants {
			if g.Role == name {
				return b, refuse(protocol.StatusPreconditionFailed, "%v has the role %s on %s: revoke the role "+
					"first", r.Principal, name, g.Path)
			}
		}
	}
	c := b.changed(-sizeOf(b.roles[i]))
	c.roles = slices.Delete(slices.Clone(b.roles), i, i+1)
	return c, nil
}

// CreateToken creates a token. The asking client has drawn the secret; hash is its SHA-256.
func (b *Book) CreateToken(name string, hash [32]byte, expires uint64, grants []Grant, wall uint64, by string) (*Book,
	error) {
	r := Record{Principal: Principal{Kind: Token, Name: name}, Hash: hash, Expires: expires, Grants: grants}
	if before := b.Record(r.Principal); before != nil && !before.gives(&r) {
		return b, refuse(protocol.StatusAlreadyExists, "the token %s already exists; revoke the token, or choose a "+
			"different name", name)
	}
	return b.set(r, wall, by)
}

// Import sets roles and principals as listed, in one change, and keeps all others.
func (b *Book) Import(roles []Role, entries []Entry, wall uint64, by string) (*Book, error) {
	next := b
	var err error
	for _, r := range roles {
		if next, err = next.SetRole(r.Name, r.Rules); err != nil {
			return b, within("the role "+r.Name, err)
		}
	}
	for _, e := range entries {
		r := Record{Principal: e.Principal, Hash: e.Hash, Expires: e.Expires, Grants: e.Grants}
		if next, err = next.set(r, wall, by); err != nil {
			return b, within(e.Principal.String(), err)
		}
	}
	if next != b {
		next.revision = b.revision + 1
	}
	return next, nil
}

// within names the part of an import that is refused.
func within(part string, err error) error {
	if refused, is := errors.AsType[*Refusal](err); is {
		return &Refusal{refused.Status, part + ": " + refused.Text}
	}
	return err
}

// gives reports whether two records for a principal have the same effect.
func (r *Record) gives(other *Record) bool {
	return r.Hash == other.Hash && r.Expires == other.Expires && slices.Equal(r.Grants, other.Grants)
}

// set creates a principal's record, or replaces its hash, expiry and grants.
func (b *Book) set(r Record, wall uint64, by string) (*Book, error) {
	before := b.Record(r.Principal)
	switch {
	case r.Kind != Token && len(r.Grants) == 0:
		return b.Revoke(r.Principal, nil)
	case before == nil:
		r.Created, r.By = wall, by
	case before.gives(&r):
		return b, nil
	default:
		r.Created, r.By = before.Created, before.By
	}
	if err := r.check(); err != nil {
		return b, badRequest(err)
	}
	if i, found := b.hashIndex(r.Hash); r.Kind == Token && found && b.tokens[i].Name != r.Name {
		return b, refuse(protocol.StatusAlreadyExists, "the token %s has the same secret as the token %s", r.Name,
			b.tokens[i].Name)
	}
	if err := b.checkRoom(&r); err != nil {
		return b, err
	}
	for i, g := range r.Grants {
		if err := b.checkGrant(g); err != nil {
			return b, err
		}
		if slices.Contains(r.Grants[:i], g) {
			return b, refuse(protocol.StatusBadRequest, "%v appears twice", g)
		}
	}
	if before != nil && before.Hash != r.Hash {
		b = b.remove(before)
	}
	return b.put(&r)
}

// checkRoom returns an error if a book has no capacity for one more principal.
func (b *Book) checkRoom(r *Record) error {
	switch {
	case b.Record(r.Principal) != nil || r.Kind == Anonymous:
	case r.Kind == Token && len(b.tokens) >= MaxTokens:
		return refuse(protocol.StatusPreconditionFailed, "the cluster has the maximum, %d tokens; revoke unneeded "+
			"tokens", MaxTokens)
	case r.Kind != Token && b.certificates() >= MaxCertificates:
		return refuse(protocol.StatusPreconditionFailed, "the cluster has the maximum, %d certificates with roles; "+
			"revoke unneeded roles", MaxCertificates)
	}
	return nil
}

// check returns an error if a record is malformed.
func (r *Record) check() error {
	if err := r.Principal.Check(); err != nil {
		return err
	}
	switch {
	case (r.Kind == Token) != (r.Hash != [32]byte{}):
		return fmt.Errorf("a token has a secret's hash, and only a token has a hash")
	case r.Kind != Token && r.Expires != 0:
		return fmt.Errorf("only a token expires")
	case len(r.Grants) > kind.MaxGrants:
		return fmt.Errorf("%d roles are granted; at most %d are allowed", len(r.Grants), kind.MaxGrants)
	case len(r.Grants) == 0 && r.Kind != Token:
		return fmt.Errorf("%v has no role, and only a token may be without roles", r.Principal)
	case len(r.By) > kind.MaxName:
		return fmt.Errorf("the author has %d bytes; at most %d are allowed", len(r.By), kind.MaxName)
	}
	return nil
}

// checkGrant returns why a role cannot be granted this way.
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
				"objects: grant the role on / without object names", g.Role)
		}
	}
	return nil
}

// Grant grants a role to a principal. A token must exist; other principals are recorded from their first role on.
func (b *Book) Grant(p Principal, g Grant, wall uint64, by string) (*Book, error) {
	if err := p.Check(); err != nil {
		return b, badRequest(err)
	}
	if err := b.checkGrant(g); err != nil {
		return b, err
	}
	next := Record{Principal: p, Created: wall, By: by}
	switch r := b.Record(p); {
	case r == nil && p.Kind == Token:
		return b, refuse(protocol.StatusNotFound, "there is no token %s", p.Name)
	case r == nil:
	case slices.Contains(r.Grants, g):
		return b, nil
	case len(r.Grants) >= kind.MaxGrants:
		return b, refuse(protocol.StatusPreconditionFailed, "%v has the maximum, %d roles; revoke unneeded roles", p,
			kind.MaxGrants)
	default:
		next = *r
	}
	if err := b.checkRoom(&next); err != nil {
		return b, err
	}
	next.Grants = append(slices.Clone(next.Grants), g)
	return b.put(&next)
}

func (b *Book) certificates() (n int) {
	first, _ := b.index(Principal{Kind: CommonName})
	last, _ := b.index(Principal{Kind: Anonymous})
	return last - first
}

// Revoke revokes a role from a principal, or, for a nil grant, all roles. A token without roles stays; other principals
// without roles are deleted.
func (b *Book) Revoke(p Principal, g *Grant) (*Book, error) {
	if err := p.Check(); err != nil {
		return b, badRequest(err)
	}
	r := b.Record(p)
	if r == nil {
		return b, nil
	}
	next := *r
	next.Grants = slices.DeleteFunc(slices.Clone(r.Grants), func(has Grant) bool { return g == nil || has == *g })
	switch {
	case len(next.Grants) == len(r.Grants):
		return b, nil
	case len(next.Grants) == 0 && p.Kind != Token:
		return b.remove(r), nil
	case len(next.Grants) == 0:
		next.Grants = nil
	}
	return b.put(&next)
}

// Closed returns the book without any tokens and grants: anonymous clients may do nothing either. Roles stay.
func (b *Book) Closed() *Book {
	c := &Book{revision: b.revision + 1, roles: b.roles}
	for _, r := range c.roles {
		c.bytes += sizeOf(r)
	}
	return c
}

// RevokeToken removes a token.
func (b *Book) RevokeToken(name string) (*Book, error) {
	r := b.Record(Principal{Kind: Token, Name: name})
	if r == nil {
		return b, nil
	}
	return b.remove(r), nil
}

// put returns the book with a record added or replaced.
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

// place returns a copy of a list with an entry inserted or replaced at an index.
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

// change is like changed, but returns an error if the book has no capacity for the bytes.
func (b *Book) change(bytes int) (*Book, error) {
	if bytes > 0 && b.bytes+bytes > MaxBytes {
		return b, refuse(protocol.StatusPreconditionFailed, "roles and principals take the maximum, %d MiB; delete "+
			"unneeded roles and tokens", MaxBytes>>20)
	}
	return b.changed(bytes), nil
}

// changed returns a copy of the book, with the next revision and the given number of bytes more, for the caller to
// modify.
func (b *Book) changed(bytes int) *Book {
	c := *b
	c.revision++
	c.bytes += bytes
	return &c
}
