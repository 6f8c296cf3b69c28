package protocol

import kind "github.com/signalbox/signalbox/protocol/process"

// ProcessJoin adds the session to a process, from the next epoch on. A member that joins again under an unchanged name
// changes its attributes and candidacy.
type ProcessJoin struct {
	Mutation
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	kind.Arrival
}

// ProcessJoinAnswer answers a ProcessJoin.
type ProcessJoinAnswer struct {
	MemberID uint64 // never reused
}

// ProcessLeave ends a membership.
type ProcessLeave struct {
	Mutation
	NodeID   uint64
	Name     []byte `wire:"text MaxNameBytes"`
	MemberID uint64
}

// ProcessLeaveAnswer answers a ProcessLeave.
type ProcessLeaveAnswer struct{}

// Part names the member and the epoch for a message in a round, and how far the member has read its inbox.
type Part struct {
	MemberID uint64
	Epoch    uint64
	// Ack is the seq up to which the member has handled its inbox, and is applied even if the rest of the message
	// fails; 0 acknowledges nothing.
	Ack uint64
}

// ProcessPrepareAck confirms that the member is prepared for the epoch.
type ProcessPrepareAck struct {
	Mutation
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	Part
}

// ProcessPrepareAckAnswer answers a ProcessPrepareAck.
type ProcessPrepareAckAnswer struct{}

// ProcessComplete completes the epoch's round. Only the coordinator may send ProcessComplete.
type ProcessComplete struct {
	Mutation
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	Part
	Result []byte `wire:"bytes MaxProcessPayloadBytes"`
}

// ProcessCompleteAnswer answers a ProcessComplete.
type ProcessCompleteAnswer struct{}

// ProcessCompleteAck confirms that the member has handled the epoch's completion.
type ProcessCompleteAck struct {
	Mutation
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	Part
}

// ProcessCompleteAckAnswer answers a ProcessCompleteAck.
type ProcessCompleteAckAnswer struct{}

// ProcessFail fails the epoch's round: the coordinator cannot go on, or a member cannot prepare.
type ProcessFail struct {
	Mutation
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	Part
	Text []byte `wire:"text MaxProcessFailureBytes"`
}

// ProcessFailAnswer answers a ProcessFail.
type ProcessFailAnswer struct{}
