package rights

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/signalbox/signalbox/shard/internal/form"
)

// formNumber is what saved bytes begin with.
const formNumber = 1

// anyLength is the limit of texts on reading: the rules have tighter ones, and answer what breaks them.
const anyLength = math.MaxInt32

// maxRecords is how many principals there are at the most.
const maxRecords = MaxTokens + MaxCertificates + 1

// Save appends the book. Equal books have equal bytes.
func (b *Book) Save(dst []byte) []byte {
	c := form.Writer(dst)
	b.code(c)
	return c.Data()
}

// Load makes a book of what was saved.
func Load(src []byte) (*Book, error) {
	b := &Book{}
	if err := form.Newer(src, formNumber); err != nil {
		return nil, fmt.Errorf("rights: load: %w", err)
	}
	c := form.Reader(src)
	b.code(c)
	if err := c.Finish("rights: load"); err != nil {
		return nil, err
	}
	if err := b.complete(); err != nil {
		return nil, fmt.Errorf("rights: load: %w: %w", err, form.Err)
	}
	return b, nil
}

func (b *Book) code(c *form.Coder) {
	c.Form(formNumber)
	c.Number(&b.revision)
	form.List(c, &b.roles, MaxRoles, func(r **Role) {
		if *r == nil {
			*r = &Role{}
		}
		c.Text(&(*r).Name, MaxName)
		form.List(c, &(*r).Rules, MaxRules, func(rule *Rule) { rule.Code(c) })
	})
	form.List(c, &b.records, maxRecords, func(r **Record) {
		if *r == nil {
			*r = &Record{}
		}
		(*r).code(c)
	})
}

// Code writes a rule, or reads it.
func (r *Rule) Code(c *form.Coder) {
	c.Text(&r.Path, anyLength)
	c.Text(&r.Object, anyLength)
	form.Small(c, &r.Rights)
}

// Code writes a grant, or reads it.
func (g *Grant) Code(c *form.Coder) {
	c.Text(&g.Role, anyLength)
	c.Text(&g.Path, anyLength)
	c.Text(&g.Object, anyLength)
}

// Code writes who a principal is, or reads it.
func (p *Principal) Code(c *form.Coder) {
	form.Small(c, &p.Kind)
	c.Text(&p.Name, anyLength)
}

func (r *Record) code(c *form.Coder) {
	r.Principal.Code(c)
	if r.Kind == Token {
		c.Fixed(r.Hash[:])
		c.Number(&r.Expires)
	}
	c.Number(&r.Created)
	c.Text(&r.By, MaxName)
	form.List(c, &r.Grants, MaxGrants, func(g *Grant) { g.Code(c) })
}

// complete makes what is not saved, and checks what the changes see to.
func (b *Book) complete() error {
	for i, r := range b.roles {
		if err := checkRole(r.Name, r.Rules); err != nil {
			return err
		}
		if i > 0 && b.roles[i-1].Name >= r.Name {
			return fmt.Errorf("the role %s is not in order", r.Name)
		}
		b.bytes += r.size()
	}
	for i, r := range b.records {
		if err := b.checkRecord(r); err != nil {
			return fmt.Errorf("%v: %w", r.Principal, err)
		}
		if i > 0 && b.records[i-1].Compare(r.Principal) >= 0 {
			return fmt.Errorf("%v is not in order", r.Principal)
		}
		if b.bytes += r.size(); r.Kind == Token {
			b.tokens = append(b.tokens, r)
		}
	}
	slices.SortFunc(b.tokens, func(x, y *Record) int { return bytes.Compare(x.Hash[:], y.Hash[:]) })
	for i := 1; i < len(b.tokens); i++ {
		if b.tokens[i].Hash == b.tokens[i-1].Hash {
			return fmt.Errorf("the tokens %s and %s have one secret", b.tokens[i-1].Name, b.tokens[i].Name)
		}
	}
	if len(b.tokens) > MaxTokens || b.certificates() > MaxCertificates || b.bytes > MaxBytes {
		return errors.New("there is more than a book holds")
	}
	if b.revision == 0 && len(b.roles)+len(b.records) > 0 {
		return errors.New("it has something that no change has made")
	}
	return nil
}

func (b *Book) checkRecord(r *Record) error {
	if err := r.check(); err != nil {
		return err
	}
	for i, g := range r.Grants {
		if err := checkPlace(g.Path, g.Object); err != nil {
			return err
		}
		if b.Role(g.Role) == nil || slices.Contains(r.Grants[:i], g) {
			return fmt.Errorf("%v is there twice, or there is no such role", g)
		}
	}
	return nil
}
