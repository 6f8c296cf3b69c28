package shard

import "strconv"

// A shard holds named objects of several kinds. This file has the kind numbers and command numbers, which appear in
// logs, in snapshots and on the wire. Each kind's rules are in a separate package: shard/semaphore, shard/rollout,
// shard/process.

// ObjectKind is an object kind. The numbers never change their meaning.
type ObjectKind uint8

const (
	// KindSemaphore is for semaphores.
	KindSemaphore ObjectKind = 1
	// KindRollout is for staged rollouts.
	KindRollout ObjectKind = 2
	// KindProcess is for coordination processes.
	KindProcess ObjectKind = 4

	// MaxKinds is above every kind's number.
	MaxKinds = 8
)

var kindNames = [MaxKinds]string{KindSemaphore: "semaphore", KindRollout: "rollout", KindProcess: "process"}

// String returns the kind's name in metrics, logs and texts for people.
func (k ObjectKind) String() string {
	if k < MaxKinds && kindNames[k] != "" {
		return kindNames[k]
	}
	return "kind-" + strconv.Itoa(int(k))
}

// Kinds returns the object kinds a shard may hold, in number order.
func Kinds() (list []ObjectKind) {
	for k, name := range kindNames {
		if name != "" {
			list = append(list, ObjectKind(k))
		}
	}
	return list
}

// KnowsKind reports whether this build knows an object kind.
func KnowsKind(k ObjectKind) bool { return k < MaxKinds && kindNames[k] != "" }

// Semaphore commands.
const (
	// CmdWaiterWithdraw removes a waiter from its queue because its client has lost the right to wait, as if its
	// timeout had passed. Uses Node, Name, Session, Order, and Number: its acquire's number.
	CmdWaiterWithdraw CommandKind = 7
	// CmdSemaphoreCreate creates a persistent semaphore. Uses the mutation fields, Node, Name, Count (the limit), Data.
	CmdSemaphoreCreate CommandKind = 16
	// CmdSemaphoreUpdate replaces a semaphore's data. Uses the mutation fields, Node, Name, Data, and Order and
	// Revision as guards unless they are zero.
	CmdSemaphoreUpdate CommandKind = 17
	// CmdSemaphoreDelete deletes a persistent semaphore. Uses the mutation fields, Node, Name, and
	// FlagForce.
	CmdSemaphoreDelete CommandKind = 18
	// CmdAcquire acquires Count units of a semaphore or waits for them. Uses the mutation fields, Node, Name, Count,
	// Timeout (ms, 0 = try, Forever), Data, and FlagEphemeral.
	CmdAcquire CommandKind = 19
	// CmdRelease releases everything the session owns of a semaphore, or leaves the queue. Uses the mutation fields,
	// Node, Name, and Order as a guard unless it is zero.
	CmdRelease CommandKind = 20
	// CmdSemaphoreResize changes a persistent semaphore's limit. Uses the mutation fields, Node, Name, Count (the
	// limit), and Revision as a guard unless it is zero.
	CmdSemaphoreResize CommandKind = 21
)

// Rollout commands. If a command has a Body, the Body is a form from package rollout. Numbers up to 63 are reserved for
// rollout commands.
const (
	// CmdRolloutPut creates or alters a rollout. Uses the mutation fields, Node, Name, and Body: a rollout.Put.
	CmdRolloutPut CommandKind = 48
	// CmdRolloutDelete deletes a rollout. Uses the mutation fields, Node, Name, and FlagForce.
	CmdRolloutDelete CommandKind = 49
	// CmdRolloutPublish adds a version. Uses the mutation fields, Node, Name, Body: a rollout.Publication, and Data:
	// its payload.
	CmdRolloutPublish CommandKind = 50
	// CmdRolloutSource adds or removes the session as a source. Uses the mutation fields, Node, Name, and Body: a
	// rollout.SourceRole.
	CmdRolloutSource CommandKind = 51
	// CmdRolloutOffer answers the request to the source. Uses the mutation fields, Node, Name, Body: a
	// rollout.Offering, and Data: its payload.
	CmdRolloutOffer CommandKind = 52
	// CmdRolloutJoin makes the session an instance. Uses the mutation fields, Node, Name, and Body: a rollout.Joining.
	CmdRolloutJoin CommandKind = 53
	// CmdRolloutLeave ends the session's instance. Uses the mutation fields, Node, Name.
	CmdRolloutLeave CommandKind = 54
	// CmdRolloutRole makes the session's instance a follower or a leader. Uses the mutation fields, Node, Name, and
	// Count: 1 for a leader, else 0.
	CmdRolloutRole CommandKind = 55
	// CmdRolloutReport reports the progress of the session's instance. Uses the mutation fields, Node, Name, and Body:
	// a rollout.Report.
	CmdRolloutReport CommandKind = 56
	// CmdRolloutAsk reports, and asks for the target. Uses the fields of CmdRolloutReport.
	CmdRolloutAsk CommandKind = 57
	// CmdRolloutAct is an operator's action. Uses the mutation fields, Node, Name, and Body: a rollout.Action.
	CmdRolloutAct CommandKind = 58
	// CmdRolloutGate is a checker's verdict on a target. Uses the mutation fields, Node, Name, and Body: a
	// rollout.GateVerdict.
	CmdRolloutGate CommandKind = 59
)

// Process commands. If a command has a Body, the Body is a form from package process: a type from package
// protocol/process, or a request's receivers. Numbers up to 79 are reserved for process commands.
//
// Member commands, from leave on, use Order: the member's id. Commands about an epoch use Term: the epoch; and Count:
// the seq up to which the member has handled its inbox. The machine acknowledges the inbox after the command, whether
// the command succeeded or not; a Count of 0 acknowledges nothing.
const (
	// CmdProcessPut creates or alters a process. Uses the mutation fields, Node, Name, and Body: a Put.
	CmdProcessPut CommandKind = 64
	// CmdProcessDelete deletes a process. Uses the mutation fields, Node, Name, and FlagForce.
	CmdProcessDelete CommandKind = 65
	// CmdProcessJoin makes the session a member. Uses the mutation fields, Node, Name, and Body: an Arrival.
	CmdProcessJoin CommandKind = 66
	// CmdProcessLeave ends the membership. Uses the mutation fields, Node, Name, and Order.
	CmdProcessLeave CommandKind = 67
	// CmdProcessPrepared reports that the member is prepared. Uses the mutation fields, Node, Name, Order, Term and
	// Count.
	CmdProcessPrepared CommandKind = 68
	// CmdProcessSend sends a request. Uses the fields of CmdProcessPrepared, Timeout: how long the sender waits, 0 for
	// the whole round, Body: the receivers of a process.Request, and Data: its payload.
	CmdProcessSend CommandKind = 69
	// CmdProcessReply answers a request. Uses the fields of CmdProcessPrepared, Timeout: the exchange, Data,
	// FlagFailed.
	CmdProcessReply CommandKind = 70
	// CmdProcessComplete completes the round. Uses the fields of CmdProcessPrepared, and Data: the result.
	CmdProcessComplete CommandKind = 71
	// CmdProcessCompleted reports that the member has handled the completion. Uses the fields of CmdProcessPrepared.
	CmdProcessCompleted CommandKind = 72
	// CmdProcessFail fails the round. Uses the fields of CmdProcessPrepared, and Data: a text with the reason.
	CmdProcessFail CommandKind = 73
	// CmdInboxAck frees the items the member has handled. Uses the mutation fields, Node, Name, Order and Count.
	CmdInboxAck CommandKind = 74
	// CmdProcessAct is an operator's action. Uses the mutation fields, Node, Name, and Body: an Act.
	CmdProcessAct CommandKind = 75
)
