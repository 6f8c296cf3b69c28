package access

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	kind "github.com/signalbox/signalbox/protocol/access"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// formNumber is the first number for saved bytes.
const formNumber = 1

// maxRecords is the maximum number of principals in a book.
const maxRecords = MaxTokens + MaxCertificates + 1

// Save appends the book. Equal books have equal bytes.
func (b *Book) Save(dst []byte) []byte {
	return codec.Save(dst, b.code)
}

// Load decodes a book.
func Load(src []byte) (*Book, error) {
	b := &Book{}
	if err := codec.Load(src, formNumber, "rights: load", b.code, nil); err != nil {
		return nil, err
	}
	if err := b.complete(); err != nil {
		return nil, fmt.Errorf("rights: load: %w: %w", err, codec.Err)
	}
	return b, nil
}

func (b *Book) code(c *codec.Coder) {
	c.Form(formNumber)
	c.Number(&b.revision)
	codec.Pointers(c, &b.roles, MaxRoles, func(r *Role, c *codec.Coder) { c.Fields(r.Fields) })
	codec.Pointers(c, &b.records, maxRecords, (*Record).code)
}

func (r *Record) code(c *codec.Coder) {
	c.Fields(r.Principal.Fields)
	if r.Kind == Token {
		c.Fixed(r.Hash[:])
		c.Number(&r.Expires)
	}
	c.Number(&r.Created)
	c.Text(&r.By, kind.MaxName)
	codec.List(c, &r.Grants, kind.MaxGrants, func(g *Grant) { c.Fields(g.Fields) })
}

// complete builds a book's derived parts, and checks the rules that changes maintain.
func (b *Book) complete() error {
	for i, r := range b.roles {
		if err := r.Check(); err != nil {
			return err
		}
		if i > 0 && b.roles[i-1].Name >= r.Name {
			return fmt.Errorf("the role %s is not in order", r.Name)
		}
		b.bytes += sizeOf(r)
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
		if err := g.Check(); err != nil {
			return err
		}
		if b.Role(g.Role) == nil || slices.Contains(r.Grants[:i], g) {
			return fmt.Errorf("%v is there twice, or there is no such role", g)
		}
	}
	return nil
}
