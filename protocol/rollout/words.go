package rollout

import "github.com/signalbox/signalbox/protocol/field"

// All rollout enums are here, each with one word table. docs/protocol.md has the words in capitals. Views from later
// versions may have numbers without a word here.

// ActionKind is what an action does. Every action works in every rollout state.
type ActionKind uint8

// The kinds. Created and Altered appear only in the action list, for a Put; an Action of either kind is refused.
const (
	ActionUnknown ActionKind = iota
	Created
	Altered
	Pause
	Resume
	Promote
	Abort
	Rollback
	Bypass
	Unbypass
	Withdraw
	Retry
	ActionKinds // the number of kinds
)

var actionWords = []string{
	"unknown", "create", "alter", "pause", "resume", "promote", "abort", "rollback", "bypass", "unbypass", "withdraw",
	"retry",
}

// String returns the action as a word.
func (a ActionKind) String() string { return field.Word(a, "rollout action", actionWords) }

// Result is the result of a gate check.
type Result uint8

// The results. Every gate is pending until a checker reports a verdict.
const (
	GatePending Result = iota
	GatePassed
	GateFailed
	GateInconclusive
	Results // the number of results
)

var resultWords = []string{"pending", "passed", "failed", "inconclusive"}

// String returns the result as a word.
func (r Result) String() string { return field.Word(r, "verdict", resultWords) }

// Status is an instance's progress with its target.
type Status uint8

// The instance statuses.
const (
	OK Status = iota
	Updating
	Failed
	Statuses // the number of statuses
)

var statusWords = []string{"ok", "updating", "failed"}

// String returns the status as a word.
func (s Status) String() string { return field.Word(s, "instance status", statusWords) }

// Phase is the state of a whole rollout.
type Phase uint8

// The phases. If several fit, the latest in this list applies.
const (
	Idle        Phase = iota // every location has reached the newest version it may have
	Rolling                  // versions are being deployed
	Blocked                  // an external event is required; see the reasons
	RollingBack              // locations go back to a version
	Paused                   // an operator paused the rollout
	Halted                   // the rollout halted and waits for an operator
	Phases                   // the number of phases
)

var phaseWords = []string{"idle", "rolling", "blocked", "rolling back", "paused", "halted"}

// String returns the phase in words.
func (p Phase) String() string { return field.Word(p, "phase", phaseWords) }

// HaltReason is why a rollout halted.
type HaltReason uint8

// The halt reasons.
const (
	NotHalted         HaltReason = iota
	HaltedReelections            // versions were abandoned too often in a row
	HaltedDeadline               // a target was not reached in time
	HaltedAborted                // an operator aborted
	HaltReasons                  // the number of reasons
)

var haltWords = []string{"none", "reelections", "deadline", "aborted"}

// String returns the reason as a word.
func (h HaltReason) String() string { return field.Word(h, "halt reason", haltWords) }

// Cause is why a location got a target.
type Cause uint8

// The target causes.
const (
	CauseUnknown    Cause = iota
	CauseInitial          // the first target of the location
	CauseNext             // the previous target was reached
	CauseReelection       // instances could not use the previous target
	CauseReplaced         // the previous target was aborted or withdrawn
	CausePromote          // from here on: an operator's action
	CauseRollback
	CauseRetry
	Causes // the number of causes
)

var causeWords = []string{
	"unknown", "initial", "next", "reelection", "replaced", "promote", "rollback", "retry",
}

// String returns the cause as a word.
func (c Cause) String() string { return field.Word(c, "cause", causeWords) }

// DelayFrom is when a location's delay begins to count in the previous location.
type DelayFrom uint8

// The delay counts from when the previous location reached a version, or from when the version was assigned there.
const (
	FromReached DelayFrom = iota
	FromAssigned
	delayFroms
)

var delayFromWords = []string{"reached", "assigned"}

// String returns the setting as a word.
func (d DelayFrom) String() string { return field.Word(d, "delay from", delayFromWords) }

// VersionSource is where versions come from.
type VersionSource uint8

// Versions are published, or a source is asked for each version.
const (
	Published VersionSource = iota
	Asked
	versionSources
)

var versionSourceWords = []string{"published", "requested"}

// String returns the setting as a word.
func (v VersionSource) String() string { return field.Word(v, "version source", versionSourceWords) }

// Codes for the reasons why a rollout is stalled. Neither time nor the present instances can end a reason marked as
// blocked.
const (
	ReasonHalted        = "halted"
	ReasonPaused        = "paused"
	ReasonLeaders       = "leaders"           // leaders have not reached the target
	ReasonNoInstances   = "no-instances"      // blocked: a version exists, and no instance has ever asked
	ReasonNoLeaders     = "no-leaders"        // blocked: no leader has a session
	ReasonFewLeaders    = "too-few-leaders"   // blocked: the location has fewer leaders than required
	ReasonGate          = "gate"              // blocked: a gate is not passed
	ReasonNoAlternative = "no-alternative"    // blocked: the target is unusable, and no other version exists
	ReasonNoSource      = "no-source"         // blocked: a version is wanted, and the rollout has no source
	ReasonSource        = "source"            // a source was asked and has not answered
	ReasonDelay         = "delay"             // a version has not been in the previous location for long enough
	ReasonInterval      = "reelection-wait"   // the last reelection was too recent
	ReasonBack          = "rollback-order"    // the location rolls back after the previous location
	ReasonBypassed      = "bypassed"          // an operator took the location out of the order
	ReasonStuck         = "deadline-exceeded" // the progress deadline has passed
)
