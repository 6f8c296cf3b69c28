package protocol

import kind "github.com/signalbox/signalbox/protocol/process"

// ProcessDescribe asks for a part of a process: its head, and a page of its rows, both in the forms of watches.
//
//	part       head  rows, by id
//	""         Head  MemberState, id x 2; ResultRow without the payload, epoch x 2 + 1
//	"results"  none  ResultRow, epoch x 2 + 1
//	"acts"     none  PastAct, number
//
// Clients can describe the last part, but not watch it.
type ProcessDescribe struct{ PartRequest }

// ProcessDescribeAnswer answers a ProcessDescribe.
type ProcessDescribeAnswer struct {
	// Revision is the revision of the part for a view, else the revision of the process.
	Revision uint64
	// NowMillis is the time of the shard, to compare moments with.
	NowMillis uint64
	Head      []byte
	Rows      Rows
	// Next is the start of the next page; 0 on the last page.
	Next    uint64
	Reasons Views[kind.StopReason, *kind.StopReason]
}

func (m *ProcessDescribeAnswer) answerFields(c *codec) {
	c.uint("revision", &m.Revision)
	c.uint("now_ms", &m.NowMillis)
	c.bytes("head", &m.Head, MaxDataBytes)
	m.Rows.list(c, "rows")
	c.uint("next", &m.Next)
	m.Reasons.list(c, "reasons")
}

// ProcessList asks one shard for the processes of a node whose name begins with Prefix, ordered by name. All processes
// of a node are the lists of all data shards.
type ProcessList struct{ ListRequest }

// ProcessListAnswer answers a ProcessList.
type ProcessListAnswer struct {
	Processes Views[kind.SummaryRow, *kind.SummaryRow]
	// Next is the start of the next page; empty on the last page.
	Next []byte
	// NowMillis is the time of the shard, to compare moments with.
	NowMillis uint64
}

func (m *ProcessListAnswer) answerFields(c *codec) {
	m.Processes.list(c, "processes")
	c.text("next", &m.Next, MaxNameBytes)
	c.uint("now_ms", &m.NowMillis)
}
