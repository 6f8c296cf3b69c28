package protocol

import kind "github.com/signalbox/signalbox/protocol/rollout"

// RolloutDescribe asks for a section of a rollout: its overview, and a page of its rows. Overviews and rows are as in
// the pushes of watches of the kind ObjectRollout. Each overview and each row is an array of fields by itself, for
// AppendRecord and ReadRecord; the types, but for RolloutTarget, are in package protocol/rollout.
//
//	section            overview       rows, by id
//	""                 State          LocationRow, id x 4; Version, seq x 4 + 1
//	"location/NAME"    RolloutTarget  none
//	"instances/NAME"   Counts         InstanceState, id x 4 + 2
//	"source"           Ticket         none
//	"history/NAME"     none           Row, generation
//	"actions"             none           ActionRecord, id
//	"version/SEQ"      Version        none
//
// Clients can describe the last three sections, but not watch them.
type RolloutDescribe struct{ SectionRequest }

// RolloutDescribeAnswer answers a RolloutDescribe.
type RolloutDescribeAnswer struct {
	// Revision is the revision of the section for a view, else the revision of the rollout.
	Revision uint64
	// NowMillis is the time of the shard, to compare moments with.
	NowMillis uint64
	Phase     kind.Phase
	Head      []byte `wire:"bytes MaxDataBytes"`
	Rows      Rows
	// Next is the start of the next page; 0 on the last page.
	Next    uint64
	Reasons Reasons
}

// Reasons is a list of reasons why a rollout does not move.
type Reasons = Views[kind.BlockReason, *kind.BlockReason]

// RolloutList asks one shard for the rollouts of a node whose name begins with Prefix, ordered by name. All rollouts of
// a node are the lists of all data shards.
type RolloutList struct{ ListRequest }

// RolloutListAnswer answers a RolloutList.
type RolloutListAnswer struct {
	Rollouts RolloutSummaries
	// Next is the start of the next page; empty on the last page.
	Next []byte `wire:"text MaxNameBytes"`
}

// RolloutSummaries is a list of rollouts.
type RolloutSummaries = Views[kind.Summary, *kind.Summary]

// RolloutPlan is a dry run: the answer says when each location would get which version, if every leader reached each
// target after TakesMillis, every gate passed then, and nothing else happened. Nothing is changed.
type RolloutPlan struct {
	NodeID      uint64
	Name        []byte `wire:"text MaxNameBytes"`
	TakesMillis uint64
	// Publish: as if a version was published now.
	Publish bool
	// Action, if its kind is not unknown, is carried out first.
	Action      kind.Action
	Consistency Consistency
}

// RolloutPlanAnswer answers a RolloutPlan.
type RolloutPlanAnswer struct {
	NowMillis uint64
	Steps     PlannedSteps
}

// PlannedSteps is a list of steps of a dry run.
type PlannedSteps = Views[kind.Step, *kind.Step]
