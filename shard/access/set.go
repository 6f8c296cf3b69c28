package access

import (
	"cmp"
	"slices"
	"sort"
	"strings"

	"github.com/signalbox/signalbox/protocol"
)

// Set has one client's rights. A set never changes, and is safe for concurrent use. The zero value allows nothing.
type Set struct {
	rules []compiled
	all   protocol.Right // all rules combined
}

// compiled is a rule prepared for searching.
type compiled struct {
	path   string // without the trailing slash: empty for the root path
	object string
	rights protocol.Right
	from   Origin
}

// Origin is where a rule in a set comes from.
type Origin struct {
	// Principal is the rule's holder. Grant has the role, with the grant's path and name prefix.
	Principal Principal
	Grant     Grant
	// Rule is the effective rule.
	Rule Rule
}

// NewSet returns a set with the rules.
func NewSet(rules ...Rule) *Set {
	origins := make([]Origin, len(rules))
	for i, r := range rules {
		r.Rights = r.Effective()
		origins[i].Rule = r
	}
	return compile(origins)
}

func compile(list []Origin) *Set {
	s := &Set{rules: make([]compiled, 0, len(list))}
	for _, o := range list {
		s.all |= o.Rule.Rights
		s.rules = append(s.rules, compiled{strings.TrimSuffix(o.Rule.Path, "/"), o.Rule.Object, o.Rule.Rights, o})
	}
	slices.SortStableFunc(s.rules, func(a, b compiled) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(a.object, b.object))
	})
	return s
}

// Equal reports whether two sets have equal rules.
func (s *Set) Equal(other *Set) bool {
	return slices.EqualFunc(s.rules, other.rules, func(a, b compiled) bool {
		return a.path == b.path && a.object == b.object && a.rights == b.rights
	})
}

// Allows reports whether any needed right holds for an object in the node with a path. The path has the form of stored
// paths. Without an object the question concerns the node as a whole, without a path any place. Allows allocates
// nothing.
func (s *Set) Allows(path, object string, need protocol.Right) bool {
	if path == "" {
		return s.all&need != 0
	}
	return s.all&need != 0 && s.find(path, object, need) >= 0
}

// Decide is Allows with the deciding rule: the rule with the shortest path.
func (s *Set) Decide(path, object string, need protocol.Right) (o Origin, allowed bool) {
	at := s.find(path, object, need)
	if at < 0 {
		return o, false
	}
	return s.rules[at].from, true
}

// find returns the index of an allowing rule, or a negative number. It looks at the rules for each path from the root
// to the node, so the work grows with the path length, and hardly with the number of rules.
func (s *Set) find(path, object string, need protocol.Right) int {
	path = strings.TrimSuffix(path, "/")
	for end := 0; end <= len(path); end++ {
		if end < len(path) && path[end] != '/' {
			continue
		}
		above := path[:end]
		for i := s.first(above); i < len(s.rules) && s.rules[i].path == above; i++ {
			if s.rules[i].gives(object)&need != 0 {
				return i
			}
		}
	}
	return -1
}

// first returns the index of a path's first rule, or of the first rule behind the path.
func (s *Set) first(path string) int {
	return sort.Search(len(s.rules), func(i int) bool { return s.rules[i].path >= path })
}

// inPart are the rights that reach the node itself even if a rule is limited to object names: to describe the node, to
// list the allowed objects, to have a session.
const inPart = protocol.RightRead | protocol.RightAcquire | protocol.RightWrite

// gives returns the rights the rule gives for an object, or for the node as a whole.
func (c *compiled) gives(object string) protocol.Right {
	switch {
	case c.object == "":
		return c.rights
	case object == "":
		return c.rights & inPart
	case strings.HasPrefix(object, c.object):
		return c.rights
	}
	return 0
}

// Covers reports whether the set allows everything a rule allows.
func (s *Set) Covers(r Rule) bool { return s.upon(r.Path, r.Object)&r.Rights == r.Rights }

// upon returns the rights that hold for all objects below a path with a name prefix.
func (s *Set) upon(path, object string) (rights protocol.Right) {
	path = strings.TrimSuffix(path, "/")
	for i := range s.rules {
		c := &s.rules[i]
		if (c.path == path || strings.HasPrefix(path, c.path) && path[len(c.path)] == '/') &&
			strings.HasPrefix(object, c.object) {
			rights |= c.rights
		}
	}
	return rights
}

// Administers reports whether the set allows granting rights below a path.
func (s *Set) Administers(path string) bool { return s.upon(path, "")&protocol.RightAdmin != 0 }
