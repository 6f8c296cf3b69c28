package rollout

import "github.com/signalbox/signalbox/protocol/field"

// Every enum of rollouts stands here, with one table of words. docs/protocol.md has the words in capitals. Views of
// later versions may have numbers without a word here.

// ActionKind is what an action does. Every action works in every state of a rollout.
type ActionKind uint8

// The kinds. Created and Altered stand for a Put in the list of actions; an Action with either is refused.
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

// String returns the action in a word.
func (a ActionKind) String() string { return field.Word(a, "rollout action", actionWords) }

// Result is the result of a check at a gate.
type Result uint8

// The results. Every gate is pending until a checker passes a verdict.
const (
	GatePending Result = iota
	GatePassed
	GateFailed
	GateInconclusive
	Results // the number of results
)

var resultWords = []string{"pending", "passed", "failed", "inconclusive"}

// String returns the result in a word.
func (r Result) String() string { return field.Word(r, "verdict", resultWords) }

// Status is how an instance is getting on with its target.
type Status uint8

// The statuses of instances.
const (
	OK Status = iota
	Updating
	Failed
	Statuses // the number of statuses
)

var statusWords = []string{"ok", "updating", "failed"}

// String returns the status in a word.
func (s Status) String() string { return field.Word(s, "instance status", statusWords) }

// Phase is how a rollout is as a whole.
type Phase uint8

// The phases. If several fit, the latest in this list counts.
const (
	Idle        Phase = iota // every location has reached the newest version that the location may have
	Rolling                  // versions are on their way
	Blocked                  // something has to come from outside; the reasons say what
	RollingBack              // locations go back to a version
	Paused                   // an operator paused the rollout
	Halted                   // the rollout halted and waits for an operator
	Phases                   // the number of phases
)

var phaseWords = []string{"idle", "rolling", "blocked", "rolling back", "paused", "halted"}

// String returns the phase in words.
func (p Phase) String() string { return field.Word(p, "phase", phaseWords) }

// HaltReason says why a rollout halted.
type HaltReason uint8

// The reasons of halts.
const (
	NotHalted         HaltReason = iota
	HaltedReelections            // versions were given up too often in a row
	HaltedDeadline               // a target was not reached in time
	HaltedAborted                // an operator aborted
	HaltReasons                  // the number of reasons
)

var haltWords = []string{"none", "reelections", "deadline", "aborted"}

// String returns the reason in a word.
func (h HaltReason) String() string { return field.Word(h, "halt reason", haltWords) }

// Cause says why a location got a target.
type Cause uint8

// The causes of targets.
const (
	CauseUnknown    Cause = iota
	CauseInitial          // the first target of the location
	CauseNext             // the target before was reached
	CauseReelection       // instances could not use the target before
	CauseReplaced         // the target before was aborted or withdrawn
	CausePromote          // from here on: an action of an operator
	CauseRollback
	CauseRetry
	Causes // the number of causes
)

var causeWords = []string{
	"unknown", "initial", "next", "reelection", "replaced", "promote", "rollback", "retry",
}

// String returns the cause in a word.
func (c Cause) String() string { return field.Word(c, "cause", causeWords) }

// DelayFrom says from when the delay of a location counts in the location before.
type DelayFrom uint8

// The delay counts from when the location before reached a version, or from when the version was assigned there.
const (
	FromReached DelayFrom = iota
	FromAssigned
	delayFroms
)

var delayFromWords = []string{"reached", "assigned"}

// String returns the setting in a word.
func (d DelayFrom) String() string { return field.Word(d, "delay from", delayFromWords) }

// VersionSource says where versions come from.
type VersionSource uint8

// Versions are published, or a source is asked for each version.
const (
	Published VersionSource = iota
	Asked
	versionSources
)

var versionSourceWords = []string{"published", "requested"}

// String returns the setting in a word.
func (v VersionSource) String() string { return field.Word(v, "version source", versionSourceWords) }

// The codes of reasons why a rollout does not move. Neither time nor the present instances can end a reason that is
// marked as blocked.
const (
	ReasonHalted        = "halted"
	ReasonPaused        = "paused"
	ReasonLeaders       = "leaders"           // leaders have not reached the target
	ReasonNoInstances   = "no-instances"      // blocked: a version exists, and no instance has ever asked
	ReasonNoLeaders     = "no-leaders"        // blocked: no leader has a session
	ReasonFewLeaders    = "too-few-leaders"   // blocked: the location has fewer leaders than required
	ReasonGate          = "gate"              // blocked: a gate is not passed
	ReasonNoAlternative = "no-alternative"    // blocked: the target is of no use, and no other version exists
	ReasonNoSource      = "no-source"         // blocked: a version is wanted, and the rollout has no source
	ReasonSource        = "source"            // a source was asked and has not answered
	ReasonDelay         = "delay"             // a version is not old enough in the location before
	ReasonInterval      = "reelection-wait"   // the last choice of another version was too recently
	ReasonBack          = "rollback-order"    // the location goes back after the location before
	ReasonBypassed      = "bypassed"          // an operator took the location out of the order
	ReasonStuck         = "deadline-exceeded" // the progress deadline has passed
)
