package protocol

import (
	kind "github.com/signalbox/signalbox/protocol/rollout"
)

// In messages about staged rollouts a seq is a version's number, a generation a target's number. A timestamp is a shard
// time in milliseconds, which advances only with the shard's log; 0 is never. Fields that end in "wall_ms" are
// milliseconds since 1970 by a host's wall clock, informational; 0 is unknown.

// RolloutPut creates a rollout, or changes its spec.
type RolloutPut struct {
	Mutation
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	kind.Put
}

// RolloutPutAnswer answers a RolloutPut.
type RolloutPutAnswer struct {
	// Revision is the spec's revision, which a later RolloutPut may expect.
	Revision uint64
	Created  bool
}

// RolloutDelete deletes a rollout.
type RolloutDelete struct {
	Mutation
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	// Force deletes the rollout even if instances have joined. The instances are notified.
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
	Seq uint64 // the version's seq
}

// RolloutSource makes the session a source, or ends that role. A source creates a version when the shard asks; the view
// "source" shows the request.
type RolloutSource struct {
	Mutation
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	kind.SourceRole
}

// RolloutSourceAnswer answers a RolloutSource.
type RolloutSourceAnswer struct {
	// SourceID is the session's id as a source, in requests.
	SourceID uint64
}

// RolloutOffer answers a request to a source, with or without a version.
type RolloutOffer struct {
	Mutation
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	kind.Offering
}

// RolloutOfferAnswer answers a RolloutOffer.
type RolloutOfferAnswer struct {
	Seq uint64 // the version's seq; 0 without a version
}

// RolloutAction is an operator's action on a rollout. The rollout records the action, with author and reason.
type RolloutAction struct {
	Mutation
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	Action kind.Action
}

// RolloutActionAnswer answers a RolloutAction.
type RolloutActionAnswer struct {
	// Generation is the last generation assigned to a target.
	Generation uint64
}

// RolloutGateReport is a checker's verdict on a target at a gate.
type RolloutGateReport struct {
	Mutation
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	kind.GateReport
}

// RolloutGateReportAnswer answers a RolloutGateReport.
type RolloutGateReportAnswer struct{}
