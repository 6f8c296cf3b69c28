package rollout

import (
	"cmp"
	"slices"
	"time"

	"github.com/signalbox/signalbox/client/internal/conn"
	"github.com/signalbox/signalbox/protocol"
)

// State is a whole rollout at one moment. It never changes and may be shared.
type State struct {
	// Exists: there is a rollout. Where not, all that follows is zero. Only a Watch shows one that does not exist.
	Exists   bool
	Revision uint64
	Phase    Phase
	// Reasons are why it does not move: where they were asked for, and of a Watch.
	Reasons []StopReason
	Spec    Spec
	// SpecRevision is that of the latest change of the spec.
	SpecRevision uint64
	LastSeq      uint64 // of the newest version there ever was
	Generation   uint64 // the last that was given to a target
	Paused       Stop
	Halted       Stop
	// Sources are those that can be asked for a version, Declined what one said when it had none last.
	Sources   []string
	Declined  string
	LastAct   PastAct
	Locations []LocationState // in their order
	Versions  []Version       // that are kept, without their payloads, by seq
}

// Phase is how a rollout is as a whole.
type Phase uint8

// The phases. A later one goes before an earlier one where both fit.
const (
	Idle        = Phase(protocol.PhaseIdle)        // every location has reached the newest version that it may have
	Rolling     = Phase(protocol.PhaseRolling)     // versions are on their way
	Blocked     = Phase(protocol.PhaseBlocked)     // something has to come from outside; the reasons say what
	RollingBack = Phase(protocol.PhaseRollingBack) // locations go back to a version
	Paused      = Phase(protocol.PhasePaused)      // an operator paused it
	Halted      = Phase(protocol.PhaseHalted)      // it halted, and waits for an operator
)

// String returns the phase in words.
func (p Phase) String() string { return inWords(protocol.RolloutPhase(p).String()) }

// Stop is why a rollout stands still: it was paused, or it halted.
type Stop struct {
	Since Moment // it has not happened where the rollout does not stand still by this
	// Reason and Location are of a halt: why, and where where it halted by itself.
	Reason   HaltReason
	Location string
	By       By
}

// HaltReason says why a rollout halted.
type HaltReason uint8

// The reasons of halts.
const (
	NotHalted         = HaltReason(protocol.HaltNone)
	HaltedReelections = HaltReason(protocol.HaltReelections) // versions were given up too often in a row
	HaltedDeadline    = HaltReason(protocol.HaltDeadline)    // a target was not reached in time
	HaltedAborted     = HaltReason(protocol.HaltAborted)     // an operator aborted
)

// String returns the reason in a word.
func (h HaltReason) String() string { return inWords(protocol.HaltReason(h).String()) }

// PastAct is an act that was carried out.
type PastAct struct {
	Act
	Number uint64
	At     Moment
}

// LocationState is a location of a rollout.
type LocationState struct {
	Location
	// Inherited is the delay of locations that were before it and have been removed; it adds to its own.
	Inherited time.Duration
	// Target is what its instances are to use; its generation is 0 where it has none yet.
	Target    Row
	Gates     []GateState
	Instances int
	Leaders   int
	Reached   int // leaders that have reached the target
	Failing   int // instances that failed
	Bypassed  bool
	// Back is the version that it goes back to as soon as those before it have; 0 is none.
	Back uint64
	// Stuck: the target is not reached for longer than the progress deadline.
	Stuck bool
	// Reelections counts targets that were given up in a row.
	Reelections int

	place uint64
}

// GateState is a gate of a location's target.
type GateState struct {
	Name    string
	Verdict Verdict
	By      string
	Since   Moment // of the verdict
}

// Row is one target in the history of a location.
type Row struct {
	Seq        uint64
	Generation uint64
	Assigned   Moment
	Reached    Moment
	Abandoned  Moment
	Cause      Cause
	// Waived: an operator said that it counts as reached.
	Waived bool
	// Note is who or what assigned it, or gave it up.
	Note string
}

// Cause says why a location got a target.
type Cause uint8

// The causes of targets.
const (
	CauseUnknown    = Cause(protocol.CauseUnknown)
	CauseBirth      = Cause(protocol.CauseBirth)      // its first
	CauseNext       = Cause(protocol.CauseNext)       // the one before was reached
	CauseReelection = Cause(protocol.CauseReelection) // instances could not use the one before
	CauseReplaced   = Cause(protocol.CauseReplaced)   // the one before was aborted or withdrawn
	CausePromote    = Cause(protocol.CausePromote)    // an operator's act, as are those below
	CauseRollback   = Cause(protocol.CauseRollback)
	CauseRetry      = Cause(protocol.CauseRetry)
)

// String returns the cause in a word.
func (c Cause) String() string { return inWords(protocol.TargetCause(c).String()) }

// StopReason is why something of a rollout does not move.
type StopReason struct {
	// Code is for programs, Text for people; Text says all of the rest.
	Code string
	Text string
	// Location is empty for the whole rollout.
	Location string
	// Blocked: neither time nor the instances that are there can do away with it.
	Blocked bool
	Seq     uint64 // the version that it is about
	// Waiting of Of leaders have not reached the target; Named are the first of them.
	Waiting int
	Of      int
	Named   []string
	Since   Moment
	// Left is after which time it ends by itself; 0 is not known.
	Left time.Duration
}

// The codes of reasons.
const (
	ReasonHalted        = "halted"
	ReasonPaused        = "paused"
	ReasonLeaders       = "leaders"         // leaders have not reached the target
	ReasonNoInstances   = "no-instances"    // a version is there, and no instance has ever asked
	ReasonNoLeaders     = "no-leaders"      // no leader has a session
	ReasonFewLeaders    = "few-leaders"     // fewer leaders than are required
	ReasonGate          = "gate"            // a gate is not passed
	ReasonNoAlternative = "no-alternative"  // the target is of no use, and there is no other version
	ReasonNoSource      = "no-source"       // a version is wanted, and there is no source
	ReasonSource        = "source"          // a source was asked and has not answered
	ReasonDelay         = "delay"           // a version is not old enough in the location before
	ReasonInterval      = "reelection-wait" // the last choice of another version was too recently
	ReasonBack          = "back"            // it goes back after the location before it
	ReasonBypassed      = "bypassed"        // an operator took the location out of the order
	ReasonStuck         = "stuck"           // the progress deadline has passed
)

func (s *State) readHead(h *protocol.RolloutHead, now clock) {
	s.Spec, s.SpecRevision = specOf(&h.Spec), h.SpecRevision
	s.LastSeq, s.Generation = h.LastSeq, h.Generation
	s.Paused, s.Halted = stopOf(&h.Paused, now), stopOf(&h.Halted, now)
	for name := range h.Sources.All() {
		s.Sources = append(s.Sources, string(name))
	}
	s.Declined, s.LastAct = string(h.Declined), pastActOf(&h.LastAct, now)
}

func stopOf(m *protocol.RolloutStop, now clock) Stop {
	return Stop{
		Since: now.moment(m.Since, 0), Reason: HaltReason(m.Reason), Location: string(m.Location),
		By: By{string(m.Author), string(m.Text)},
	}
}

func pastActOf(m *protocol.RolloutActRow, now clock) PastAct {
	return PastAct{Act: actOf(&m.Act), Number: m.Number, At: now.moment(m.Moment, m.WallMillis)}
}

func rowOf(m *protocol.TargetRow, now clock) Row {
	return Row{
		Seq: m.Seq, Generation: m.Generation,
		Assigned:  now.moment(m.Assigned, m.AssignedWallMillis),
		Reached:   now.moment(m.Reached, m.ReachedWallMillis),
		Abandoned: now.moment(m.Abandoned, m.AbandonedWallMillis),
		Cause:     Cause(m.Cause), Waived: m.Waived, Note: string(m.Note),
	}
}

func locationStateOf(m *protocol.RolloutLocation, now clock) LocationState {
	l := LocationState{
		Location: locationOf(&m.Spec), Inherited: conn.Millis(m.InheritedMillis), Target: rowOf(&m.Target, now),
		Instances: int(m.Counts.Instances), Leaders: int(m.Counts.Leaders), Reached: int(m.Counts.Reached),
		Failing: int(m.Counts.Failing), Bypassed: m.Bypassed, Back: m.Back, Stuck: m.Stuck,
		Reelections: int(m.Reelections), place: m.Place,
	}
	for g := range m.Gates.All() {
		l.Gates = append(l.Gates, GateState{
			Name: string(g.Name), Verdict: Verdict{Result(g.Verdict), string(g.Text)}, By: string(g.By),
			Since: now.moment(g.Since, 0),
		})
	}
	return l
}

func reasonOf(m *protocol.Reason, now clock) StopReason {
	r := StopReason{
		Code: string(m.Code), Text: string(m.Text), Location: string(m.Location), Blocked: m.Blocked, Seq: m.Seq,
		Waiting: int(m.Waiting), Of: int(m.Of), Since: now.moment(m.Since, 0), Left: now.until(m.Until),
	}
	for name := range m.Named.All() {
		r.Named = append(r.Named, string(name))
	}
	return r
}

// arrange puts the locations into their order, into the spec too, and the versions into theirs.
func (s *State) arrange() {
	slices.SortFunc(s.Locations, func(a, b LocationState) int { return cmp.Compare(a.place, b.place) })
	slices.SortFunc(s.Versions, func(a, b Version) int { return cmp.Compare(a.Seq, b.Seq) })
	for _, l := range s.Locations {
		s.Spec.Locations = append(s.Spec.Locations, l.Location)
	}
}

// Location returns the location of a name, nil where there is none.
func (s *State) Location(name string) *LocationState {
	for i := range s.Locations {
		if s.Locations[i].Name == name {
			return &s.Locations[i]
		}
	}
	return nil
}
