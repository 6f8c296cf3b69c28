package history

import (
	"fmt"
	"slices"
	"time"
)

// Rollout names a rollout. A node that is made again under the same path must have another name here.
type Rollout struct {
	Node string `json:"node"`
	Name string `json:"name"`
}

// String returns both names.
func (r Rollout) String() string { return r.Node + " " + r.Name }

// findings are where a rule about rollouts or processes is broken.
type findings []string

func (f *findings) add(of fmt.Stringer, format string, args ...any) {
	*f = append(*f, fmt.Sprintf("%v: %s", of, fmt.Sprintf(format, args...)))
}

// RequestKind says what a request about a rollout asks for.
type RequestKind string

// The kinds of requests.
const (
	Publish RequestKind = "publish"
	Offer   RequestKind = "offer" // a source makes a version because it is asked
	Act     RequestKind = "act"   // of an operator
	Lead    RequestKind = "lead"
	Follow  RequestKind = "follow" // or leave
	Reach   RequestKind = "reach"  // an instance reports that it has reached a target
	Fail    RequestKind = "fail"   // an instance reports that it has failed to
	Judge   RequestKind = "judge"  // a checker passes a gate, or does not
)

// Request is one request about a rollout, from before it was sent until its client knew the outcome.
type Request struct {
	Kind    RequestKind `json:"kind"`
	Rollout Rollout     `json:"rollout"`
	// Session is the session that asks, 0 for none; Member the instance that it asks for, numbered by its client.
	Session  uint64 `json:"session,omitempty"`
	Member   int    `json:"member,omitempty"`
	Location string `json:"location,omitempty"` // of the instance or the gate
	// Mark is the label of what is published or offered, or the reason of an act. No two requests have the same.
	Mark string `json:"mark,omitempty"`
	// Verb, Locations and Seq are those of an act. Seq is also the version that was answered, judged or reached.
	Verb      string   `json:"verb,omitempty"`
	Locations []string `json:"locations,omitempty"`
	Seq       uint64   `json:"seq,omitempty"`
	// Generation is that of the target that a report or a verdict is about.
	Generation uint64 `json:"generation,omitempty"`
	Passed     bool   `json:"passed,omitempty"` // the gate

	Called   Time    `json:"called"`
	Returned Time    `json:"returned"`
	Outcome  Outcome `json:"outcome"`
	Error    string  `json:"error,omitempty"`
}

// mayHaveTakenEffect reports whether a request may have had an effect.
func (r *Request) mayHaveTakenEffect() bool { return r.Outcome == Done || r.Outcome == Unknown }

// Target is a target that an instance was shown.
type Target struct {
	Rollout  Rollout `json:"rollout"`
	Client   int     `json:"client"`
	Member   int     `json:"member"` // of the client; an instance that joins again has another number
	Location string  `json:"location"`
	At       Time    `json:"at"`

	Generation uint64 `json:"generation"`
	Seq        uint64 `json:"seq"`
	Mark       string `json:"mark"` // what its payload says
}

// RolloutFinal is what a rollout knew of itself in the end, when the faults had been over for long: the decisions that
// it had made. Moments are those of the shard's time, in milliseconds.
type RolloutFinal struct {
	Rollout   Rollout         `json:"rollout"`
	At        Time            `json:"at"`
	LastSeq   uint64          `json:"last_seq"`
	Locations []FinalLocation `json:"locations"` // in their order
	Acts      []FinalAct      `json:"acts,omitempty"`
	Versions  []FinalVersion  `json:"versions,omitempty"`
	// Kept is how many versions the rollout keeps; 0 where that is not known.
	Kept uint64 `json:"kept,omitempty"`
	// Members are the sessions of the instances, as the rollout knows them.
	Members []uint64 `json:"members,omitempty"`
	// Participants are the instances of clients that believed then to have joined.
	Participants []Participant `json:"participants,omitempty"`
}

// Participant is an instance as its client knows it.
type Participant struct {
	Client   int    `json:"client"`
	Member   int    `json:"member"`
	Location string `json:"location,omitempty"`
	Session  uint64 `json:"session,omitempty"`
}

// FinalLocation is a location with all targets that it ever had.
type FinalLocation struct {
	Name     string        `json:"name"`
	Delay    time.Duration `json:"delay"`
	Leaders  int           `json:"leaders"`
	Bypassed bool          `json:"bypassed,omitempty"`
	Gated    bool          `json:"gated,omitempty"`   // it has a gate
	Targets  []FinalTarget `json:"targets,omitempty"` // in the order in which it got them
	// Cut: there are older targets that are not kept.
	Cut bool `json:"cut,omitempty"`
}

// FinalTarget is one target of a location.
type FinalTarget struct {
	Seq        uint64 `json:"seq"`
	Generation uint64 `json:"generation"`
	Assigned   uint64 `json:"assigned"`
	Reached    uint64 `json:"reached,omitempty"`
	Abandoned  uint64 `json:"abandoned,omitempty"`
	// Automatic: it was no operator's act that gave it. Next: the one before was reached.
	Automatic bool   `json:"automatic,omitempty"`
	Cause     string `json:"cause"`
	Waived    bool   `json:"waived,omitempty"`
}

// FinalAct is an act of an operator that was carried out.
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

// The words of a rollout that rules look at.
const (
	causeNext     = "next"
	causeRollback = "rollback"
	verbPause     = "pause"
	verbResume    = "resume"
	verbRollback  = "rollback"
	verbBypass    = "bypass"
	verbWithdraw  = "withdraw"
)

// last returns the present target, nil where there is none.
func (l *FinalLocation) last() *FinalTarget {
	if len(l.Targets) == 0 {
		return nil
	}
	return &l.Targets[len(l.Targets)-1]
}
