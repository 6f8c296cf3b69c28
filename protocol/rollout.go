package protocol

import (
	kind "github.com/signalbox/signalbox/protocol/rollout"
)

// In the messages of staged rollouts a seq is the number of a version, a generation the number of a target. A moment is
// a time of the shard in milliseconds, which only the shard's log moves; 0 is never. Fields that end in "wall_ms" are
// milliseconds since 1970 by the wall clock of a host, for people; 0 is not known.

// RolloutPut makes a rollout, or gives an existing rollout a new spec.
type RolloutPut struct {
	Mutation
	NodeID uint64
	Name   []byte
	kind.Put
}

func (m *RolloutPut) requestFields(c *codec) {
	c.object(&m.Mutation, &m.NodeID, &m.Name)
	m.Put.Fields((*cold)(c))
}

// RolloutPutAnswer answers a RolloutPut.
type RolloutPutAnswer struct {
	// Revision is the revision of the spec, which a later RolloutPut may expect.
	Revision uint64
	Created  bool
}

func (m *RolloutPutAnswer) answerFields(c *codec) {
	c.uint("revision", &m.Revision)
	c.bool("created", &m.Created)
}

// RolloutDelete deletes a rollout.
type RolloutDelete struct {
	Mutation
	NodeID uint64
	Name   []byte
	// Force deletes the rollout though instances have joined. The instances are notified.
	Force bool
}

func (m *RolloutDelete) requestFields(c *codec) {
	c.object(&m.Mutation, &m.NodeID, &m.Name)
	c.bool("force", &m.Force)
}

// RolloutDeleteAnswer answers a RolloutDelete.
type RolloutDeleteAnswer struct{}

func (*RolloutDeleteAnswer) answerFields(*codec) {}

// RolloutPublish adds a version.
type RolloutPublish struct {
	Mutation
	NodeID uint64
	Name   []byte
	kind.Publication
}

func (m *RolloutPublish) requestFields(c *codec) {
	c.object(&m.Mutation, &m.NodeID, &m.Name)
	m.Publication.Fields((*cold)(c))
}

// RolloutPublishAnswer answers a RolloutPublish.
type RolloutPublishAnswer struct {
	Seq uint64 // of the version
}

func (m *RolloutPublishAnswer) answerFields(c *codec) { c.uint("seq", &m.Seq) }

// RolloutSource gives the session the role of a source, or takes the role back. A source makes a version when the shard
// asks; the view "source" shows the question.
type RolloutSource struct {
	Mutation
	NodeID uint64
	Name   []byte
	kind.SourceRole
}

func (m *RolloutSource) requestFields(c *codec) {
	c.object(&m.Mutation, &m.NodeID, &m.Name)
	m.SourceRole.Fields((*cold)(c))
}

// RolloutSourceAnswer answers a RolloutSource.
type RolloutSourceAnswer struct {
	// SourceID is the number of the session as a source, in questions.
	SourceID uint64
}

func (m *RolloutSourceAnswer) answerFields(c *codec) { c.uint("source_id", &m.SourceID) }

// RolloutOffer answers the question to a source, with a version or without.
type RolloutOffer struct {
	Mutation
	NodeID uint64
	Name   []byte
	kind.Offering
}

func (m *RolloutOffer) requestFields(c *codec) {
	c.object(&m.Mutation, &m.NodeID, &m.Name)
	m.Offering.Fields((*cold)(c))
}

// RolloutOfferAnswer answers a RolloutOffer.
type RolloutOfferAnswer struct {
	Seq uint64 // of the version; 0 for no version
}

func (m *RolloutOfferAnswer) answerFields(c *codec) { c.uint("seq", &m.Seq) }
