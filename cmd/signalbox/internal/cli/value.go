package cli

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/internal/bytesize"
	"github.com/signalbox/signalbox/shard/meta"
)

// SizeFlag is a number of bytes as a flag.
type SizeFlag bytesize.Size

// Set parses a number with or without a unit.
func (s *SizeFlag) Set(text string) error {
	size, err := bytesize.Parse(text)
	*s = SizeFlag(size)
	return err
}

// String returns the size, an empty text for zero.
func (s *SizeFlag) String() string {
	if *s == 0 {
		return ""
	}
	return bytesize.Size(*s).String()
}

// Type returns the placeholder for the value in the help.
func (*SizeFlag) Type() string { return "SIZE" }

// Number parses a number above zero, such as an id. form is the hint for the user.
func Number(text, form string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n == 0 {
		return 0, Errorf(ExitUsage, "%s is not %s", Safe(text), form)
	}
	return n, nil
}

// OneOf returns the value a word stands for.
func OneOf[T any](flag, word string, known map[string]T, choice string) (T, error) {
	value, ok := known[word]
	if !ok {
		return value, Errorf(ExitUsage, "%s %s is invalid; must be %s", flag, Safe(word), choice)
	}
	return value, nil
}

// CheckPlace refuses a path for rights that can never be a node.
func CheckPlace(path string) error {
	if err := meta.CheckPlace(path); err != nil {
		return Errorf(ExitUsage, "%w", err)
	}
	return nil
}

// BehindColon returns a text after a colon, or an empty text.
func BehindColon(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}

// CopyGiven sets flags to the given values of flags with the same names.
func CopyGiven(given, to *pflag.FlagSet) error {
	var err error
	given.Visit(func(f *pflag.Flag) {
		if to.Lookup(f.Name) != nil {
			err = cmp.Or(err, to.Set(f.Name, f.Value.String()))
		}
	})
	return err
}

// ParsePlace parses WHAT:PATH or WHAT:PATH:OBJECT. form is the hint for the user.
func ParsePlace(text, form string) (what, path, object string, err error) {
	parts := strings.SplitN(text, ":", 3)
	if len(parts) < 2 || parts[0] == "" {
		return "", "", "", Errorf(ExitUsage, "%s is invalid; use the form %s", Safe(text), form)
	}
	return parts[0], parts[1], append(parts, "")[2], CheckPlace(parts[1])
}

// ParseGrants parses grants with the form ROLE:PATH or ROLE:PATH:PREFIX.
func ParseGrants(texts []string) (list []admin.Grant, err error) {
	for _, text := range texts {
		role, path, object, err := ParsePlace(text, "ROLE:PATH, such as write:/prod/jobs")
		if err != nil {
			return nil, err
		}
		list = append(list, admin.Grant{Role: role, Path: path, Object: object})
	}
	return list, nil
}
