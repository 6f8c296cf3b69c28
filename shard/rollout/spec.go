package rollout

import (
	"fmt"
	"reflect"
	"slices"
)

// DelayFrom says from when the delay of a location counts in the history of the one before it.
type DelayFrom uint8

// A version flows on from when it was reached there, or from when it was assigned.
const (
	FromReached DelayFrom = iota
	FromAssigned
	delayFroms
)

// SourceMode says where versions come from.
type SourceMode uint8

// Versions are published, or a source is asked for each.
const (
	SourcePublished SourceMode = iota
	SourceAsked
	sourceModes
)

// Spec is what an operator says of a rollout.
type Spec struct {
	Rules
	Locations []LocationSpec // in the order in which versions reach them
}

// Rules is what holds for all locations. Times are in milliseconds.
type Rules struct {
	DelayFrom DelayFrom
	Source    SourceMode
	Reelect   Reelect
	// ProgressDeadline is after which time an unreached target is reported as stuck, HaltDeadline after which time it
	// halts the rollout; 0 is never.
	ProgressDeadline, HaltDeadline uint64
	// KeepVersions is how many versions are kept, and rows in the history of each location.
	KeepVersions uint64
	// AskInterval is how long at least the source is left alone after it was asked, where no leader asks.
	AskInterval uint64
}

// Reelect says when a target that instances cannot use is given up, and another version is chosen.
type Reelect struct {
	// Codes are the errors for which it is given up at once.
	Codes []string
	// After and Attempts: it is given up for any error after more than this time since the instance received it, and
	// more than so many attempts.
	After    uint64
	Attempts uint64
	// MinInterval is at least between two choices of this kind in a location.
	MinInterval uint64
	// Max is how many there are in a row without a version that is reached; where another is due the rollout halts.
	Max uint64
}

// LocationSpec is one location.
type LocationSpec struct {
	Name string
	// Delay is how old a version must be in the location before. The first has none before it, and no delay.
	Delay uint64
	// Require is how many leaders must have reached the target; 0 is all of them.
	Require uint64
	// Gates must be passed before the target counts as reached.
	Gates []string
	// MaxFailing is how many instances may fail without a new choice. The document has 0: one that fails is enough.
	MaxFailing uint64
}

// DefaultRules are those of the document, and of the decisions on what it leaves open.
func DefaultRules() Rules {
	return Rules{
		Reelect:      Reelect{After: 60_000, Attempts: 3, MinInterval: 10_000, Max: 5},
		KeepVersions: 64, AskInterval: 1000,
	}
}

// Check returns what is wrong with the spec, "" where it is sound.
func (s *Spec) Check() string {
	switch {
	case len(s.Locations) == 0 || len(s.Locations) > MaxLocations:
		return fmt.Sprintf("a rollout has 1 to %d locations, not %d", MaxLocations, len(s.Locations))
	case s.DelayFrom >= delayFroms || s.Source >= sourceModes:
		return "the spec has a setting that is not known"
	case s.KeepVersions < MinKeep || s.KeepVersions > MaxKeep:
		return fmt.Sprintf("a rollout keeps %d to %d versions, not %d", MinKeep, MaxKeep, s.KeepVersions)
	case s.AskInterval < MinAskInterval || s.AskInterval > MaxDelay:
		return fmt.Sprintf("the source is asked every %d ms at the most", MinAskInterval)
	case s.ProgressDeadline > MaxDelay || s.HaltDeadline > MaxDelay || s.Reelect.After > MaxDelay ||
		s.Reelect.MinInterval > MaxDelay || s.Reelect.Attempts > MaxDelay || s.Reelect.Max > MaxDelay:
		return "a time or a number of the spec is too large"
	case len(s.Reelect.Codes) > MaxCodes:
		return fmt.Sprintf("a rollout has at most %d codes of errors", MaxCodes)
	}
	for _, code := range s.Reelect.Codes {
		if !fitWord(code) {
			return fmt.Sprintf("the code %q is empty, too long or not printable", code)
		}
	}
	for k := range s.Locations {
		if wrong := s.Locations[k].check(k); wrong != "" {
			return wrong
		}
		for j := range k {
			if s.Locations[j].Name == s.Locations[k].Name {
				return fmt.Sprintf("the location %s is there twice", s.Locations[k].Name)
			}
		}
	}
	return ""
}

func (ls *LocationSpec) check(index int) string {
	switch {
	case !fitWord(ls.Name):
		return fmt.Sprintf("the name of location %q is empty, too long or not printable", ls.Name)
	case index == 0 && ls.Delay != 0:
		return fmt.Sprintf("the first location, %s, has none before it, and so no delay", ls.Name)
	case ls.Delay > MaxDelay:
		return fmt.Sprintf("the delay of %s is longer than %d ms", ls.Name, uint64(MaxDelay))
	case ls.Require > MaxInstances:
		return fmt.Sprintf("%s requires more leaders than a rollout has instances", ls.Name)
	case ls.MaxFailing > MaxFailing:
		return fmt.Sprintf("%s may have at most %d failing instances", ls.Name, MaxFailing)
	case len(ls.Gates) > MaxGates:
		return fmt.Sprintf("%s has more than %d gates", ls.Name, MaxGates)
	}
	for k, gate := range ls.Gates {
		if !fitWord(gate) || slices.Contains(ls.Gates[:k], gate) {
			return fmt.Sprintf("the gate %q of %s is not a fit name, or is there twice", gate, ls.Name)
		}
	}
	return ""
}

// fitWord reports whether a name of the spec is fit for lists and for views: views name locations behind a slash.
func fitWord(s string) bool {
	if s == "" || len(s) > MaxWord {
		return false
	}
	for _, b := range []byte(s) {
		if b <= ' ' || b > '~' || b == '/' || b == ',' {
			return false
		}
	}
	return true
}

// equal reports whether the specs say the same.
func (s *Spec) equal(other *Spec) bool {
	a, b := s.Rules, other.Rules
	codes := slices.Equal(a.Reelect.Codes, b.Reelect.Codes)
	a.Reelect.Codes, b.Reelect.Codes = nil, nil
	return codes && reflect.DeepEqual(a, b) && slices.EqualFunc(s.Locations, other.Locations, LocationSpec.equal)
}

func (ls LocationSpec) equal(other LocationSpec) bool {
	gates := slices.Equal(ls.Gates, other.Gates)
	ls.Gates, other.Gates = nil, nil
	return gates && reflect.DeepEqual(ls, other)
}

// clone returns a spec that shares nothing.
func (s *Spec) clone() Spec {
	c := *s
	c.Reelect.Codes = slices.Clone(s.Reelect.Codes)
	c.Locations = slices.Clone(s.Locations)
	for k := range c.Locations {
		c.Locations[k].Gates = slices.Clone(c.Locations[k].Gates)
	}
	return c
}
