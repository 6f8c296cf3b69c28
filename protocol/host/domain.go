package host

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/signalbox/signalbox/protocol/field"
)

// Domain is a host's failure domain: labels by key, such as dc=a and rack=1. Hosts that fail together share a value.
type Domain []Label

// Label is a key and a value in a failure domain.
type Label struct{ Key, Value string }

// String returns the label as KEY=VALUE.
func (l Label) String() string {
	if l.Value == "" {
		return l.Key // for text that is not a label: parse keeps the text
	}
	return l.Key + "=" + l.Value
}

// ParseDomain parses "dc=a,rack=1". Keys and values are case-insensitive.
func ParseDomain(text string) (Domain, error) {
	d := parse(text)
	for _, l := range d {
		if l.Value == "" {
			return nil, fmt.Errorf("%q in a failure domain is not KEY=VALUE", l.Key)
		}
	}
	return d, d.Check()
}

func parse(text string) (d Domain) {
	if text == "" {
		return nil
	}
	for part := range strings.SplitSeq(strings.ToLower(text), ",") {
		key, value, _ := strings.Cut(part, "=")
		d = append(d, Label{Key: key, Value: value})
	}
	slices.SortFunc(d, func(a, b Label) int { return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Value, b.Value)) })
	return d
}

// String returns the domain in ParseDomain's format.
func (d Domain) String() string {
	var parts []string
	for _, l := range d {
		parts = append(parts, l.String())
	}
	return strings.Join(parts, ",")
}

// MarshalText returns the result of String, for JSON.
func (d Domain) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// Fields implements field.Value: a text on the wire, labels in the log. A log accepts any number of labels with any
// length, and Check refuses labels above the limits: the refusal is part of the meta shard's state.
func (d *Domain) Fields(c field.Coder) {
	if c.Form() == field.Log {
		field.List(c, "labels", (*[]Label)(d), math.MaxInt32, func(l *Label, c field.Coder) {
			c.Text("key", &l.Key, math.MaxInt32)
			c.Text("value", &l.Value, math.MaxInt32)
		})
		return
	}
	text := d.String()
	if c.Text("domain", &text, MaxDomain); c.Reading() {
		*d = parse(text)
	}
}

// Check returns what is wrong with the domain. The text is part of the meta shard's state, which keeps answers, so
// every build must return the same text.
func (d Domain) Check() error {
	if len(d) > MaxLabels {
		return fmt.Errorf("a failure domain with %d labels; %d are allowed", len(d), MaxLabels)
	}
	for i, l := range d {
		for _, word := range []string{l.Key, l.Value} {
			if err := CheckWord("a word of a failure domain", word, 1, MaxLabel); err != nil {
				return err
			}
			if strings.ContainsAny(word, ",=") || word != strings.ToLower(word) {
				return fmt.Errorf("%q in a failure domain has a comma, an equals sign or large letters", word)
			}
		}
		if i > 0 && d[i-1].Key >= l.Key {
			return fmt.Errorf("the keys of a failure domain are not in order, or one is there twice: %s", l.Key)
		}
	}
	return nil
}

// CheckWord checks that a text has only printable ASCII without spaces, and an allowed length.
func CheckWord(what, s string, least, most int) error {
	if len(s) < least || len(s) > most {
		return fmt.Errorf("%s is %d bytes long; %d to %d are allowed", what, len(s), least, most)
	}
	if i := strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }); i >= 0 {
		return fmt.Errorf("%s has the byte %#02x; only printable ASCII without spaces is allowed", what, s[i])
	}
	return nil
}

// Value returns a key's value, "" if absent.
func (d Domain) Value(key string) string {
	if i := slices.IndexFunc(d, func(l Label) bool { return l.Key == key }); i >= 0 {
		return d[i].Value
	}
	return ""
}

// Distance is how many keys differ. A key in only one domain differs.
func (d Domain) Distance(other Domain) int {
	n := 0
	for _, l := range d {
		if other.Value(l.Key) != l.Value {
			n++
		}
	}
	for _, l := range other {
		if d.Value(l.Key) == "" {
			n++
		}
	}
	return n
}
