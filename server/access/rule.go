package access

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/rights"
	"github.com/signalbox/signalbox/shard/meta"
)

// Role is given by an entry of the file: a predefined role. A role includes the rights of all roles before.
type Role string

// The roles, beginning with the fewest rights.
const (
	RoleRead     Role = rights.RoleRead
	RoleWrite    Role = rights.RoleWrite
	RoleOperator Role = rights.RoleOperator
	RoleAdmin    Role = rights.RoleAdmin
	RoleRoot     Role = rights.RoleRoot
)

// Roles lists all roles, for messages.
const Roles = "read, write, operator, admin or root"

// rights returns the rights of the role.
func (r Role) rights() (protocol.Right, error) {
	role := rights.Predefined(string(r))
	if role == nil {
		return 0, fmt.Errorf("there is no role %q; give %s", string(r), Roles)
	}
	return role.Rules[0].Rights, nil
}

// compiled is an entry after parsing.
type compiled struct {
	name  string
	hash  hash
	rules []rights.Rule
}

// compile parses an entry, or returns all its mistakes.
func (e Entry) compile() (compiled, Mistakes) {
	var mistakes Mistakes
	blame := func(format string, args ...any) { mistakes = append(mistakes, fmt.Sprintf(format, args...)) }
	c := compiled{name: e.Name}
	switch {
	case e.Name == "":
		blame("no name; say who has the token")
	case len(e.Name) > MaxNameBytes:
		blame("a name of %d bytes; at most %d are allowed", len(e.Name), MaxNameBytes)
	case strings.ContainsFunc(e.Name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		blame("a name with a control character")
	}
	sum, err := hex.DecodeString(e.SHA256)
	if err != nil || len(sum) != len(c.hash) {
		blame("sha256 is not the SHA-256 of a token, %d hex digits; signalbox token generate makes both", 2*len(c.hash))
	}
	copy(c.hash[:], sum)
	if len(e.Roles) == 0 {
		blame("no roles; give %s", Roles)
	}
	allowed := protocol.Right(0)
	for _, role := range e.Roles {
		more, err := role.rights()
		if err != nil {
			blame("%v", err)
		}
		allowed |= more
	}
	if len(e.Paths) == 0 {
		blame("no paths; give those of nodes, or / for all")
	}
	if len(e.Paths) > MaxPaths {
		blame("%d paths; at most %d are allowed", len(e.Paths), MaxPaths)
	}
	for _, path := range e.Paths {
		below, err := belowPath(path)
		if err != nil {
			blame("path %q: %v; write it like /prod/jobs, or / for all", path, err)
		} else if below != "/" && slices.Contains(e.Roles, RoleRoot) {
			blame("path %q: the role root is about all of the cluster; give it for the path /, or the role admin", path)
		}
		c.rules = append(c.rules, rights.Rule{Path: below, Rights: allowed})
	}
	return c, mistakes
}

// belowPath returns a path in the form used in rules.
func belowPath(path string) (string, error) {
	if path == "/" {
		return path, nil
	}
	return meta.ParsePath(path)
}
