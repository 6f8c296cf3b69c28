package protocol

import kind "github.com/signalbox/signalbox/protocol/rollout"

// RolloutDescribe asks for a rollout section: its overview, and a page of its rows. Overviews and rows are encoded as
// in watch pushes for ObjectRollout. Each overview and each row is an array of fields, for AppendRecord and ReadRecord;
// the types, except RolloutTarget, are in package protocol/rollout.
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
	// Revision is the section's revision for a view, else the rollout's revision.
	Revision uint64
	// NowMillis is the shard time, to compare timestamps with.
	NowMillis uint64
	Phase     kind.Phase
	Head      []byte `wire:"bytes MaxDataBytes"`
	Rows      Rows
	// Next is the start of the next page; 0 on the last page.
	Next    uint64
	Reasons Reasons
}

// Reasons is a list of reasons why a rollout is stalled.
type Reasons = Views[kind.BlockReason, *kind.BlockReason]

// RolloutList asks for the node's rollouts with names that begin with Prefix, sorted by name.
type RolloutList struct{ ListRequest }

// RolloutListAnswer answers a RolloutList.
type RolloutListAnswer struct {
	Rollouts RolloutSummaries
	// Next is the start of the next page; empty on the last page.
	Next []byte `wire:"text MaxNameBytes"`
	// Missing lists the requested slots that the shard does not have.
	Missing SlotRanges
}

// RolloutSummaries is a list of rollouts.
type RolloutSummaries = Views[kind.Summary, *kind.Summary]

// RolloutPlan is a dry run: the answer lists when each location would get which version, if every leader reached each
// target after TakesMillis, every gate passed then, and nothing else happened. Nothing is changed.
type RolloutPlan struct {
	NodeID      uint64
	Name        []byte `wire:"text MaxNameBytes"`
	TakesMillis uint64
	// Publish simulates publishing a version now.
	Publish bool
	// Action, if its kind is not unknown, is simulated first.
	Action      kind.Action
	Consistency Consistency
}

// RolloutPlanAnswer answers a RolloutPlan.
type RolloutPlanAnswer struct {
	NowMillis uint64
	Steps     PlannedSteps
}

// PlannedSteps is a list of dry run steps.
type PlannedSteps = Views[kind.Step, *kind.Step]
