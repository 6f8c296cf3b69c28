package rollout

import kind "github.com/signalbox/signalbox/protocol/rollout"

// The types below are aliases: package protocol/rollout declares them once, for hosts and clients.

// Spec is what an operator says of a rollout, Location is one location of the rollout, and Reelect says when a target
// that instances cannot use is given up.
type (
	Spec     = kind.Spec
	Location = kind.Location
	Reelect  = kind.Reelect
)

// Action is what an operator does with a rollout, in whatever state the rollout is, and ChangeInfo is who does
// something, and why. The rollout keeps both.
type (
	Action     = kind.Action
	ChangeInfo = kind.ChangeInfo
)

// Verdict is what a checker says of a target at a gate, and GateReport is a verdict with what the verdict is about.
type (
	Verdict    = kind.Verdict
	GateReport = kind.GateReport
)

// Instance is what an instance says of itself when the instance joins, InstanceState is an instance as others see the
// instance, and Report is what an instance says of the instance's target.
type (
	Instance      = kind.Instance
	InstanceState = kind.InstanceState
	Report        = kind.Report
)

// State is a whole rollout at one moment; Halt is why a rollout stands still, and BlockReason why something of a
// rollout does not move. A rollout has locations (LocationState) with gates (GateState), and Counts of instances.
type (
	State         = kind.State
	Halt          = kind.Halt
	BlockReason   = kind.BlockReason
	LocationState = kind.LocationState
	GateState     = kind.GateState
	Counts        = kind.Counts
)

// Version is a version of a rollout. Row is one target in the history of a location, and ActionRecord an act that was
// carried out.
type (
	Version      = kind.Version
	Row          = kind.Row
	ActionRecord = kind.ActionRecord
)

// Summary is a rollout in a list, and Step one step of a dry run.
type (
	Summary = kind.Summary
	Step    = kind.Step
)

// Timestamp is when something happened, by the time of the rollout's shard.
type Timestamp = kind.Timestamp

// ActionKind is what an act does.
type ActionKind = kind.ActionKind

// The verbs. Created and Altered are only in the list that Acts returns.
const (
	Created  = kind.Created
	Altered  = kind.Altered
	Pause    = kind.Pause
	Resume   = kind.Resume
	Promote  = kind.Promote
	Abort    = kind.Abort
	Rollback = kind.Rollback
	Bypass   = kind.Bypass
	Unbypass = kind.Unbypass
	Withdraw = kind.Withdraw
	Retry    = kind.Retry
)

// Result is the result of a check at a gate.
type Result = kind.Result

// The results. Every gate is pending until a checker passes a verdict.
const (
	GatePending      = kind.GatePending
	GatePassed       = kind.GatePassed
	GateFailed       = kind.GateFailed
	GateInconclusive = kind.GateInconclusive
)

// Status is how an instance is getting on with its target.
type Status = kind.Status

// The statuses of instances.
const (
	OK       = kind.OK
	Updating = kind.Updating
	Failed   = kind.Failed
)

// Phase is how a rollout is as a whole.
type Phase = kind.Phase

// The phases. If several fit, the latest in this list counts.
const (
	Idle        = kind.Idle        // every location has reached the newest version that the location may have
	Rolling     = kind.Rolling     // versions are on their way
	Blocked     = kind.Blocked     // something has to come from outside; the reasons say what
	RollingBack = kind.RollingBack // locations go back to a version
	Paused      = kind.Paused      // an operator paused the rollout
	Halted      = kind.Halted      // the rollout halted and waits for an operator
)

// HaltReason says why a rollout halted.
type HaltReason = kind.HaltReason

// The reasons of halts.
const (
	NotHalted         = kind.NotHalted
	HaltedReelections = kind.HaltedReelections // versions were given up too often in a row
	HaltedDeadline    = kind.HaltedDeadline    // a target was not reached in time
	HaltedAborted     = kind.HaltedAborted     // an operator aborted
)

// Cause says why a location got a target.
type Cause = kind.Cause

// The causes of targets.
const (
	CauseUnknown    = kind.CauseUnknown
	CauseBirth      = kind.CauseInitial    // the first target of the location
	CauseNext       = kind.CauseNext       // the target before was reached
	CauseReelection = kind.CauseReelection // instances could not use the target before
	CauseReplaced   = kind.CauseReplaced   // the target before was aborted or withdrawn
	CausePromote    = kind.CausePromote    // from here on: an act of an operator
	CauseRollback   = kind.CauseRollback
	CauseRetry      = kind.CauseRetry
)

// DelayFrom says from when the delay of a location counts in the location before.
type DelayFrom = kind.DelayFrom

// The delay counts from when the location before reached a version, or from when the version was assigned there.
const (
	FromReached  = kind.FromReached
	FromAssigned = kind.FromAssigned
)

// VersionSource says where versions come from.
type VersionSource = kind.VersionSource

// Versions are published, or a source is asked for each version.
const (
	Published = kind.Published
	Asked     = kind.Asked
)

// The codes of reasons why a rollout does not move.
const (
	ReasonHalted        = kind.ReasonHalted
	ReasonPaused        = kind.ReasonPaused
	ReasonLeaders       = kind.ReasonLeaders       // leaders have not reached the target
	ReasonNoInstances   = kind.ReasonNoInstances   // a version exists, and no instance has ever asked
	ReasonNoLeaders     = kind.ReasonNoLeaders     // no leader has a session
	ReasonFewLeaders    = kind.ReasonFewLeaders    // the location has fewer leaders than required
	ReasonGate          = kind.ReasonGate          // a gate is not passed
	ReasonNoAlternative = kind.ReasonNoAlternative // the target is of no use, and no other version exists
	ReasonNoSource      = kind.ReasonNoSource      // a version is wanted, and the rollout has no source
	ReasonSource        = kind.ReasonSource        // a source was asked and has not answered
	ReasonDelay         = kind.ReasonDelay         // a version is not old enough in the location before
	ReasonInterval      = kind.ReasonInterval      // the last choice of another version was too recently
	ReasonBack          = kind.ReasonBack          // the location goes back after the location before
	ReasonBypassed      = kind.ReasonBypassed      // an operator took the location out of the order
	ReasonStuck         = kind.ReasonStuck         // the progress deadline has passed
)
