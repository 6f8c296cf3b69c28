package rights

import (
	"cmp"
	"fmt"
	"strings"
)

// Kind says how a client shows who it is.
type Kind uint8

// The kinds of principals.
const (
	Token      Kind = 1 + iota // it has the secret of the token
	CommonName                 // its certificate has the name as its common name
	AltName                    // its certificate has the name among its alternative names
	Anonymous                  // it shows nothing: everybody is this one too
	kinds
)

var kindNames = [kinds]string{Token: "token", CommonName: "cn", AltName: "san", Anonymous: "anonymous"}

// Principal names who clients are.
type Principal struct {
	Kind Kind
	Name string // empty for Anonymous
}

// String returns the principal as it is written in commands: token:NAME, cn:NAME, san:NAME, or anonymous.
func (p Principal) String() string {
	switch {
	case p.Kind == 0 || p.Kind >= kinds:
		return fmt.Sprintf("principal-%d:%s", p.Kind, p.Name)
	case p.Kind == Anonymous:
		return kindNames[Anonymous]
	}
	return kindNames[p.Kind] + ":" + p.Name
}

// ParsePrincipal reads what String returns.
func ParsePrincipal(text string) (Principal, error) {
	if text == kindNames[Anonymous] {
		return Principal{Kind: Anonymous}, nil
	}
	kind, name, _ := strings.Cut(text, ":")
	for k := Token; k < Anonymous; k++ {
		if p := (Principal{k, name}); kind == kindNames[k] {
			return p, p.check()
		}
	}
	return Principal{}, fmt.Errorf("%q is no principal: write token:NAME, cn:NAME, san:NAME, or anonymous", text)
}

// Compare orders principals by kind and name.
func (p Principal) Compare(other Principal) int {
	return cmp.Or(cmp.Compare(p.Kind, other.Kind), cmp.Compare(p.Name, other.Name))
}

// check returns what is wrong with the form of a principal.
func (p Principal) check() error {
	switch {
	case p.Kind == 0 || p.Kind >= kinds:
		return fmt.Errorf("there are no principals of kind %d", p.Kind)
	case p.Kind == Anonymous && p.Name != "":
		return fmt.Errorf("anonymous clients have no name")
	case p.Kind == Anonymous:
		return nil
	}
	return checkName("the name of a principal", p.Name)
}

// checkName returns what is wrong with a name for people: text without control characters.
func checkName(what, s string) error {
	if s == "" || len(s) > MaxName {
		return fmt.Errorf("%s has %d bytes; 1 to %d are allowed", what, len(s), MaxName)
	}
	if i := strings.IndexFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f || r == '�' }); i >= 0 {
		return fmt.Errorf("%s has a control character, or is no text", what)
	}
	return nil
}

// Grant gives a principal a role below a path.
type Grant struct {
	Role string
	Path string
	// Object, where it is not empty, binds the role to objects whose names begin with it.
	Object string
}

// String returns the grant as people read it.
func (g Grant) String() string {
	if g.Object == "" {
		return g.Role + " on " + g.Path
	}
	return fmt.Sprintf("%s on %s, for objects whose names begin with %q", g.Role, g.Path, g.Object)
}

// Record is what is kept of a principal. It never changes.
type Record struct {
	Principal
	// Hash is the SHA-256 of the secret of a token; zero for the other kinds.
	Hash [32]byte
	// Expires is the wall clock in milliseconds from which on the token lets in no more; 0 for never. Hosts go by their
	// own clocks.
	Expires uint64
	// Created is the wall clock when the record was made, By who made it.
	Created uint64
	By      string
	Grants  []Grant
}

// size is about how many bytes the record takes when it is saved.
func (r *Record) size() int {
	n := len(r.Name) + len(r.By) + 64
	for _, g := range r.Grants {
		n += len(g.Role) + len(g.Path) + len(g.Object) + 6
	}
	return n
}

func (r *Role) size() int {
	n := len(r.Name) + 8
	for _, rule := range r.Rules {
		n += len(rule.Path) + len(rule.Object) + 8
	}
	return n
}
