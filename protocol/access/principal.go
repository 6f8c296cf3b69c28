package access

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/signalbox/signalbox/protocol/field"
)

// Kind is how clients prove their identity.
type Kind uint8

// The principal kinds.
const (
	Token      Kind = 1 + iota // a client with the token's secret
	CommonName                 // a client with the name as its certificate's common name
	AltName                    // a client with the name among its certificate's alternative names
	Anonymous                  // every client, even without a token or certificate
	kinds
)

var kindWords = []string{"unknown", "token", "cn", "san", "anonymous"}

// String returns the word before a name.
func (k Kind) String() string { return field.Word(k, "principal", kindWords) }

// Identity names a client identity.
type Identity struct {
	Kind Kind   `wire:"kind math.MaxUint8"`      // Check refuses kinds unknown to this build
	Name string `wire:"name longest(c,MaxName)"` // empty for Anonymous
}

// String returns the principal as commands write it: token:NAME, cn:NAME, san:NAME, or anonymous.
func (i Identity) String() string {
	switch {
	case i.Kind == 0 || i.Kind >= kinds:
		return fmt.Sprintf("principal-%d:%s", i.Kind, i.Name)
	case i.Kind == Anonymous:
		return i.Kind.String()
	}
	return i.Kind.String() + ":" + i.Name
}

// ParseIdentity parses the result of String.
func ParseIdentity(text string) (Identity, error) {
	if text == Anonymous.String() {
		return Identity{Kind: Anonymous}, nil
	}
	kind, name, _ := strings.Cut(text, ":")
	for k := Token; k < Anonymous; k++ {
		if i := (Identity{k, name}); kind == k.String() {
			return i, i.Check()
		}
	}
	return Identity{}, fmt.Errorf("%q is no principal: write token:NAME, cn:NAME, san:NAME, or anonymous", text)
}

// Compare sorts principals by kind and name.
func (i Identity) Compare(other Identity) int {
	return cmp.Or(cmp.Compare(i.Kind, other.Kind), cmp.Compare(i.Name, other.Name))
}

// Check returns what is wrong with a principal's form.
func (i Identity) Check() error {
	switch {
	case i.Kind == 0 || i.Kind >= kinds:
		return fmt.Errorf("there are no principals of kind %d", i.Kind)
	case i.Kind == Anonymous && i.Name != "":
		return fmt.Errorf("anonymous clients have no name")
	case i.Kind == Anonymous:
		return nil
	}
	return checkName("the name of a principal", i.Name)
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

// Principal is a client identity with its roles. Name is token:NAME, cn:NAME, san:NAME, or anonymous.
type Principal struct {
	Name    string    `wire:"principal maxPrincipal"`
	Expires time.Time `wire:"expires_ms"` // for a token; the zero time for never
	Created time.Time `wire:"created_ms"`
	By      string    `name:"author" wire:"author MaxName"` // who created the principal
	Grants  []Grant   `wire:"grants MaxGrants"`
	// SHA256 is the SHA-256 of a token's secret in hex. Only exports include it.
	SHA256 string `name:"sha256" wire:"sha256 maxHash"`
}

// Rules are a cluster's roles and principals, or some of them, as exported.
type Rules struct {
	Roles      []Role
	Principals []Principal
}

// Decision is why a principal may do something: the granted role, and the deciding rule in that role, as it applies on
// the grant's path.
type Decision struct {
	Principal string `omit:"never" wire:"principal maxPrincipal"`
	Grant     Grant  `omit:"never"`
	Rule      Rule   `omit:"never"`
}

// Denial is a request a host has refused because a right was missing.
type Denial struct {
	Host    string    `wire:"-"`                      // the answering host
	At      time.Time `name:"time" wire:"at_ms"`      // by the host's clock
	Who     string    `wire:"principal maxPrincipal"` // who asked, as far as the host knows
	Address string    `wire:"address maxAddress"`
	Request string    `wire:"request maxRequest"` // the request kind's name in the protocol
	Rights  Right     `name:"permissions" wire:"right"`
	Path    string    `wire:"path MaxPath"` // empty if the request concerned no node
	Object  string    `wire:"object MaxObject"`
}

// Maximum lengths of a client address, and of a request kind's name, in bytes.
const maxAddress, maxRequest = 512, 64
