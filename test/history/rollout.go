package history

import (
	"fmt"
	"slices"
	"time"
)

// Rollout names a rollout. A node recreated under the same path needs a different name here.
type Rollout struct {
	Node string `json:"node"`
	Name string `json:"name"`
}

// String returns both names.
func (r Rollout) String() string { return r.Node + " " + r.Name }

// findings are violations of a rollout or process rule.
type findings []string

func (f *findings) add(of fmt.Stringer, format string, args ...any) {
	*f = append(*f, fmt.Sprintf("%v: %s", of, fmt.Sprintf(format, args...)))
}

// RequestKind is the kind of a rollout request.
type RequestKind string

// Request kinds.
const (
	Publish RequestKind = "publish"
	Offer   RequestKind = "offer" // a source makes a requested version
	Act     RequestKind = "act"   // of an operator
	Lead    RequestKind = "lead"
	Follow  RequestKind = "follow" // or leave
	Reach   RequestKind = "reach"  // an instance reports that it reached a target
	Fail    RequestKind = "fail"   // an instance reports a failure
	Judge   RequestKind = "judge"  // a checker passes a gate, or does not
)

// Request is a rollout request, from before sending until its client knew the outcome.
type Request struct {
	Kind    RequestKind `json:"kind"`
	Rollout Rollout     `json:"rollout"`
	// Session is the requesting session, 0 for none; Member the requesting instance, numbered by its client.
	Session  uint64 `json:"session,omitempty"`
	Member   int    `json:"member,omitempty"`
	Location string `json:"location,omitempty"` // location of the instance or gate
	// Mark is the label of a published or offered version, or the reason of an operator's action. Unique per request.
	Mark string `json:"mark,omitempty"`
	// Verb, Locations and Seq describe an action. Seq is also the answered, judged or reached version.
	Verb      string   `json:"verb,omitempty"`
	Locations []string `json:"locations,omitempty"`
	Seq       uint64   `json:"seq,omitempty"`
	// Generation is the target generation in a report or verdict.
	Generation uint64 `json:"generation,omitempty"`
	Passed     bool   `json:"passed,omitempty"` // the gate

	Called   Time    `json:"called"`
	Returned Time    `json:"returned"`
	Outcome  Outcome `json:"outcome"`
	Error    string  `json:"error,omitempty"`
}

// mayHaveTakenEffect reports whether a request may have had an effect.
func (r *Request) mayHaveTakenEffect() bool { return r.Outcome == Done || r.Outcome == Unknown }

// Target is a target shown to an instance.
type Target struct {
	Rollout  Rollout `json:"rollout"`
	Client   int     `json:"client"`
	Member   int     `json:"member"` // client's instance number; changes with each join
	Location string  `json:"location"`
	At       Time    `json:"at"`

	Generation uint64 `json:"generation"`
	Seq        uint64 `json:"seq"`
	Mark       string `json:"mark"` // from the payload
}

// RolloutFinal is a rollout's final state and past decisions, long after all faults ended. Times are shard times in
// milliseconds.
type RolloutFinal struct {
	Rollout   Rollout         `json:"rollout"`
	At        Time            `json:"at"`
	LastSeq   uint64          `json:"last_seq"`
	Locations []FinalLocation `json:"locations"` // in their order
	Acts      []FinalAct      `json:"acts,omitempty"`
	Versions  []FinalVersion  `json:"versions,omitempty"`
	// Kept is the number of versions kept by the rollout; 0 if unknown.
	Kept uint64 `json:"kept,omitempty"`
	// Members are the sessions of the rollout's instances, as known to the rollout.
	Members []uint64 `json:"members,omitempty"`
	// Participants are the instances that clients believed to be joined at that time.
	Participants []Participant `json:"participants,omitempty"`
}

// Participant is an instance as known to its client.
type Participant struct {
	Client   int    `json:"client"`
	Member   int    `json:"member"`
	Location string `json:"location,omitempty"`
	Session  uint64 `json:"session,omitempty"`
}

// FinalLocation is a location with its complete target history.
type FinalLocation struct {
	Name     string        `json:"name"`
	Delay    time.Duration `json:"delay"`
	Leaders  int           `json:"leaders"`
	Bypassed bool          `json:"bypassed,omitempty"`
	Gated    bool          `json:"gated,omitempty"`   // has a gate
	Targets  []FinalTarget `json:"targets,omitempty"` // in the order of assignment
	// Cut: older targets are missing.
	Cut bool `json:"cut,omitempty"`
}

// FinalTarget is one target of a location.
type FinalTarget struct {
	Seq        uint64 `json:"seq"`
	Generation uint64 `json:"generation"`
	Assigned   uint64 `json:"assigned"`
	Reached    uint64 `json:"reached,omitempty"`
	Abandoned  uint64 `json:"abandoned,omitempty"`
	// Automatic: not caused by an operator's action. Next: the previous target was reached.
	Automatic bool   `json:"automatic,omitempty"`
	Cause     string `json:"cause"`
	Waived    bool   `json:"waived,omitempty"`
}

// FinalAct is an operator's action, carried out.
type FinalAct struct {
	Number    uint64   `json:"number"`
	Moment    uint64   `json:"moment"`
	Verb      string   `json:"verb"`
	Locations []string `json:"locations,omitempty"`
	Seq       uint64   `json:"seq,omitempty"`
	Mark      string   `json:"mark"`
}

// about reports whether an act is about a location.
func (a *FinalAct) about(location string) bool {
	return len(a.Locations) == 0 || slices.Contains(a.Locations, location)
}

// FinalVersion is a version.
type FinalVersion struct {
	Seq  uint64 `json:"seq"`
	Mark string `json:"mark"`
}

// Rollout states and words used by the rules.
const (
	causeNext     = "next"
	causeRollback = "rollback"
	verbPause     = "pause"
	verbResume    = "resume"
	verbRollback  = "rollback"
	verbBypass    = "bypass"
	verbWithdraw  = "withdraw"
)

// last returns the current target, or nil.
func (l *FinalLocation) last() *FinalTarget {
	if len(l.Targets) == 0 {
		return nil
	}
	return &l.Targets[len(l.Targets)-1]
}
