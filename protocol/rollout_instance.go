package protocol

import (
	"github.com/signalbox/signalbox/protocol/field"
	kind "github.com/signalbox/signalbox/protocol/rollout"
)

// RolloutJoin lets the session take part as an instance of a location, as a follower.
type RolloutJoin struct {
	Mutation
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	kind.Instance
}

// RolloutJoinAnswer answers a RolloutJoin.
type RolloutJoinAnswer struct {
	InstanceID uint64 // never given twice
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

// InstanceReport is the report of an instance about itself.
type InstanceReport struct {
	// Current is the seq of the version in use, 0 for none.
	Current uint64
	// Generation is the generation of the newest target that the instance has received. The fields below are about that
	// target.
	Generation uint64
	Status     kind.Status
	// Code is the code of the error after a failure; Text describes the error.
	Code []byte `wire:"text MaxWordBytes"`
	Text []byte `wire:"text MaxRolloutTextBytes"`
	// Attempts is how often the instance has tried to reach the target.
	Attempts uint64
}

// RolloutReport says how the session's instance is getting on.
type RolloutReport struct {
	Mutation
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	Report InstanceReport
}

// RolloutReportAnswer answers a RolloutReport.
type RolloutReportAnswer struct{}

// RolloutPoll reports as RolloutReport does, and the answer has the target.
type RolloutPoll struct {
	Mutation
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	Report InstanceReport
}

// RolloutPollAnswer answers a RolloutPoll.
type RolloutPollAnswer struct {
	Target RolloutTarget
	// NextInMillis is the time until the next possible target, as far as time decides; 0 for an unknown time.
	NextInMillis uint64
	// Gone: the version is no longer kept, so that label and payload are left out. The location has a newer target by
	// now: ask again, under a new sequence.
	Gone bool
}

// RolloutTarget is the target of a location, which the instances of the location bring into use: in an answer, and as
// the overview of a view. Label and payload of a target that was read are views into the frame.
type RolloutTarget struct {
	Generation uint64 // 0: the location has no target yet
	Seq        uint64
	Label      []byte `wire:"text MaxRolloutTextBytes"`
	Payload    []byte `wire:"bytes MaxRolloutPayloadBytes"`
}

// Fields implements field.Value, for the codec of the wire only.
func (t *RolloutTarget) Fields(c field.Coder) { t.fields((*codec)(c.(*cold))) }
