package process

import kind "github.com/signalbox/signalbox/protocol/process"

// The types below are aliases: package protocol/process declares them once, for hosts and clients.
// docs/go-types.md has their fields.

// Spec is a process's configuration.
type Spec = kind.Spec

// ChangeInfo records who does something with a process, and why. The process stores both.
type ChangeInfo = kind.ChangeInfo

// OnTimeout determines what happens to a member that has not answered in time.
type OnTimeout = kind.OnTimeout

// TimeoutWait waits on, and Why names the member. TimeoutEvict evicts the member, and another epoch opens. TimeoutFail
// ends the request without the member, with a *ReplyTimeoutError.
const (
	TimeoutWait  = kind.TimeoutWait
	TimeoutEvict = kind.TimeoutEvict
	TimeoutFail  = kind.TimeoutFail
)

// Phase is how the last epoch is.
type Phase = kind.Phase

// The phases.
const (
	Forming   = kind.Forming   // without a round: no round has begun, or the last round is over
	Preparing = kind.Preparing // an epoch opened, and some members are not prepared yet
	Running   = kind.Running   // all members are prepared
	Complete  = kind.Complete  // the coordinator has completed the round
)

// ActionKind is the kind of an action on a process.
type ActionKind = kind.ActionKind

// The verbs.
const (
	VerbCreated = kind.ActionCreated
	VerbAltered = kind.ActionAltered
	VerbKick    = kind.ActionEvict   // a member was removed
	VerbRestart = kind.ActionRestart // the round was ended
	VerbFailed  = kind.ActionFailed  // a member gave the round up
)

// Codes for reasons why a round does not progress.
const (
	ReasonNoMembers   = kind.ReasonNoMembers   // no session has joined
	ReasonFewMembers  = kind.ReasonFewMembers  // fewer members than an epoch has at the least
	ReasonNoCandidate = kind.ReasonNoCandidate // no member may coordinate
	ReasonOpening     = kind.ReasonOpening     // members or the spec have changed: the next epoch opens in a moment
	ReasonPrepare     = kind.ReasonPrepare     // members are not prepared
	ReasonReply       = kind.ReasonReply       // members have not replied to a request
	ReasonCoordinator = kind.ReasonCoordinator // the coordinator has neither completed the round nor waits for replies
	ReasonComplete    = kind.ReasonComplete    // the round is complete, and members have not handled the completion
)

// ActionRecord is a recorded action.
type ActionRecord = kind.ActionRecord

// MemberState is a member as seen by others. Peer is a member in an epoch.
type (
	MemberState = kind.MemberState
	Peer        = kind.Peer
)

// BlockReason is why a round does not move, and Summary is a process in a list.
type (
	BlockReason = kind.BlockReason
	Summary     = kind.Summary
)
