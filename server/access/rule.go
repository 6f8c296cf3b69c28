package access

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard/meta"
)

// Role is what an entry of the file gives. Each role has the rights of those before it.
type Role string

// The roles, from the one with the fewest rights on.
const (
	RoleRead  Role = "read"
	RoleWrite Role = "write"
	RoleAdmin Role = "admin"
)

// Roles are all of them, for messages.
const Roles = "read, write or admin"

// rights returns what the role allows.
func (r Role) rights() (protocol.Right, error) {
	switch r {
	case RoleRead:
		return protocol.RightRead, nil
	case RoleWrite:
		return protocol.RightRead | protocol.RightWrite, nil
	case RoleAdmin:
		return protocol.RightRead | protocol.RightWrite | protocol.RightAdmin, nil
	}
	return 0, fmt.Errorf("there is no role %q; give %s", string(r), Roles)
}

// rule is what one entry allows.
type rule struct {
	rights protocol.Right
	// prefixes are paths in their one form with a slash at the end, so that /prod/ is the beginning of
	// /prod/x and not of /production. The one of all paths is "/".
	prefixes []string
}

// covers reports whether the rule is about the node of a path in its one form.
func (r *rule) covers(path string) bool {
	for _, prefix := range r.prefixes {
		if strings.HasPrefix(path, prefix) || len(path) == len(prefix)-1 && prefix[:len(path)] == path {
			return true
		}
	}
	return false
}

// compiled is an entry that was understood.
type compiled struct {
	name string
	hash hash
	rule rule
}

// compile parses an entry, or returns everything that is wrong with it.
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
		blame("sha256 is not the SHA-256 of a token, %d hex digits; signalbox token new makes both", 2*len(c.hash))
	}
	copy(c.hash[:], sum)
	if len(e.Roles) == 0 {
		blame("no roles; give %s", Roles)
	}
	for _, role := range e.Roles {
		rights, err := role.rights()
		if err != nil {
			blame("%v", err)
		}
		c.rule.rights |= rights
	}
	if len(e.Paths) == 0 {
		blame("no paths; give those of nodes, or / for all")
	}
	if len(e.Paths) > MaxPaths {
		blame("%d paths; at most %d are allowed", len(e.Paths), MaxPaths)
	}
	for _, path := range e.Paths {
		prefix, err := prefixOf(path)
		if err != nil {
			blame("path %q: %v; write it like /prod/jobs, or / for all", path, err)
		}
		c.rule.prefixes = append(c.rule.prefixes, prefix)
	}
	return c, mistakes
}

func prefixOf(path string) (string, error) {
	if path == "/" {
		return path, nil
	}
	path, err := meta.ParsePath(path)
	return path + "/", err
}
