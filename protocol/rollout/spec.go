package rollout

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/signalbox/signalbox/protocol/field"
)

// Spec is an operator's configuration for a rollout. Times are counted in whole milliseconds, rounded up.
type Spec struct {
	// Locations are in deployment order.
	Locations []Location
	// DelayFrom is when a location's delay begins to count in the previous location.
	DelayFrom DelayFrom
	// Versions is where versions come from.
	Versions VersionSource `name:"version_source"`
	// Reelect without a time or a number uses the defaults: after a minute and 3 attempts, every 10 s, 5 times in a
	// row.
	Reelect Reelect
	// ProgressDeadline is the time after which an unreached target is reported as stuck, HaltDeadline the time after
	// which it halts the rollout; 0 is never.
	ProgressDeadline time.Duration
	HaltDeadline     time.Duration
	// KeepVersions is how many versions are kept, and how many history rows per location; 0 means 64.
	KeepVersions int
	// AskInterval is the minimum time between two requests to a source, if no leader asks; 0 means a second.
	AskInterval time.Duration `name:"source_interval"`
}

// Location is one rollout location.
type Location struct {
	Name string `omit:"never" wire:"name MaxWord"`
	// Delay is how long the previous location must have had a version before this location may get it. The first
	// location has no delay.
	Delay time.Duration
	// Require is how many leaders must have reached the target; 0 means all leaders.
	Require int
	// MaxFailing is how many instances may fail before another version is chosen.
	MaxFailing int
	// Gates must be passed before the target counts as reached.
	Gates []string `wire:"gates MaxGates MaxWord"`
}

// Reelect configures when a target that instances cannot use is abandoned, and another version is chosen.
type Reelect struct {
	// Codes are the errors that make a location abandon a target at once.
	Codes []string
	// After and Attempts apply to every other error: the target is abandoned once more than this time has passed since
	// the instance received it, and after more than this many attempts.
	After    time.Duration
	Attempts int
	// Interval is the minimum time between two such choices in a location.
	Interval time.Duration
	// Most is the maximum number of consecutive choices without a reached version; the next choice halts the rollout.
	Most int `name:"max"`
}

// Limits on rollout specs and messages. The limits are constants because every replica must agree on them. A command
// beyond a limit is refused before it has any effect.
const (
	MaxLocations  = 32     // locations per rollout
	MaxInstances  = 65_536 // joined instances at once
	MaxGates      = 8      // gates per location
	MaxCodes      = 16     // error codes that make a location choose another version at once
	MaxFailing    = 100    // highest MaxFailing in a spec
	MinKeep       = 4      // kept versions, and history rows per location
	MaxKeep       = 1024
	MaxWord       = 64            // location name, gate name, error code, in bytes
	MaxText       = field.MaxText // instance name, label, author, reason, error text, in bytes
	MaxAttributes = 1024          // an instance's attributes, in bytes
	MaxPayload    = 64 << 10      // a version's payload, in bytes
	MaxReason     = 4096          // why a rollout is stalled, in bytes
	MaxSources    = 16            // source sessions at once
	MaxNamed      = 8             // instances named in a reason
	MaxPlanned    = 4096          // dry run steps
	MaxDelay      = 30 * 24 * time.Hour
	MinAsk        = 100 * time.Millisecond // between two requests to a source
)

// Fields implements field.Value. The log encodes locations last; saved state stores them separately.
func (s *Spec) Fields(c field.Coder) {
	locations := func() { field.List(c, "locations", &s.Locations, MaxLocations, (*Location).Fields) }
	if c.Form() == field.Wire {
		locations()
	}
	s.Rules(c)
	if c.Form() == field.Log {
		locations()
	}
}

// Rules lists the fields that apply to all locations.
func (s *Spec) Rules(c field.Coder) {
	field.Enum(c, "delay_from", &s.DelayFrom, delayFroms)
	field.Enum(c, "versions", &s.Versions, versionSources)
	c.Record("reelect", func(c field.Coder) {
		re := &s.Reelect
		c.Words("codes", &re.Codes, MaxCodes, MaxWord)
		c.Millis("after_ms", &re.After)
		c.Count("attempts", &re.Attempts)
		c.Millis("interval_ms", &re.Interval)
		c.Count("max", &re.Most)
	})
	c.Millis("progress_deadline_ms", &s.ProgressDeadline)
	c.Millis("halt_deadline_ms", &s.HaltDeadline)
	c.Count("keep_versions", &s.KeepVersions)
	c.Millis("source_interval_ms", &s.AskInterval)
}

// WithDefaults returns the spec with omitted values set to defaults. A host fills in the defaults before the spec is
// logged, so a later build's defaults do not change a logged spec.
func (s Spec) WithDefaults() Spec {
	s.KeepVersions = cmp.Or(s.KeepVersions, 64)
	s.AskInterval = cmp.Or(s.AskInterval, time.Second)
	if re := &s.Reelect; re.After == 0 && re.Attempts == 0 && re.Interval == 0 && re.Most == 0 {
		re.After, re.Attempts, re.Interval, re.Most = time.Minute, 3, 10*time.Second, 5
	}
	return s
}

// Negative reports whether a time or number in the spec is negative, and so cannot be encoded.
func (s *Spec) Negative() bool {
	re := &s.Reelect
	least := min(s.ProgressDeadline, s.HaltDeadline, s.AskInterval, re.After, re.Interval)
	count := min(s.KeepVersions, re.Attempts, re.Most)
	for _, l := range s.Locations {
		least, count = min(least, l.Delay), min(count, l.Require, l.MaxFailing)
	}
	return least < 0 || count < 0
}

// Check returns what is wrong with the spec, "" if nothing is. The text is part of a shard's state, which keeps
// answers, so every build must return the same text for the same spec: a count above the range of int was read as a
// negative number, and is compared and shown as the number in the encoding.
func (s *Spec) Check() string {
	const most = uint64(MaxDelay / time.Millisecond) // maximum for any number
	re := &s.Reelect
	switch {
	case len(s.Locations) == 0 || len(s.Locations) > MaxLocations:
		return fmt.Sprintf("a rollout has 1 to %d locations, not %d", MaxLocations, len(s.Locations))
	case s.DelayFrom >= delayFroms || s.Versions >= versionSources:
		return "the spec has a setting that is not known"
	case s.KeepVersions < MinKeep || s.KeepVersions > MaxKeep:
		return fmt.Sprintf("a rollout keeps %d to %d versions, not %d", MinKeep, MaxKeep, uint64(s.KeepVersions))
	case s.AskInterval < MinAsk || s.AskInterval > MaxDelay:
		return fmt.Sprintf("the source is asked every %d ms at the most", MinAsk.Milliseconds())
	case max(s.ProgressDeadline, s.HaltDeadline, re.After, re.Interval) > MaxDelay || max(uint64(re.Attempts),
		uint64(re.Most)) > most:
		return "a time or a number of the spec is too large"
	case len(re.Codes) > MaxCodes:
		return fmt.Sprintf("a rollout has at most %d codes of errors", MaxCodes)
	}
	for _, code := range re.Codes {
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

func (l *Location) check(index int) string {
	switch {
	case !fitWord(l.Name):
		return fmt.Sprintf("the name of location %q is empty, too long or not printable", l.Name)
	case index == 0 && l.Delay != 0:
		return fmt.Sprintf("the first location, %s, has none before it, and so no delay", l.Name)
	case l.Delay > MaxDelay:
		return fmt.Sprintf("the delay of %s is longer than %d ms", l.Name, MaxDelay.Milliseconds())
	case uint64(l.Require) > MaxInstances:
		return fmt.Sprintf("%s requires more leaders than a rollout has instances", l.Name)
	case uint64(l.MaxFailing) > MaxFailing:
		return fmt.Sprintf("%s may have at most %d failing instances", l.Name, MaxFailing)
	case len(l.Gates) > MaxGates:
		return fmt.Sprintf("%s has more than %d gates", l.Name, MaxGates)
	}
	for k, gate := range l.Gates {
		if !fitWord(gate) || slices.Contains(l.Gates[:k], gate) {
			return fmt.Sprintf("the gate %q of %s is not a fit name, or is there twice", gate, l.Name)
		}
	}
	return ""
}

// fitWord reports whether a name in the spec is fit for lists and for views: view names contain a location name after a
// slash.
func fitWord(s string) bool {
	unfit := func(r rune) bool { return r <= ' ' || r > '~' || r == '/' || r == ',' }
	return s != "" && len(s) <= MaxWord && !strings.ContainsFunc(s, unfit)
}

// Equal reports whether two specs are equivalent. An empty list equals no list.
func (s *Spec) Equal(other *Spec) bool {
	a, b := s.Clone(), other.Clone()
	return reflect.DeepEqual(a, b)
}

// Clone returns a spec that shares nothing with s. Empty lists become nil.
func (s *Spec) Clone() Spec {
	c := *s
	c.Reelect.Codes = append([]string(nil), s.Reelect.Codes...)
	c.Locations = append([]Location(nil), s.Locations...)
	for k := range c.Locations {
		c.Locations[k].Gates = append([]string(nil), c.Locations[k].Gates...)
	}
	return c
}
