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
	Name   []byte `wire:"text MaxNameBytes"`
	kind.Put
}

// RolloutPutAnswer answers a RolloutPut.
type RolloutPutAnswer struct {
	// Revision is the revision of the spec, which a later RolloutPut may expect.
	Revision uint64
	Created  bool
}

// RolloutDelete deletes a rollout.
type RolloutDelete struct {
	Mutation
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	// Force deletes the rollout though instances have joined. The instances are notified.
	Force bool
}

// RolloutDeleteAnswer answers a RolloutDelete.
type RolloutDeleteAnswer struct{}

// RolloutPublish adds a version.
type RolloutPublish struct {
	Mutation
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	kind.Publication
}

// RolloutPublishAnswer answers a RolloutPublish.
type RolloutPublishAnswer struct {
	Seq uint64 // of the version
}

// RolloutSource gives the session the role of a source, or takes the role back. A source makes a version when the shard
// asks; the view "source" shows the question.
type RolloutSource struct {
	Mutation
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	kind.SourceRole
}

// RolloutSourceAnswer answers a RolloutSource.
type RolloutSourceAnswer struct {
	// SourceID is the id of the session as a source, in questions.
	SourceID uint64
}

// RolloutOffer answers the question to a source, with a version or without.
type RolloutOffer struct {
	Mutation
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	kind.Offering
}

// RolloutOfferAnswer answers a RolloutOffer.
type RolloutOfferAnswer struct {
	Seq uint64 // of the version; 0 for no version
}

// RolloutAction is an action of an operator on a rollout. The rollout keeps the action, with author and reason.
type RolloutAction struct {
	Mutation
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	Action kind.Action
}

// RolloutActionAnswer answers a RolloutAction.
type RolloutActionAnswer struct {
	// Generation is the last generation given to a target.
	Generation uint64
}

// RolloutGateReport is the judgement of a checker on a target at a gate.
type RolloutGateReport struct {
	Mutation
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	kind.GateReport
}

// RolloutGateReportAnswer answers a RolloutGateReport.
type RolloutGateReportAnswer struct{}
