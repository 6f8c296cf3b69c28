package protocol

import kind "github.com/signalbox/signalbox/protocol/rollout"

// RolloutAct is an act of an operator on a rollout. The rollout keeps the act, with author and reason.
type RolloutAct struct {
	Mutation
	NodeID uint64
	Name   []byte
	Act    kind.Act
}

func (m *RolloutAct) requestFields(c *codec) {
	c.object(&m.Mutation, &m.NodeID, &m.Name)
	c.value("act", &m.Act)
}

// RolloutActAnswer answers a RolloutAct.
type RolloutActAnswer struct {
	// Generation is the last generation given to a target.
	Generation uint64
}

func (m *RolloutActAnswer) answerFields(c *codec) { c.uint("generation", &m.Generation) }

// RolloutGate is the judgement of a checker on a target at a gate.
type RolloutGate struct {
	Mutation
	NodeID uint64
	Name   []byte
	kind.Judgement
}

func (m *RolloutGate) requestFields(c *codec) {
	c.object(&m.Mutation, &m.NodeID, &m.Name)
	m.Judgement.Fields((*cold)(c))
}

// RolloutGateAnswer answers a RolloutGate.
type RolloutGateAnswer struct{}

func (*RolloutGateAnswer) answerFields(*codec) {}
