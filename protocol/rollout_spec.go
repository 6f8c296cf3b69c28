package protocol

// RolloutSpec is what an operator says of a rollout.
type RolloutSpec struct {
	Locations LocationSpecs // in the order in which versions reach them
	DelayFrom DelayFrom
	Versions  VersionSource
	// Reelect without a number in it stands for the defaults: after 60 s and 3 attempts, every 10 s, 5 times in a row.
	Reelect ReelectSpec
	// ProgressMillis is after which time an unreached target is reported as stuck, HaltMillis after which time it halts
	// the rollout; 0 is never.
	ProgressMillis uint64
	HaltMillis     uint64
	// KeepVersions is how many versions are kept, and rows of the history of each location; 0 stands for 64.
	KeepVersions uint64
	// AskMillis is how long the source is left alone after it was asked, where no leader asks; 0 stands for a second.
	AskMillis uint64
}

func (s *RolloutSpec) fields(c *codec) {
	s.Locations.list(c, "locations")
	enum(c, "delay_from", &s.DelayFrom)
	enum(c, "versions", &s.Versions)
	c.record("reelect", s.Reelect.fields)
	c.uint("progress_ms", &s.ProgressMillis)
	c.uint("halt_ms", &s.HaltMillis)
	c.uint("keep_versions", &s.KeepVersions)
	c.uint("ask_ms", &s.AskMillis)
}

// ReelectSpec says when a target that instances cannot use is given up, and another version is chosen.
type ReelectSpec struct {
	// Codes are the errors for which it is given up at once.
	Codes Words
	// AfterMillis and Attempts: it is given up for any error after more than this time since the instance received it,
	// and more than so many attempts.
	AfterMillis uint64
	Attempts    uint64
	// IntervalMillis is at least between two choices of this kind in a location.
	IntervalMillis uint64
	// Most is how many there are in a row without a version that is reached; where another is due the rollout halts.
	Most uint64
}

func (s *ReelectSpec) fields(c *codec) {
	s.Codes.list(c, "codes")
	c.uint("after_ms", &s.AfterMillis)
	c.uint("attempts", &s.Attempts)
	c.uint("interval_ms", &s.IntervalMillis)
	c.uint("most", &s.Most)
}

// LocationSpec is one location of a rollout.
type LocationSpec struct {
	Name []byte
	// DelayMillis is how old a version must be in the location before. The first has none before it, and no delay.
	DelayMillis uint64
	// Require is how many leaders must have reached the target; 0 is all of them.
	Require uint64
	// MaxFailing is how many instances may fail without a new choice.
	MaxFailing uint64
	// Gates must be passed before the target counts as reached.
	Gates Words
}

func (s *LocationSpec) item(c *codec) { c.record("", s.fields) }

func (s *LocationSpec) fields(c *codec) {
	c.text("name", &s.Name, MaxWordBytes)
	c.uint("delay_ms", &s.DelayMillis)
	c.uint("require", &s.Require)
	c.uint("max_failing", &s.MaxFailing)
	s.Gates.list(c, "gates")
}

// LocationSpecs is a list of locations.
type LocationSpecs = List[LocationSpec, *LocationSpec]

// Word is a short name as an item of a list: of a location, a gate, a code.
type Word []byte

func (w *Word) item(c *codec) { c.text("", (*[]byte)(w), MaxWordBytes) }

// Words is a list of short names.
type Words = List[Word, *Word]

// PutMode says what a RolloutPut does with a rollout that is there, and without one.
type PutMode uint8

// The modes: make a rollout, alter the one that is there, or whichever of the two is possible.
const (
	PutCreate PutMode = 0
	PutAlter  PutMode = 1
	PutEither PutMode = 2
)

// String returns the mode as the docs write it.
func (m PutMode) String() string { return nameOf(m, "PUT_MODE", "CREATE", "ALTER", "EITHER") }

// DelayFrom says from when the delay of a location counts in the location before it.
type DelayFrom uint8

// A version flows on from when it was reached there, or from when it was assigned.
const (
	DelayFromReached  DelayFrom = 0
	DelayFromAssigned DelayFrom = 1
)

// String returns the name as the docs write it.
func (d DelayFrom) String() string { return nameOf(d, "DELAY_FROM", "REACHED", "ASSIGNED") }

// VersionSource says where versions come from.
type VersionSource uint8

// Versions are published, or a source is asked for each.
const (
	VersionsPublished VersionSource = 0
	VersionsAsked     VersionSource = 1
)

// String returns the name as the docs write it.
func (s VersionSource) String() string { return nameOf(s, "VERSION_SOURCE", "PUBLISHED", "ASKED") }
