package rights

import (
	"fmt"
	"strings"

	"github.com/signalbox/signalbox/protocol"
)

// onRoot are the rights that are about the cluster as a whole: they are given on the path / only.
const onRoot = protocol.RightCluster | protocol.RightBackup

// onNodes are the rights that are about nodes as a whole: they are not bound to the names of objects.
const onNodes = onRoot | protocol.RightAdmin

// inPart are the rights that reach the node itself also where they are bound to the names of objects in it: to describe
// the node, to list what is allowed, to have a session.
const inPart = protocol.RightSee | protocol.RightAcquire | protocol.RightWrite

// Rule allows rights below a path.
type Rule struct {
	// Path is in the form in which paths are kept. The rule covers the node of that path and all below it; that of "/"
	// covers all nodes.
	Path string
	// Object, where it is not empty, is what the names of the objects begin with that the rule is about.
	Object string
	Rights protocol.Right
}

// String returns the rule as people read it.
func (r Rule) String() string {
	names := strings.Join(r.Rights.Names(), ", ")
	if r.Object == "" {
		return names + " below " + r.Path
	}
	return fmt.Sprintf("%s below %s, for objects whose names begin with %q", names, r.Path, r.Object)
}

// below returns what the rule allows where it is granted below a path, for objects of a name; ok is false where that is
// nothing.
func (r Rule) below(path, object string) (_ Rule, ok bool) {
	switch {
	case path == "/":
	case r.Path == "/":
		r.Path = path
	default:
		r.Path = path + r.Path
	}
	switch {
	case strings.HasPrefix(r.Object, object):
	case strings.HasPrefix(object, r.Object):
		r.Object = object
	default:
		return r, false
	}
	r.Rights = r.effective()
	return r, r.Rights != 0
}

// effective returns the rights of the rule that can have an effect where it stands.
func (r Rule) effective() protocol.Right {
	rights := r.Rights
	if r.Path != "/" {
		rights &^= onRoot
	}
	if r.Object != "" {
		rights &^= onNodes
	}
	return rights
}

// check returns what is wrong with the form of a rule, nil where nothing is.
func (r Rule) check() error {
	if err := checkPlace(r.Path, r.Object); err != nil {
		return err
	}
	switch useless := r.Rights &^ r.effective(); {
	case r.Rights == 0 || r.Rights&^protocol.RightAll != 0:
		return fmt.Errorf("a rule gives some of the rights %s", strings.Join(protocol.RightAll.Names(), ", "))
	case useless&onRoot != 0:
		return fmt.Errorf("%s: the cluster has no part below %s; give it on /",
			strings.Join((useless&onRoot).Names(), " and "), r.Path)
	case useless != 0:
		return fmt.Errorf("%s is about nodes, and not about objects of some names",
			strings.Join(useless.Names(), " and "))
	}
	return nil
}

func checkPlace(path, object string) error {
	if err := checkPath(path); err != nil {
		return err
	}
	if len(object) > MaxObject {
		return fmt.Errorf("the beginning of names has %d bytes; at most %d are allowed", len(object), MaxObject)
	}
	return nil
}

// checkPath returns what is wrong with a path. It must be in the form in which the paths of nodes are kept, or "/".
func checkPath(path string) error {
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

// checkWord returns what is wrong with a text of printable ASCII without spaces.
func checkWord(what, s string, most int) error {
	if s == "" || len(s) > most {
		return fmt.Errorf("%s has %d bytes; 1 to %d are allowed", what, len(s), most)
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] >= 0x7f {
			return fmt.Errorf("%s has the byte %#02x; only printable ASCII without spaces is allowed", what, s[i])
		}
	}
	return nil
}
