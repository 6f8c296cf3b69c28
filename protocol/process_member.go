package protocol

import kind "github.com/signalbox/signalbox/protocol/process"

// ProcessJoin lets the session take part in a process, from its next epoch on. A member that joins again under its name
// changes its attributes and whether it is a candidate.
type ProcessJoin struct {
	Mutation
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	kind.Arrival
}

// ProcessJoinAnswer answers a ProcessJoin.
type ProcessJoinAnswer struct {
	MemberID uint64 // never given twice
}

// ProcessLeave ends the membership of a member.
type ProcessLeave struct {
	Mutation
	NodeID   uint64
	Name     []byte `wire:"text MaxNameBytes"`
	MemberID uint64
}

// ProcessLeaveAnswer answers a ProcessLeave.
type ProcessLeaveAnswer struct{}

// Part names the member and the epoch of a message in a round, and how far the member has read its inbox.
type Part struct {
	MemberID uint64
	Epoch    uint64
	// Ack is the seq up to which the member has handled its inbox, whatever comes of the rest of the message; 0 says
	// nothing.
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

// ProcessComplete completes the round of the epoch: its coordinator says so.
type ProcessComplete struct {
	Mutation
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	Part
	Result []byte `wire:"bytes MaxProcessPayloadBytes"`
}

// ProcessCompleteAnswer answers a ProcessComplete.
type ProcessCompleteAnswer struct{}

// ProcessCompleteAck confirms that the member has handled the completion of the epoch.
type ProcessCompleteAck struct {
	Mutation
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	Part
}

// ProcessCompleteAckAnswer answers a ProcessCompleteAck.
type ProcessCompleteAckAnswer struct{}

// ProcessFail gives the round of the epoch up: its coordinator cannot go on, or a member cannot prepare.
type ProcessFail struct {
	Mutation
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	Part
	Text []byte `wire:"text MaxProcessFailureBytes"`
}

// ProcessFailAnswer answers a ProcessFail.
type ProcessFailAnswer struct{}
