package rollout

import (
	"slices"
	"time"

	"github.com/signalbox/signalbox/protocol/field"
)

// The fields of a State on the wire are the overview in the view of a whole rollout. Locations and versions are rows in
// the view, including the spec's locations; the answer to a describe has the revision, the phase and the reasons.

// State is a whole rollout at one point in time. A State never changes and may be shared.
type State struct {
	// Exists is set if there is a rollout. If not, the other fields are zero. Only a Watch shows a State without a
	// rollout.
	Exists   bool   `wire:"-"`
	Revision uint64 `wire:"-"`
	Phase    Phase  `wire:"-"`
	// Reasons are why the rollout is stalled: in a Watch, or if a reader asked for the reasons.
	Reasons []BlockReason `wire:"-"`
	Spec    Spec
	// SpecRevision is the revision at which the spec last changed.
	SpecRevision uint64
	LastSeq      uint64 `name:"latest_version"` // the newest version ever published
	Generation   uint64 // the last target's generation
	Paused       Halt
	Halted       Halt
	// Sources can be asked for a version. Declined is the latest answer from a source that had no version.
	Sources   []string        `wire:"sources MaxSources MaxText"`
	Declined  string          `name:"source_error" wire:"declined MaxText"`
	LastAct   ActionRecord    `name:"last_action" wire:"last_action"`
	Locations []LocationState `wire:"-"` // in deployment order
	Versions  []Version       `wire:"-"` // the kept versions, without payloads, by seq
}

// Location returns the location with a name, nil if the rollout has none.
func (s *State) Location(name string) *LocationState {
	if i := slices.IndexFunc(s.Locations, func(l LocationState) bool { return l.Name == name }); i >= 0 {
		return &s.Locations[i]
	}
	return nil
}

// Halt is why a rollout is stopped: an operator paused it, or it halted.
type Halt struct {
	Since Timestamp // not set if the rollout is not paused, or has not halted
	// Reason and Location are for a halt: the cause, and the location that made the rollout halt.
	Reason   HaltReason `name:"cause"`
	Location string
	By       ChangeInfo `inline:"true"`
}

// Timestamp is when something happened, in the time of the rollout's shard.
type Timestamp = field.Timestamp

// Fields implements field.Value.
func (h *Halt) Fields(c field.Coder) {
	c.Moment("since", &h.Since)
	field.Enum(c, "reason", &h.Reason, HaltReasons)
	c.Text("location", &h.Location, MaxWord)
	c.Text("author", &h.By.Author, MaxText)
	c.Text("text", &h.By.Reason, MaxText)
}

// LocationState is a rollout location.
type LocationState struct {
	Location
	// Inherited is the delay taken over from deleted earlier locations, which adds to the location's own delay.
	Inherited time.Duration `name:"inherited_delay"`
	// Target is what the instances should deploy; the generation is 0 if the location has no target yet.
	Target Row
	Gates  []GateState
	Counts
	Bypassed bool
	// Back is the version to which the location rolls back as soon as the earlier locations have; 0 is none.
	Back uint64 `name:"rolling_back_to"`
	// Stalled is set if the target is unreached for longer than the progress deadline.
	Stalled bool
	// Reelections counts consecutively abandoned targets.
	Reelections int
}

// Counts is how many instances a location has, and their progress.
type Counts struct {
	Instances int `wire:"instances"`
	Leaders   int
	Reached   int // leaders that have reached the target
	Failing   int // instances that failed
}

// LocationRow is a location as a row in the view of a whole rollout. Rows come in id order.
type LocationRow struct {
	Place int // index in the location order, from 0
	LocationState
}

// Fields implements field.Value.
func (l *LocationRow) Fields(c field.Coder) {
	c.Count("index", &l.Place)
	c.Record("spec", l.Location.Fields)
	c.Millis("inherited_ms", &l.Inherited)
	c.Record("target", l.Target.Fields)
	field.List(c, "gates", &l.Gates, MaxGates, (*GateState).Fields)
	c.Record("counts", l.Counts.Fields)
	c.Flag("bypassed", &l.Bypassed)
	c.Number("rolling_back_to", &l.Back)
	c.Flag("stalled", &l.Stalled)
	c.Count("reelections", &l.Reelections)
}

// GateState is a gate for a location's target.
type GateState struct {
	Name    string    `omit:"never"`
	Verdict Verdict   `name:"report"`
	By      string    `name:"author"`
	Since   Timestamp // time of the verdict
}

// Fields implements field.Value.
func (g *GateState) Fields(c field.Coder) {
	c.Text("name", &g.Name, MaxWord)
	field.Enum(c, "verdict", &g.Verdict.Result, Results)
	c.Text("author", &g.By, MaxText)
	c.Text("text", &g.Verdict.Text, MaxText)
	c.Moment("since", &g.Since)
}

// BlockReason is why part of a rollout is stalled.
type BlockReason struct {
	// Code is for programs, Text for people; Text includes all other fields.
	Code string `omit:"never" wire:"code MaxWord"`
	Text string `name:"message" omit:"never" wire:"text MaxReason"`
	// Location is empty for the whole rollout.
	Location string `wire:"location MaxWord"`
	// Blocked is set if neither time nor the present instances can end the reason.
	Blocked bool
	Seq     uint64 `name:"version"` // the version the reason concerns
	// Waiting is how many of Of leaders have not reached the target; Named are the first of them.
	Waiting int
	Of      int      `name:"total" wire:"total"`
	Named   []string `name:"waiting_for" wire:"waiting_for MaxNamed MaxText"`
	Since   Timestamp
	// Left is the time after which the reason ends automatically; 0 if unknown.
	Left time.Duration `name:"remaining" wire:"until left"`
}
