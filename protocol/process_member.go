package protocol

import kind "github.com/signalbox/signalbox/protocol/process"

// ProcessJoin lets the session take part in a process, from its next epoch on. A member that joins again under its name
// changes its attributes and whether it is a candidate.
type ProcessJoin struct {
	Mutation
	NodeID uint64
	Name   []byte
	kind.Arrival
}

func (m *ProcessJoin) requestFields(c *codec) {
	c.object(&m.Mutation, &m.NodeID, &m.Name)
	m.Arrival.Fields((*cold)(c))
}

// ProcessJoinAnswer answers a ProcessJoin.
type ProcessJoinAnswer struct {
	MemberID uint64 // never given twice
}

func (m *ProcessJoinAnswer) answerFields(c *codec) { c.uint("member_id", &m.MemberID) }

// ProcessLeave ends the part of a member.
type ProcessLeave struct {
	Mutation
	NodeID   uint64
	Name     []byte
	MemberID uint64
}

func (m *ProcessLeave) requestFields(c *codec) {
	c.object(&m.Mutation, &m.NodeID, &m.Name)
	c.uint("member_id", &m.MemberID)
}

// ProcessLeaveAnswer answers a ProcessLeave.
type ProcessLeaveAnswer struct{}

func (*ProcessLeaveAnswer) answerFields(*codec) {}

// Part names the member and the epoch of an act in a round, and how far the member has read its inbox.
type Part struct {
	MemberID uint64
	Epoch    uint64
	// Ack is the seq up to which the member has handled its inbox, whatever comes of the rest of the message; 0 says
	// nothing.
	Ack uint64
}

func (p *Part) fields(c *codec) {
	c.uint("member_id", &p.MemberID)
	c.uint("epoch", &p.Epoch)
	c.uint("ack", &p.Ack)
}

// ProcessPrepared confirms that the member is prepared for the epoch.
type ProcessPrepared struct {
	Mutation
	NodeID uint64
	Name   []byte
	Part
}

func (m *ProcessPrepared) requestFields(c *codec) {
	c.object(&m.Mutation, &m.NodeID, &m.Name)
	m.Part.fields(c)
}

// ProcessPreparedAnswer answers a ProcessPrepared.
type ProcessPreparedAnswer struct{}

func (*ProcessPreparedAnswer) answerFields(*codec) {}

// ProcessComplete completes the round of the epoch: its coordinator says so.
type ProcessComplete struct {
	Mutation
	NodeID uint64
	Name   []byte
	Part
	Result []byte
}

func (m *ProcessComplete) requestFields(c *codec) {
	c.object(&m.Mutation, &m.NodeID, &m.Name)
	m.Part.fields(c)
	c.bytes("result", &m.Result, MaxProcessPayloadBytes)
}

// ProcessCompleteAnswer answers a ProcessComplete.
type ProcessCompleteAnswer struct{}

func (*ProcessCompleteAnswer) answerFields(*codec) {}

// ProcessCompleted confirms that the member has handled the completion of the epoch.
type ProcessCompleted struct {
	Mutation
	NodeID uint64
	Name   []byte
	Part
}

func (m *ProcessCompleted) requestFields(c *codec) {
	c.object(&m.Mutation, &m.NodeID, &m.Name)
	m.Part.fields(c)
}

// ProcessCompletedAnswer answers a ProcessCompleted.
type ProcessCompletedAnswer struct{}

func (*ProcessCompletedAnswer) answerFields(*codec) {}

// ProcessFail gives the round of the epoch up: its coordinator cannot go on, or a member cannot prepare.
type ProcessFail struct {
	Mutation
	NodeID uint64
	Name   []byte
	Part
	Text []byte
}

func (m *ProcessFail) requestFields(c *codec) {
	c.object(&m.Mutation, &m.NodeID, &m.Name)
	m.Part.fields(c)
	c.text("text", &m.Text, MaxProcessFailureBytes)
}

// ProcessFailAnswer answers a ProcessFail.
type ProcessFailAnswer struct{}

func (*ProcessFailAnswer) answerFields(*codec) {}
