package protocol

import kind "github.com/signalbox/signalbox/protocol/process"

// In the messages of coordination processes a member is known by the order id of its joining, and an epoch by a number
// that stands above every one before it: the fencing token of its round. Moments are as in the messages of rollouts.

// ProcessPut makes a process, or gives a process another spec.
type ProcessPut struct {
	Mutation
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	kind.Put
}

// ProcessPutAnswer answers a ProcessPut.
type ProcessPutAnswer struct {
	// Revision is the revision of the spec, which a later ProcessPut may expect.
	Revision uint64
	Created  bool
}

// ProcessDelete deletes a process.
type ProcessDelete struct {
	Mutation
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	// Force deletes the process though sessions have joined. The sessions are notified.
	Force bool
}

// ProcessDeleteAnswer answers a ProcessDelete.
type ProcessDeleteAnswer struct{}

// ProcessAction is an action of an operator on a process.
type ProcessAction struct {
	Mutation
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	kind.Action
}

// ProcessActionAnswer answers a ProcessAction.
type ProcessActionAnswer struct{}

// ProcessDescribe asks for a section of a process: its overview, and a page of its rows, both in the forms of watches.
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
	// Revision is the revision of the section for a view, else the revision of the process.
	Revision uint64
	// NowMillis is the time of the shard, to compare moments with.
	NowMillis uint64
	Head      []byte `wire:"bytes MaxDataBytes"`
	Rows      Rows
	// Next is the start of the next page; 0 on the last page.
	Next    uint64
	Reasons Views[kind.BlockReason, *kind.BlockReason]
}

// ProcessList asks one shard for the processes of a node whose name begins with Prefix, ordered by name. All processes
// of a node are the lists of all data shards.
type ProcessList struct{ ListRequest }

// ProcessListAnswer answers a ProcessList.
type ProcessListAnswer struct {
	Processes Views[kind.SummaryRow, *kind.SummaryRow]
	// Next is the start of the next page; empty on the last page.
	Next []byte `wire:"text MaxNameBytes"`
	// NowMillis is the time of the shard, to compare moments with.
	NowMillis uint64
}
