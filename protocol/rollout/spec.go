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

// Spec is what an operator says of a rollout. Times are counted in whole milliseconds, rounded up.
type Spec struct {
	// Locations are in the order in which versions reach the locations.
	Locations []Location
	// DelayFrom says from when the delay of a location counts in the location before.
	DelayFrom DelayFrom
	// Versions says where versions come from.
	Versions VersionSource `name:"version_source"`
	// Reelect without a time or a number stands for the defaults: after a minute and 3 attempts, every 10 s, 5 times in
	// a row.
	Reelect Reelect
	// ProgressDeadline is after which time an unreached target is reported as stuck, HaltDeadline after which time an
	// unreached target halts the rollout; 0 is never.
	ProgressDeadline time.Duration
	HaltDeadline     time.Duration
	// KeepVersions is how many versions are kept, and rows of the history of each location; 0 stands for 64.
	KeepVersions int
	// AskInterval is how long a source is left alone after a question, if no leader asks; 0 stands for a second.
	AskInterval time.Duration `name:"source_interval"`
}

// Location is one location of a rollout.
type Location struct {
	Name string
	// Delay is how old a version must be in the location before. The first location has no delay.
	Delay time.Duration
	// Require is how many leaders must have reached the target; 0 is all leaders.
	Require int
	// MaxFailing is how many instances may fail before another version is chosen.
	MaxFailing int
	// Gates must be passed before the target counts as reached.
	Gates []string
}

// Reelect says when a target that instances cannot use is given up, and another version is chosen.
type Reelect struct {
	// Codes are the errors that make a location give a target up at once.
	Codes []string
	// After and Attempts count for every other error: the target is given up after more than this time since the
	// instance received the target, and after more than so many attempts.
	After    time.Duration
	Attempts int
	// Interval is the shortest time between two such choices in a location.
	Interval time.Duration
	// Most is how many choices follow one another without a version that is reached; the next choice halts the rollout.
	Most int `name:"max"`
}

// The limits of what is said of a rollout. Every replica must agree on the limits, so the limits are constants. A
// command beyond a limit is refused before the command has any effect.
const (
	MaxLocations  = 32     // locations of a rollout
	MaxInstances  = 65_536 // instances that have joined at once
	MaxGates      = 8      // gates of a location
	MaxCodes      = 16     // codes of errors that make a location choose another version at once
	MaxFailing    = 100    // failing instances that a location may be allowed
	MinKeep       = 4      // versions that are kept, and rows of the history of a location
	MaxKeep       = 1024
	MaxWord       = 64            // bytes of the name of a location, the name of a gate, the code of an error
	MaxText       = field.MaxText // bytes of an instance's name, a label, an author, a reason, the text of an error
	MaxAttributes = 1024          // bytes of what an instance says of itself
	MaxPayload    = 64 << 10      // bytes of a version
	MaxReason     = 4096          // bytes of why a rollout does not move
	MaxSources    = 16            // sessions with the role of a source at once
	MaxNamed      = 8             // instances that a reason names
	MaxPlanned    = 4096          // steps of a dry run
	MaxDelay      = 30 * 24 * time.Hour
	MinAsk        = 100 * time.Millisecond // between two questions to a source
)

// Fields implements field.Value. In the log the locations stand behind the rules: state has each location elsewhere.
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

// Rules lists the fields that hold for all locations.
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

// Fields implements field.Value.
func (l *Location) Fields(c field.Coder) {
	c.Text("name", &l.Name, MaxWord)
	c.Millis("delay_ms", &l.Delay)
	c.Count("require", &l.Require)
	c.Count("max_failing", &l.MaxFailing)
	c.Words("gates", &l.Gates, MaxGates, MaxWord)
}

// WithDefaults returns the spec with the defaults for what is left out. A host fills the defaults in before the spec
// goes into the log, so that other defaults of a later build change no spec in a log.
func (s Spec) WithDefaults() Spec {
	s.KeepVersions = cmp.Or(s.KeepVersions, 64)
	s.AskInterval = cmp.Or(s.AskInterval, time.Second)
	if re := &s.Reelect; re.After == 0 && re.Attempts == 0 && re.Interval == 0 && re.Most == 0 {
		re.After, re.Attempts, re.Interval, re.Most = time.Minute, 3, 10*time.Second, 5
	}
	return s
}

// Negative reports whether a time or a number of the spec is negative, and so cannot be written.
func (s *Spec) Negative() bool {
	re := &s.Reelect
	least := min(s.ProgressDeadline, s.HaltDeadline, s.AskInterval, re.After, re.Interval)
	count := min(s.KeepVersions, re.Attempts, re.Most)
	for _, l := range s.Locations {
		least, count = min(least, l.Delay), min(count, l.Require, l.MaxFailing)
	}
	return least < 0 || count < 0
}

// Check returns what is wrong with the spec, "" if nothing is. The text is part of the state of a shard, which keeps
// answers, so every build must return the same text for the same spec: a count that was read above the range of int is
// negative here, and is compared and shown as the number that was read.
func (s *Spec) Check() string {
	const most = uint64(MaxDelay / time.Millisecond) // of any number
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

// fitWord reports whether a name of the spec is fit for lists and for views: the name of a view has the name of a
// location behind a slash.
func fitWord(s string) bool {
	unfit := func(r rune) bool { return r <= ' ' || r > '~' || r == '/' || r == ',' }
	return s != "" && len(s) <= MaxWord && !strings.ContainsFunc(s, unfit)
}

// Equal reports whether two specs say the same. An empty list says the same as no list.
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
