package protocol

import (
	"github.com/signalbox/signalbox/protocol/field"
	kind "github.com/signalbox/signalbox/protocol/rollout"
)

// RolloutJoin adds the session as an instance in a location, as a follower.
type RolloutJoin struct {
	Mutation
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	kind.Instance
}

// RolloutJoinAnswer answers a RolloutJoin.
type RolloutJoinAnswer struct {
	InstanceID uint64 // never reused
}

// RolloutLeave ends the membership of the session's instance.
type RolloutLeave struct {
	Mutation
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
}

// RolloutLeaveAnswer answers a RolloutLeave.
type RolloutLeaveAnswer struct{}

// RolloutReady makes the session's instance a leader, which counts, or a follower, which does not.
type RolloutReady struct {
	Mutation
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	Leader bool
}

// RolloutReadyAnswer answers a RolloutReady.
type RolloutReadyAnswer struct{}

// InstanceReport is an instance's report about itself.
type InstanceReport struct {
	// Current is the seq of the version in use, 0 for none.
	Current uint64
	// Generation is the generation of the newest target the instance has received. The fields below concern that
	// target.
	Generation uint64
	Status     kind.Status
	// Code is the error code after a failure; Text describes the error.
	Code []byte `wire:"text MaxWordBytes"`
	Text []byte `wire:"text MaxRolloutTextBytes"`
	// Attempts is how often the instance has tried to reach the target.
	Attempts uint64
}

// RolloutReport reports the progress of the session's instance.
type RolloutReport struct {
	Mutation
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	Report InstanceReport
}

// RolloutReportAnswer answers a RolloutReport.
type RolloutReportAnswer struct{}

// RolloutPoll reports like RolloutReport, and the answer has the target.
type RolloutPoll struct {
	Mutation
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	Report InstanceReport
}

// RolloutPollAnswer answers a RolloutPoll.
type RolloutPollAnswer struct {
	Target RolloutTarget
	// NextInMillis is the time until the next possible target, as far as time decides; 0 if unknown.
	NextInMillis uint64
	// Gone is set if the version is no longer kept, so label and payload are omitted. The location has a newer target
	// by now: ask again, under a new sequence.
	Gone bool
}

// RolloutTarget is a location's target, which its instances deploy: in an answer, and as a view's overview. A decoded
// target's label and payload are views into the frame.
type RolloutTarget struct {
	Generation uint64 // 0: the location has no target yet
	Seq        uint64
	Label      []byte `wire:"text MaxRolloutTextBytes"`
	Payload    []byte `wire:"bytes MaxRolloutPayloadBytes"`
}

// Fields implements field.Value, only for the wire codec.
func (t *RolloutTarget) Fields(c field.Coder) { t.fields((*codec)(c.(*cold))) }
