package protocol

import kind "github.com/signalbox/signalbox/protocol/process"

// In the messages of coordination processes a member is known by the order id of its joining, and an epoch by a number
// that stands above every one before it: the fencing token of its round. Moments are as in the messages of rollouts.

// ProcessPut makes a process, or gives a process another spec.
type ProcessPut struct {
	Mutation
	NodeID uint64
	Name   []byte
	kind.Put
}

func (m *ProcessPut) requestFields(c *codec) {
	c.object(&m.Mutation, &m.NodeID, &m.Name)
	m.Put.Fields((*cold)(c))
}

// ProcessPutAnswer answers a ProcessPut.
type ProcessPutAnswer struct {
	// Revision is the revision of the spec, which a later ProcessPut may expect.
	Revision uint64
	Created  bool
}

func (m *ProcessPutAnswer) answerFields(c *codec) {
	c.uint("revision", &m.Revision)
	c.bool("created", &m.Created)
}

// ProcessDelete deletes a process.
type ProcessDelete struct {
	Mutation
	NodeID uint64
	Name   []byte
	// Force deletes the process though sessions have joined. The sessions are notified.
	Force bool
}

func (m *ProcessDelete) requestFields(c *codec) {
	c.object(&m.Mutation, &m.NodeID, &m.Name)
	c.bool("force", &m.Force)
}

// ProcessDeleteAnswer answers a ProcessDelete.
type ProcessDeleteAnswer struct{}

func (*ProcessDeleteAnswer) answerFields(*codec) {}

// ProcessAct is an act of an operator on a process.
type ProcessAct struct {
	Mutation
	NodeID uint64
	Name   []byte
	kind.Act
}

func (m *ProcessAct) requestFields(c *codec) {
	c.object(&m.Mutation, &m.NodeID, &m.Name)
	m.Act.Fields((*cold)(c))
}

// ProcessActAnswer answers a ProcessAct.
type ProcessActAnswer struct{}

func (*ProcessActAnswer) answerFields(*codec) {}
