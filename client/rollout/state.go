package rollout

import (
	"cmp"
	"slices"
	"time"

	"github.com/signalbox/signalbox/client/internal/conn"
	"github.com/signalbox/signalbox/client/internal/object"
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
func (p Phase) String() string { return object.InWords(protocol.RolloutPhase(p).String()) }

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
func (h HaltReason) String() string { return object.InWords(protocol.HaltReason(h).String()) }

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
		Since: now.Moment(m.Since, 0), Reason: HaltReason(m.Reason), Location: string(m.Location),
		By: By{string(m.Author), string(m.Text)},
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
			Since: now.Moment(g.Since, 0),
		})
	}
	return l
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
