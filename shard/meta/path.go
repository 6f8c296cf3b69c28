package meta

import (
	"errors"
	"fmt"
	"path"
	"strings"
)

// ErrPath is wrapped by every error of ParsePath.
var ErrPath = errors.New("bad path")

// ParsePath returns the path as nodes store and display it: a slash before each part, no slash at the end. "a/b",
// "/a/b" and "/a//b/" are the same path. Errors wrap ErrPath and name the part and the broken rule.
func ParsePath(s string) (string, error) {
	var b strings.Builder
	parts := 0
	for part := range strings.SplitSeq(s, "/") {
		if part == "" {
			continue
		}
		if parts++; parts > MaxParts {
			return "", fmt.Errorf("%w: it has more than %d parts", ErrPath, MaxParts)
		}
		if err := checkPart(part); err != nil {
			return "", fmt.Errorf("%w: part %d (%s) %w", ErrPath, parts, quoted(part), err)
		}
		b.WriteByte('/')
		b.WriteString(part)
	}
	if parts == 0 {
		return "", fmt.Errorf("%w: it has no part; at least one is needed, as in /jobs", ErrPath)
	}
	if b.Len() > MaxPath {
		return "", fmt.Errorf("%w: it is %d bytes long; at most %d are allowed", ErrPath, b.Len(), MaxPath)
	}
	return b.String(), nil
}

// CheckPlace returns an error if rights cannot be granted on a path, because no node can be at or below the path. All
// nodes are below "/". CheckPlace only refuses requests for rights: rights already in a log stay granted.
func CheckPlace(s string) error {
	if s == "/" {
		return nil
	}
	kept, err := ParsePath(s)
	if err == nil && kept == s {
		return nil
	}
	if err != nil {
		kept, _ = ParsePath(path.Clean("/" + s))
		err = fmt.Errorf("no node can be at %s: %w", quoted(s), err)
	} else {
		err = fmt.Errorf("%w: nodes are not kept as %s", ErrPath, quoted(s))
	}
	if kept == "" {
		return fmt.Errorf("%w; write it like /prod/jobs, or / for all", err)
	}
	return fmt.Errorf("%w; did you mean %s?", err, kept)
}

func checkPart(part string) error {
	if len(part) > MaxPart {
		return fmt.Errorf("is %d bytes long; at most %d are allowed", len(part), MaxPart)
	}
	if i := strings.IndexFunc(part, notGraphic); i >= 0 {
		return fmt.Errorf("has the byte %#02x; only printable ASCII without spaces is allowed", part[i])
	}
	if strings.Trim(part, ".") == "" {
		return errors.New("is nothing but dots")
	}
	return nil
}

// notGraphic reports whether the letter is a space or outside printable ASCII.
func notGraphic(r rune) bool { return r < '!' || r > '~' }

// quoted formats text from a request for a message: escaped and shortened.
func quoted(s string) string {
	const most = 40
	if len(s) > most {
		return fmt.Sprintf("%+q...", s[:most])
	}
	return fmt.Sprintf("%+q", s)
}

// shown shortens a path, which needs no escapes, for a message.
func shown(path string) string {
	const most = 200
	if len(path) > most {
		return path[:most] + "..."
	}
	return path
}

// ParsePrefix returns the prefix in the form that Nodes compares: a slash in front, empty parts dropped, and one slash
// at the end if s ends with a slash. A prefix is compared byte by byte: "/prod" finds "/production" too, "/prod/" only
// finds paths below "/prod". An impossible prefix is not an error; it finds nothing.
func ParsePrefix(s string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(s, "/") {
		if part != "" {
			b.WriteByte('/')
			b.WriteString(part)
		}
	}
	if b.Len() == 0 || strings.HasSuffix(s, "/") {
		b.WriteByte('/')
	}
	return b.String()
}
