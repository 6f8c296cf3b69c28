package rollout

import (
	"slices"
	"time"

	"github.com/signalbox/signalbox/protocol/field"
)

// State is a whole rollout at one moment. A State never changes and may be shared.
type State struct {
	// Exists: there is a rollout. If not, the further fields are zero. Only a Watch shows a State without a rollout.
	Exists   bool
	Revision uint64
	Phase    Phase
	// Reasons are why the rollout does not move: of a Watch, or if a reader asked for the reasons.
	Reasons []BlockReason
	Spec    Spec
	// SpecRevision is the revision of the latest change of the spec.
	SpecRevision uint64
	LastSeq      uint64 `name:"latest_version"` // of the newest version there ever was
	Generation   uint64 // the last generation of a target
	Paused       Halt
	Halted       Halt
	// Sources can be asked for a version. Declined is the latest answer of a source that had no version.
	Sources   []string
	Declined  string          `name:"source_error"`
	LastAct   ActionRecord    `name:"last_action"`
	Locations []LocationState // in their order
	Versions  []Version       // the versions that are kept, without payloads, by seq
}

// Fields implements field.Value, for the overview of the view of a whole rollout. Locations and versions are rows of
// the view, also the locations of the spec; the answer to a describe has the revision, the phase and the reasons.
func (s *State) Fields(c field.Coder) {
	c.Record("spec", s.Spec.Fields)
	c.Number("spec_revision", &s.SpecRevision)
	c.Number("last_seq", &s.LastSeq)
	c.Number("generation", &s.Generation)
	c.Record("paused", s.Paused.Fields)
	c.Record("halted", s.Halted.Fields)
	c.Words("sources", &s.Sources, MaxSources, MaxText)
	c.Text("declined", &s.Declined, MaxText)
	c.Record("last_action", s.LastAct.Fields)
}

// Location returns the location of a name, nil if the rollout has no such location.
func (s *State) Location(name string) *LocationState {
	if i := slices.IndexFunc(s.Locations, func(l LocationState) bool { return l.Name == name }); i >= 0 {
		return &s.Locations[i]
	}
	return nil
}

// Halt is why a rollout stands still: an operator paused the rollout, or the rollout halted.
type Halt struct {
	Since Timestamp // the moment has not happened if the rollout is not paused, or has not halted
	// Reason and Location are of a halt: why, and in which location the rollout halted by itself.
	Reason   HaltReason `name:"cause"`
	Location string
	By       ChangeInfo `inline:"true"`
}

// Timestamp is when something happened, by the time of the rollout's shard.
type Timestamp = field.Timestamp

// Fields implements field.Value.
func (h *Halt) Fields(c field.Coder) {
	c.Moment("since", &h.Since)
	field.Enum(c, "reason", &h.Reason, HaltReasons)
	c.Text("location", &h.Location, MaxWord)
	c.Text("author", &h.By.Author, MaxText)
	c.Text("text", &h.By.Reason, MaxText)
}

// LocationState is a location of a rollout.
type LocationState struct {
	Location
	// Inherited is the delay of earlier locations that have been removed. Inherited adds to the location's own delay.
	Inherited time.Duration `name:"inherited_delay"`
	// Target is what the instances are to use; the generation is 0 if the location has no target yet.
	Target Row
	Gates  []GateState
	Counts
	Bypassed bool
	// Back is the version to which the location goes back as soon as the earlier locations have; 0 is none.
	Back uint64 `name:"rolling_back_to"`
	// Stalled: the target is not reached for longer than the progress deadline.
	Stalled bool
	// Reelections counts targets that were given up in a row.
	Reelections int
}

// Counts says how many instances a location has, and how far the instances are.
type Counts struct {
	Instances int
	Leaders   int
	Reached   int // leaders that have reached the target
	Failing   int // instances that failed
}

// Fields implements field.Value.
func (co *Counts) Fields(c field.Coder) {
	c.Count("instances", &co.Instances)
	c.Count("leaders", &co.Leaders)
	c.Count("reached", &co.Reached)
	c.Count("failing", &co.Failing)
}

// LocationRow is a location as a row of the view of a whole rollout. Rows come in the order of their ids.
type LocationRow struct {
	Place int // in the order of the locations, from 0 on
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

// GateState is a gate of a location's target.
type GateState struct {
	Name    string
	Verdict Verdict   `name:"report"`
	By      string    `name:"author"`
	Since   Timestamp // of the verdict
}

// Fields implements field.Value.
func (g *GateState) Fields(c field.Coder) {
	c.Text("name", &g.Name, MaxWord)
	field.Enum(c, "verdict", &g.Verdict.Result, Results)
	c.Text("author", &g.By, MaxText)
	c.Text("text", &g.Verdict.Text, MaxText)
	c.Moment("since", &g.Since)
}

// BlockReason is why something of a rollout does not move.
type BlockReason struct {
	// Code is for programs, Text for people; Text includes all of the rest.
	Code string
	Text string `name:"message"`
	// Location is empty for the whole rollout.
	Location string
	// Blocked: neither time nor the present instances can end the reason.
	Blocked bool
	Seq     uint64 `name:"version"` // the version that the reason is about
	// Waiting of Of leaders have not reached the target; Named are the first of the leaders that have not.
	Waiting int
	Of      int      `name:"total"`
	Named   []string `name:"waiting_for"`
	Since   Timestamp
	// Left is after which time the reason ends by itself; 0 is not known.
	Left time.Duration `name:"remaining"`
}

// Fields implements field.Value.
func (r *BlockReason) Fields(c field.Coder) {
	c.Text("code", &r.Code, MaxWord)
	c.Text("text", &r.Text, MaxReason)
	c.Text("location", &r.Location, MaxWord)
	c.Flag("blocked", &r.Blocked)
	c.Number("seq", &r.Seq)
	c.Count("waiting", &r.Waiting)
	c.Count("total", &r.Of)
	c.Words("waiting_for", &r.Named, MaxNamed, MaxText)
	c.Moment("since", &r.Since)
	c.Left("until", &r.Left)
}
