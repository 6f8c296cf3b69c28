package protocol

import kind "github.com/signalbox/signalbox/protocol/process"

// In messages about coordination processes a member is identified by its joining order id, and an epoch by a number
// above all earlier epochs: the round's fencing token. Timestamps are as in rollout messages.

// ProcessPut creates a process, or changes its spec.
type ProcessPut struct {
	Mutation
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	kind.Put
}

// ProcessPutAnswer answers a ProcessPut.
type ProcessPutAnswer struct {
	// Revision is the spec's revision, which a later ProcessPut may expect.
	Revision uint64
	Created  bool
}

// ProcessDelete deletes a process.
type ProcessDelete struct {
	Mutation
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	// Force deletes the process even if sessions have joined. The sessions are notified.
	Force bool
}

// ProcessDeleteAnswer answers a ProcessDelete.
type ProcessDeleteAnswer struct{}

// ProcessAction is an operator's action on a process.
type ProcessAction struct {
	Mutation
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	kind.Action
}

// ProcessActionAnswer answers a ProcessAction.
type ProcessActionAnswer struct{}

// ProcessDescribe asks for a process section: its overview, and a page of its rows, both encoded as in watches.
//
//	section    overview  rows, by id
//	""         Overview  MemberState, id x 2; ResultRow without the payload, epoch x 2 + 1
//	"results"  none      ResultRow, epoch x 2 + 1
//	"actions"     none      ActionRecord, id
//
// Clients can describe the last section, but not watch it.
type ProcessDescribe struct{ SectionRequest }

// ProcessDescribeAnswer answers a ProcessDescribe.
type ProcessDescribeAnswer struct {
	// Revision is the section's revision for a view, else the process's revision.
	Revision uint64
	// NowMillis is the shard time, to compare timestamps with.
	NowMillis uint64
	Head      []byte `wire:"bytes MaxDataBytes"`
	Rows      Rows
	// Next is the start of the next page; 0 on the last page.
	Next    uint64
	Reasons Views[kind.BlockReason, *kind.BlockReason]
}

// ProcessList asks for the node's processes with names that begin with Prefix, sorted by name.
type ProcessList struct{ ListRequest }

// ProcessListAnswer answers a ProcessList.
type ProcessListAnswer struct {
	Processes Views[kind.SummaryRow, *kind.SummaryRow]
	// Next is the start of the next page; empty on the last page.
	Next []byte `wire:"text MaxNameBytes"`
	// NowMillis is the shard time, to compare timestamps with.
	NowMillis uint64
	// Missing lists the requested slots that the shard does not have.
	Missing SlotRanges
}
