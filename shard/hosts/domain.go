package hosts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Domain is where a host stands: labels by key, such as dc=a and rack=1. What fails together shares a value.
type Domain []Label

// ParseDomain reads "dc=a,rack=1". Keys and values are the same in large and small letters.
func ParseDomain(text string) (Domain, error) {
	var d Domain
	if text == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(strings.ToLower(text), ",") {
		key, value, ok := strings.Cut(part, "=")
		if !ok {
			return nil, fmt.Errorf("%q in a failure domain is not KEY=VALUE", part)
		}
		d = append(d, Label{Key: key, Value: value})
	}
	slices.SortFunc(d, func(a, b Label) int { return cmp.Compare(a.Key, b.Key) })
	return d, d.check()
}

// String returns the domain as it is written.
func (d Domain) String() string {
	var parts []string
	for _, l := range d {
		parts = append(parts, l.Key+"="+l.Value)
	}
	return strings.Join(parts, ",")
}

func (d Domain) check() error {
	if len(d) > MaxLabels {
		return fmt.Errorf("a failure domain with %d labels; %d are allowed", len(d), MaxLabels)
	}
	for i, l := range d {
		for _, word := range []string{l.Key, l.Value} {
			if err := checkWord("a word of a failure domain", word, 1, MaxLabel); err != nil {
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

func (d Domain) value(key string) string {
	for _, l := range d {
		if l.Key == key {
			return l.Value
		}
	}
	return ""
}

// Distance is how many keys differ. A key that only one of the two has differs.
func (d Domain) Distance(other Domain) int {
	n := 0
	for _, l := range d {
		if other.value(l.Key) != l.Value {
			n++
		}
	}
	for _, l := range other {
		if d.value(l.Key) == "" {
			n++
		}
	}
	return n
}

// checkKeys checks that a domain has every key that a living host has: a host without would count as far from all.
func (r *Records) checkKeys(d Domain, except *Host) error {
	for _, h := range r.hosts {
		if h == except || !h.Living() {
			continue
		}
		for _, l := range h.Domain {
			if d.value(l.Key) == "" {
				return fmt.Errorf("the failure domain lacks the key %s, which host %s has: give it by --failure-domain",
					l.Key, h.Name)
			}
		}
	}
	return nil
}
