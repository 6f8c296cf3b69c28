package plan

import (
	"fmt"
	"slices"
)

// The limits of a plan. All replicas must agree on them.
const (
	// MaxSteps is how many steps are open at the most, whatever Config.Open says.
	MaxSteps = 64
	// MaxBackoffs is how many subjects with failures a plan remembers. If there are more, the subject whose delay
	// ends first is forgotten.
	MaxBackoffs = 256
	// MaxSubject is the longest subject, in bytes; MaxWith is how many other subjects a step occupies at the most.
	MaxSubject = 128
	MaxWith    = 8
	// MaxPayload is the longest encoded payload of a step, in bytes.
	MaxPayload = 4096
	// MaxText is how much of an error's text is kept, in bytes.
	MaxText = 256
)

// ID numbers the steps of one plan. The id grows, and is never given twice.
type ID uint64

// Kind numbers a kind of step. Zero is no kind.
type Kind uint8

// Phase is how far a step has come: 0 at first, then the result of Type.Reached. The phase only grows.
type Phase uint32

// Subject names the thing that a step changes, in the user's words: "shard/3", "host/b".
type Subject string

// Proposal is a step of a rule, before the step begins.
type Proposal[P any] struct {
	Kind    Kind
	Subject Subject
	// With are further subjects that no other step may have meanwhile. Failures are not counted for them.
	With    []Subject
	Payload P
	// Supersedes is an open step whose place the new step takes, or 0. The effects of the superseded step stay, and
	// the rules must handle them.
	Supersedes ID
}

// conflicts reports whether the two may not be open at once.
func (pr *Proposal[P]) conflicts(other *Proposal[P]) bool {
	taken := subjects(other)
	return slices.ContainsFunc(subjects(pr), func(s Subject) bool { return slices.Contains(taken, s) })
}

// Step is the record of an open step: a step that has begun and is not over.
type Step[P any] struct {
	ID ID
	Proposal[P]
	Phase Phase
	// Term is the term of the leader at the last change of the record. An executor of a later term cannot know the
	// progress of the executor before.
	Term uint64
	// Started is the shard time at the beginning of the step, Entered at the beginning of its phase.
	Started, Entered uint64
	// Failures counts the failed attempts since the subject's last success, with the failures of earlier steps.
	Failures  uint32
	LastError string
	// NotBefore is the shard time before which no executor may act for the step again.
	NotBefore uint64
}

// Act names a step as an executor read it. The act takes effect only if the step is still the same: a
// compare-and-set.
type Act struct {
	Step     ID
	Phase    Phase
	Failures uint32
	// Term is the term of the executor's leader.
	Term uint64
}

// Act returns the name of the step for an executor of the term.
func (s *Step[P]) Act(term uint64) Act {
	return Act{Step: s.ID, Phase: s.Phase, Failures: s.Failures, Term: term}
}

// Moment is what the machine's clock says: shard time in milliseconds, and the term of the leader.
type Moment struct{ Now, Term uint64 }

// Outcome is the outcome of an act. Every outcome except Applied changed nothing.
type Outcome uint8

// The outcomes of acts.
const (
	Applied   Outcome = iota + 1
	OtherTerm         // the act is of a leader that is over
	Unknown           // no step has had the id
	Over              // the step is over
	Moved             // the step has a new phase or new failures by now: the act came late, or twice
	Replanned         // the plan has changed since the step was proposed
	Occupied          // an open step has one of the subjects, or as many are open as may be
	Waits             // the subject has failed and waits
	Unfit             // the act asks for something that no plan takes
)

var outcomes = [...]string{Applied: "applied", OtherTerm: "of another term", Unknown: "unknown step",
	Over: "step is over", Moved: "step has moved on", Replanned: "plan has changed", Occupied: "occupied",
	Waits: "subject waits", Unfit: "unfit"}

// String returns the outcome in words.
func (o Outcome) String() string {
	if int(o) < len(outcomes) && outcomes[o] != "" {
		return outcomes[o]
	}
	return fmt.Sprintf("outcome %d", uint8(o))
}
