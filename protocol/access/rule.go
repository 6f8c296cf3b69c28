package access

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/signalbox/signalbox/protocol/field"
)

// Limits on rules and roles; text limits are in bytes. The limits are constants because every replica must agree on
// them.
const (
	MaxRules     = 64  // rules per role
	MaxGrants    = 64  // roles per principal
	MaxName      = 256 // role or principal name
	MaxPath      = 1024
	MaxObject    = 1024 // object name prefix
	maxPrincipal = 300  // a principal as text
	maxHash      = 64   // SHA-256 in hex
)

// OnRoot are the rights that concern the whole cluster: rules grant them only on the path /.
const OnRoot = Cluster | Backup

// OnNodes are the rights that concern whole nodes: rules cannot limit them to object names.
const OnNodes = OnRoot | Admin

// Rule allows rights below a path.
type Rule struct {
	// Path is in the form in which paths are stored. The rule covers the node at that path and all nodes below; a rule
	// on "/" covers all nodes.
	Path string `wire:"path longest(c,MaxPath)"`
	// Object, unless empty, limits the rule to objects with names that begin with the text.
	Object string `name:"name_prefix" wire:"object longest(c,MaxObject)"`
	Rights Right  `name:"permissions"`
}

// Grant gives a principal a role below a path.
type Grant struct {
	Role string `wire:"role longest(c,MaxName)"`
	Path string `wire:"path longest(c,MaxPath)"`
	// Object, unless empty, limits the role to objects with names that begin with the text.
	Object string `name:"name_prefix" wire:"object longest(c,MaxObject)"`
}

// Role is a named list of rules. Rules apply below the path on which the role is granted.
type Role struct {
	Name  string `wire:"name MaxName"`
	Rules []Rule `wire:"rules MaxRules"`
}

// longest is the length limit for a text. A log accepts any length and leaves the refusal to Check.
func longest(c field.Coder, limit int) int {
	if c.Form() == field.Log {
		return math.MaxInt32
	}
	return limit
}

// String formats the rule for people.
func (r Rule) String() string {
	names := strings.Join(r.Rights.Names(), ", ")
	if r.Object == "" {
		return names + " below " + r.Path
	}
	return fmt.Sprintf("%s below %s, for objects whose names begin with %q", names, r.Path, r.Object)
}

// String formats the grant for people.
func (g Grant) String() string {
	if g.Object == "" {
		return g.Role + " on " + g.Path
	}
	return fmt.Sprintf("%s on %s, for objects whose names begin with %q", g.Role, g.Path, g.Object)
}

// Effective returns the rights in the rule that can have an effect at the rule's path.
func (r *Rule) Effective() Right {
	rights := r.Rights
	if r.Path != "/" {
		rights &^= OnRoot
	}
	if r.Object != "" {
		rights &^= OnNodes
	}
	return rights
}

// Check validates a rule's form. Error texts in this package are part of the meta shard's state, because answers are
// stored: every build must return the same text.
func (r *Rule) Check() error {
	if err := checkPlace(r.Path, r.Object); err != nil {
		return err
	}
	switch useless := r.Rights &^ r.Effective(); {
	case r.Rights == 0 || r.Rights&^All != 0:
		return fmt.Errorf("a rule gives some of the rights %s", strings.Join(All.Names(), ", "))
	case useless&OnRoot != 0:
		return fmt.Errorf("%s: the cluster has no part below %s; give it on /",
			strings.Join((useless&OnRoot).Names(), " and "), r.Path)
	case useless != 0:
		return fmt.Errorf("%s is about nodes, and not about objects of some names",
			strings.Join(useless.Names(), " and "))
	}
	return nil
}

// Check validates a grant's path and object. The access book checks that the role exists.
func (g *Grant) Check() error { return checkPlace(g.Path, g.Object) }

// Check validates a role to be created.
func (r *Role) Check() error {
	if err := checkWord("the name of a role", r.Name, MaxName); err != nil {
		return err
	}
	switch {
	case Predefined(r.Name) != nil:
		return fmt.Errorf("the role %s is always there, and stays as it is", r.Name)
	case len(r.Rules) == 0 || len(r.Rules) > MaxRules:
		return fmt.Errorf("%d rules; a role has 1 to %d", len(r.Rules), MaxRules)
	}
	for i := range r.Rules {
		if err := r.Rules[i].Check(); err != nil {
			return fmt.Errorf("rule %d: %w", i+1, err)
		}
	}
	return nil
}

func checkPlace(path, object string) error {
	if err := CheckPath(path); err != nil {
		return err
	}
	if len(object) > MaxObject {
		return fmt.Errorf("the beginning of names has %d bytes; at most %d are allowed", len(object), MaxObject)
	}
	return nil
}

// CheckPath returns what is wrong with a path. A path has the form in which node paths are stored, or is "/".
func CheckPath(path string) error {
	switch {
	case path == "/":
		return nil
	case path == "" || path[0] != '/' || path[len(path)-1] == '/' || strings.Contains(path, "//"):
		return fmt.Errorf("the path %q is not of the form /prod/jobs, or / for all", path)
	case len(path) > MaxPath:
		return fmt.Errorf("the path has %d bytes; at most %d are allowed", len(path), MaxPath)
	}
	return checkWord("the path", path, MaxPath)
}

// checkWord returns what is wrong with a text that must be printable ASCII without spaces.
func checkWord(what, s string, most int) error {
	if s == "" || len(s) > most {
		return fmt.Errorf("%s has %d bytes; 1 to %d are allowed", what, len(s), most)
	}
	if i := strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f }); i >= 0 {
		return fmt.Errorf("%s has the byte %#02x; only printable ASCII without spaces is allowed", what, s[i])
	}
	return nil
}

// The predefined roles in every cluster. Each role includes the rights of the previous roles.
const (
	RoleRead     = "read"
	RoleWrite    = "write"
	RoleOperator = "operator"
	RoleAdmin    = "admin"
	RoleRoot     = "root"
)

var predefined = func() (list []*Role) {
	rights := None
	for _, r := range []struct {
		name string
		adds Right
	}{
		{RoleRead, Read}, {RoleWrite, Acquire | Write}, {RoleOperator, Delete | Operate}, {RoleAdmin, Admin},
		{RoleRoot, Cluster | Backup},
	} {
		rights |= r.adds
		list = append(list, &Role{Name: r.name, Rules: []Rule{{Path: "/", Rights: rights}}})
	}
	return list
}()

// AllPredefined returns the predefined roles, fewest rights first.
func AllPredefined() []*Role { return predefined }

// Predefined returns the predefined role with a name, nil if there is none.
func Predefined(name string) *Role {
	if i := slices.IndexFunc(predefined, func(r *Role) bool { return r.Name == name }); i >= 0 {
		return predefined[i]
	}
	return nil
}
