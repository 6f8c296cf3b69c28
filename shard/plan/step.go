package plan

import (
	"fmt"
	"slices"
)

// Plan limits. All replicas must agree on them.
const (
	// MaxSteps is the maximum number of open steps, whatever Config.Open is.
	MaxSteps = 64
	// MaxBackoffs is how many subjects with failures a plan remembers. If there are more, the subject whose delay ends
	// first is forgotten.
	MaxBackoffs = 256
	// MaxSubject is the maximum subject length, in bytes; MaxWith is the maximum number of other subjects a step
	// occupies.
	MaxSubject = 128
	MaxWith    = 8
	// MaxPayload is the maximum size of an encoded step payload, in bytes.
	MaxPayload = 4096
	// MaxText is how much of an error text is kept, in bytes.
	MaxText = 256
)

// ID numbers the steps in one plan. The id grows, and is never reused.
type ID uint64

// Kind identifies a step kind. Zero is invalid.
type Kind uint8

// Phase is how far a step has progressed: 0 at first, then the result from Type.Reached. The phase only grows.
type Phase uint32

// Subject names the object a step changes, in the user's words: "shard/3", "host/b".
type Subject string

// Proposal is a step before it begins, as a rule returns it.
type Proposal[P any] struct {
	Kind    Kind
	Subject Subject
	// With are further subjects no other step may occupy meanwhile. Failures are not counted for them.
	With    []Subject
	Payload P
	// Supersedes is an open step the new step replaces, or 0. The superseded step's effects stay, and the rules must
	// handle them.
	Supersedes ID
}

// conflicts reports whether the two may not be open at once.
func (pr *Proposal[P]) conflicts(other *Proposal[P]) bool {
	taken := subjects(other)
	return slices.ContainsFunc(subjects(pr), func(s Subject) bool { return slices.Contains(taken, s) })
}

// Step is an open step's record: a step that has begun and is not over.
type Step[P any] struct {
	ID ID
	Proposal[P]
	Phase Phase
	// Term is the leader's term at the record's last change. An executor in a later term cannot know the previous
	// executor's progress.
	Term uint64
	// Started is the shard time when the step began, Entered when its phase began.
	Started, Entered uint64
	// Failures counts the failed attempts since the subject's last success, including failures in earlier steps.
	Failures  uint32
	LastError string
	// NotBefore is the shard time before which executors must not act on the step again.
	NotBefore uint64
}

// Act names a step as an executor read it. The act takes effect only if the step is unchanged: a compare-and-set.
type Act struct {
	Step     ID
	Phase    Phase
	Failures uint32
	// Term is the term of the executor's leader.
	Term uint64
}

// Act returns the step's name for an executor in the term.
func (s *Step[P]) Act(term uint64) Act {
	return Act{Step: s.ID, Phase: s.Phase, Failures: s.Failures, Term: term}
}

// Moment is the machine's clock reading: shard time in milliseconds, and the leader's term.
type Moment struct{ Now, Term uint64 }

// Outcome is an act's outcome. Every outcome except Applied changed nothing.
type Outcome uint8

// The outcomes.
const (
	Applied   Outcome = iota + 1
	OtherTerm         // the act is from a leader whose term is over
	Unknown           // no step has ever had the id
	Over              // the step is over
	Moved             // the step has a new phase or new failures: the act came late, or twice
	Replanned         // the plan has changed since the step was proposed
	Occupied          // an open step has one of the subjects, or the maximum number of steps is open
	Waits             // the subject has failed and waits
	Unfit             // the act asks for something no plan accepts
)

var outcomes = [...]string{Applied: "applied", OtherTerm: "of another term", Unknown: "unknown step",
	Over: "step is over", Moved: "step has moved on", Replanned: "plan has changed", Occupied: "occupied",
	Waits: "subject waits", Unfit: "unfit"}

// String formats the outcome for people.
func (o Outcome) String() string {
	if int(o) < len(outcomes) && outcomes[o] != "" {
		return outcomes[o]
	}
	return fmt.Sprintf("outcome %d", uint8(o))
}
