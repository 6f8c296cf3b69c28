package rollout

import kind "github.com/signalbox/signalbox/protocol/rollout"

// The types below are aliases: package protocol/rollout declares them once, for hosts and clients.
// docs/go-types.md has their fields.

// Spec is a rollout's configuration, Location is one location in the rollout, and Reelect determines when an unusable
// target is abandoned.
type (
	Spec     = kind.Spec
	Location = kind.Location
	Reelect  = kind.Reelect
)

// Action is an operator's action on a rollout in any state. ChangeInfo records who does something, and why. The rollout
// stores both.
type (
	Action     = kind.Action
	ChangeInfo = kind.ChangeInfo
)

// Verdict is a checker's result for a target at a gate. GateReport is a verdict with its subject.
type (
	Verdict    = kind.Verdict
	GateReport = kind.GateReport
)

// Instance is what an instance declares when it joins, InstanceState is an instance as seen by others, and Report is an
// instance's report on its target.
type (
	Instance      = kind.Instance
	InstanceState = kind.InstanceState
	Report        = kind.Report
)

// State is a rollout's complete state at one moment. Halt is why a rollout is halted, and BlockReason why something in
// a rollout does not progress. A rollout has locations (LocationState) with gates (GateState) and instance Counts.
type (
	State         = kind.State
	Halt          = kind.Halt
	BlockReason   = kind.BlockReason
	LocationState = kind.LocationState
	GateState     = kind.GateState
	Counts        = kind.Counts
)

// Version is a rollout version. Row is one target in a location's history, and ActionRecord is a recorded action.
type (
	Version      = kind.Version
	Row          = kind.Row
	ActionRecord = kind.ActionRecord
)

// Summary is a rollout in a list, and Step one dry-run step.
type (
	Summary = kind.Summary
	Step    = kind.Step
)

// Timestamp is the time of an event, by the clock of the rollout's shard.
type Timestamp = kind.Timestamp

// ActionKind is the kind of an action.
type ActionKind = kind.ActionKind

// Action kinds. Created and Altered appear only in the list from Actions.
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

// Status is an instance's progress with its target.
type Status = kind.Status

// Instance statuses.
const (
	OK       = kind.OK
	Updating = kind.Updating
	Failed   = kind.Failed
)

// Phase is how a rollout is as a whole.
type Phase = kind.Phase

// Phases. If several apply, the last in this list counts.
const (
	Idle        = kind.Idle        // every location has reached the newest version allowed there
	Rolling     = kind.Rolling     // versions are on their way
	Blocked     = kind.Blocked     // waiting for an external event; see the reasons
	RollingBack = kind.RollingBack // locations go back to a version
	Paused      = kind.Paused      // an operator paused the rollout
	Halted      = kind.Halted      // the rollout halted and waits for an operator
)

// HaltReason says why a rollout halted.
type HaltReason = kind.HaltReason

// Halt reasons.
const (
	NotHalted         = kind.NotHalted
	HaltedReelections = kind.HaltedReelections // versions were given up too often in a row
	HaltedDeadline    = kind.HaltedDeadline    // a target was not reached in time
	HaltedAborted     = kind.HaltedAborted     // an operator aborted
)

// Cause says why a location got a target.
type Cause = kind.Cause

// Target causes.
const (
	CauseUnknown    = kind.CauseUnknown
	CauseInitial    = kind.CauseInitial    // the location's first target
	CauseNext       = kind.CauseNext       // the target before was reached
	CauseReelection = kind.CauseReelection // instances could not use the target before
	CauseReplaced   = kind.CauseReplaced   // the target before was aborted or withdrawn
	CausePromote    = kind.CausePromote    // from here on: an operator action
	CauseRollback   = kind.CauseRollback
	CauseRetry      = kind.CauseRetry
)

// DelayFrom determines when a location's delay starts in the previous location.
type DelayFrom = kind.DelayFrom

// The delay starts when the previous location reached a version, or when the version was assigned there.
const (
	FromReached  = kind.FromReached
	FromAssigned = kind.FromAssigned
)

// VersionSource determines where versions come from.
type VersionSource = kind.VersionSource

// Versions are published, or a source is asked for each version.
const (
	Published = kind.Published
	Asked     = kind.Asked
)

// Codes for reasons why a rollout does not progress.
const (
	ReasonHalted        = kind.ReasonHalted
	ReasonPaused        = kind.ReasonPaused
	ReasonLeaders       = kind.ReasonLeaders       // leaders have not reached the target
	ReasonNoInstances   = kind.ReasonNoInstances   // a version exists, and no instance has ever asked
	ReasonNoLeaders     = kind.ReasonNoLeaders     // no leader has a session
	ReasonFewLeaders    = kind.ReasonFewLeaders    // the location has fewer leaders than required
	ReasonGate          = kind.ReasonGate          // a gate is not passed
	ReasonNoAlternative = kind.ReasonNoAlternative // the target is useless, and there is no other version
	ReasonNoSource      = kind.ReasonNoSource      // a version is wanted, and the rollout has no source
	ReasonSource        = kind.ReasonSource        // a source was asked and has not answered
	ReasonDelay         = kind.ReasonDelay         // a version is not old enough in the location before
	ReasonInterval      = kind.ReasonInterval      // another version was chosen too recently
	ReasonBack          = kind.ReasonBack          // the location goes back after the location before
	ReasonBypassed      = kind.ReasonBypassed      // an operator removed the location from the order
	ReasonStuck         = kind.ReasonStuck         // the progress deadline has passed
)
