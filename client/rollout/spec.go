package rollout

import (
	"time"

	"github.com/signalbox/signalbox/client/internal/conn"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/object"
	"github.com/signalbox/signalbox/protocol"
)

// Spec is what an operator says of a rollout. Times are counted in whole milliseconds, rounded up.
type Spec struct {
	// Locations are in the order in which versions reach them.
	Locations []Location
	// DelayFrom says from when the delay of a location counts in the location before it.
	DelayFrom DelayFrom
	// Versions says where versions come from.
	Versions VersionSource
	// Reelect with nothing in it stands for the defaults: after a minute and 3 attempts, every 10 s, 5 times in a row.
	Reelect Reelect
	// ProgressDeadline is after which time an unreached target is reported as stuck, HaltDeadline after which time it
	// halts the rollout; 0 is never.
	ProgressDeadline time.Duration
	HaltDeadline     time.Duration
	// KeepVersions is how many versions are kept, and rows of the history of each location; 0 stands for 64.
	KeepVersions int
	// AskInterval is how long a source is left alone after it was asked, where no leader asks; 0 stands for a second.
	AskInterval time.Duration
}

// Location is one location of a rollout.
type Location struct {
	Name string
	// Delay is how old a version must be in the location before. The first has none before it, and no delay.
	Delay time.Duration
	// Require is how many leaders must have reached the target; 0 is all of them.
	Require int
	// MaxFailing is how many instances may fail without a new choice.
	MaxFailing int
	// Gates must be passed before the target counts as reached.
	Gates []string
}

// Reelect says when a target that instances cannot use is given up, and another version is chosen.
type Reelect struct {
	// Codes are the errors for which it is given up at once.
	Codes []string
	// After and Attempts: it is given up for any error after more than this time since the instance received it, and
	// more than so many attempts.
	After    time.Duration
	Attempts int
	// Interval is at least between two choices of this kind in a location.
	Interval time.Duration
	// Most is how many there are in a row without a version that is reached; where another is due the rollout halts.
	Most int
}

// DelayFrom says from when the delay of a location counts in the location before it.
type DelayFrom uint8

// A version flows on from when it was reached there, or from when it was assigned.
const (
	FromReached  = DelayFrom(protocol.DelayFromReached)
	FromAssigned = DelayFrom(protocol.DelayFromAssigned)
)

// String returns it in a word.
func (d DelayFrom) String() string { return object.InWords(protocol.DelayFrom(d).String()) }

// VersionSource says where versions come from.
type VersionSource uint8

// Versions are published, or a source is asked for each.
const (
	Published = VersionSource(protocol.VersionsPublished)
	Asked     = VersionSource(protocol.VersionsAsked)
)

// String returns it in a word.
func (v VersionSource) String() string { return object.InWords(protocol.VersionSource(v).String()) }

// check refuses what would be another number on its way to a host.
func (s *Spec) check() error {
	least := min(s.ProgressDeadline, s.HaltDeadline, s.AskInterval, s.Reelect.After, s.Reelect.Interval)
	count := min(s.KeepVersions, s.Reelect.Attempts, s.Reelect.Most)
	for _, l := range s.Locations {
		least, count = min(least, l.Delay), min(count, l.Require, l.MaxFailing)
	}
	if least < 0 || count < 0 {
		return failure.BadRequest("a time or a number of the spec is negative")
	}
	return nil
}

func (s *Spec) message() protocol.RolloutSpec {
	m := protocol.RolloutSpec{
		DelayFrom: protocol.DelayFrom(s.DelayFrom), Versions: protocol.VersionSource(s.Versions),
		ProgressMillis: object.Millis(s.ProgressDeadline), HaltMillis: object.Millis(s.HaltDeadline),
		KeepVersions: uint64(s.KeepVersions), AskMillis: object.Millis(s.AskInterval),
		Reelect: protocol.ReelectSpec{
			Codes: words(s.Reelect.Codes), AfterMillis: object.Millis(s.Reelect.After),
			Attempts:       uint64(s.Reelect.Attempts),
			IntervalMillis: object.Millis(s.Reelect.Interval), Most: uint64(s.Reelect.Most),
		},
	}
	for _, l := range s.Locations {
		m.Locations.Append(protocol.LocationSpec{
			Name: protocol.View(l.Name), DelayMillis: object.Millis(l.Delay), Require: uint64(l.Require),
			MaxFailing: uint64(l.MaxFailing), Gates: words(l.Gates),
		})
	}
	return m
}

func specOf(m *protocol.RolloutSpec) Spec {
	s := Spec{
		DelayFrom: DelayFrom(m.DelayFrom), Versions: VersionSource(m.Versions),
		ProgressDeadline: conn.Millis(m.ProgressMillis), HaltDeadline: conn.Millis(m.HaltMillis),
		KeepVersions: int(m.KeepVersions), AskInterval: conn.Millis(m.AskMillis),
		Reelect: Reelect{
			Codes: texts(&m.Reelect.Codes), After: conn.Millis(m.Reelect.AfterMillis),
			Attempts: int(m.Reelect.Attempts), Interval: conn.Millis(m.Reelect.IntervalMillis),
			Most: int(m.Reelect.Most),
		},
	}
	for l := range m.Locations.All() {
		s.Locations = append(s.Locations, locationOf(&l))
	}
	return s
}

func locationOf(m *protocol.LocationSpec) Location {
	return Location{
		Name: string(m.Name), Delay: conn.Millis(m.DelayMillis), Require: int(m.Require),
		MaxFailing: int(m.MaxFailing), Gates: texts(&m.Gates),
	}
}

func words(list []string) (out protocol.Words) {
	for _, s := range list {
		out.Append(protocol.Word(s))
	}
	return out
}

func texts(list *protocol.Words) (out []string) {
	for w := range list.All() {
		out = append(out, string(w))
	}
	return out
}
