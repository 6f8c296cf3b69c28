package protocol

// ProcessDescribe asks for a part of a process: its head, and a page of its rows, both in the forms that watches have
// them in.
//
//	part       head         rows, by id
//	""         ProcessHead  ProcessMember, id x 2; ProcessResult without its payload, epoch x 2 + 1
//	"results"  none         ProcessResult, epoch x 2 + 1
//	"acts"     none         ProcessActRow, number
//
// The last one is described, not watched.
type ProcessDescribe struct {
	NodeID uint64
	Name   []byte
	Part   []byte
	// After is the Next of the page before; 0 for the first.
	After uint64
	// Limit is the most rows that the page may have; 0 leaves it to the host.
	Limit uint64
	// Why asks why the round does not move. It takes a look at every member.
	Why         bool
	Consistency Consistency
}

// Kind returns KindProcessDescribe.
func (*ProcessDescribe) Kind() Kind { return KindProcessDescribe }

func (m *ProcessDescribe) requestFields(c *codec) {
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
	c.text("part", &m.Part, MaxViewBytes)
	c.uint("after", &m.After)
	c.uint("limit", &m.Limit)
	c.bool("why", &m.Why)
	enum(c, "consistency", &m.Consistency)
}

// ProcessDescribeAnswer answers a ProcessDescribe.
type ProcessDescribeAnswer struct {
	// Revision is that of the part where it is a view, else that of the process.
	Revision uint64
	// NowMillis is the time of the shard, which moments are compared with.
	NowMillis uint64
	Head      []byte
	Rows      Rows
	// Next is where the next page begins; 0 where this is the last one.
	Next    uint64
	Reasons ProcessReasons
}

// Kind returns the kind of the answer to a ProcessDescribe.
func (*ProcessDescribeAnswer) Kind() Kind { return KindProcessDescribe.Answer() }

func (m *ProcessDescribeAnswer) answerFields(c *codec) {
	c.uint("revision", &m.Revision)
	c.uint("now_ms", &m.NowMillis)
	c.bytes("head", &m.Head, MaxDataBytes)
	m.Rows.list(c, "rows")
	c.uint("next", &m.Next)
	m.Reasons.list(c, "reasons")
}

// ProcessHead is the head of a whole process.
type ProcessHead struct {
	Spec         ProcessSpec
	SpecRevision uint64
	Epoch        uint64 // the last that was opened, 0 before the first
	State        ProcessState
	Since        uint64 // moment from which the state is this
	Opened       uint64 // moment at which the epoch opened
	// OpensMillis is the time of the shard at which the next epoch opens; 0 where none is due.
	OpensMillis uint64
	Coordinator uint64 // its id; it may have left
	Members     uint64 // of the process
	Of          uint64 // of the epoch
	LastResult  uint64 // the last epoch that was completed
	LastAct     ProcessActRow
}

func (h *ProcessHead) fields(c *codec) {
	c.record("spec", h.Spec.fields)
	c.uint("spec_revision", &h.SpecRevision)
	c.uint("epoch", &h.Epoch)
	enum(c, "state", &h.State)
	c.uint("since", &h.Since)
	c.uint("opened", &h.Opened)
	c.uint("opens_ms", &h.OpensMillis)
	c.uint("coordinator", &h.Coordinator)
	c.uint("members", &h.Members)
	c.uint("of", &h.Of)
	c.uint("last_result", &h.LastResult)
	c.record("last_act", h.LastAct.fields)
}

// ProcessState is how the last epoch of a process is.
type ProcessState uint8

// The states.
const (
	ProcessIsForming   ProcessState = 0 // there is no round: none has begun, or the last one is over
	ProcessIsPreparing ProcessState = 1 // an epoch opened, and not all of its members are prepared
	ProcessIsRunning   ProcessState = 2 // all are
	ProcessIsComplete  ProcessState = 3 // its coordinator has completed the round
)

// String returns the state as the docs write it.
func (s ProcessState) String() string {
	return nameOf(s, "PROCESS_STATE", "FORMING", "PREPARING", "RUNNING", "COMPLETE")
}

// ProcessMember is a member.
type ProcessMember struct {
	Name       []byte
	SessionID  uint64
	Candidate  bool
	Joined     uint64 // moment
	Of         bool   // it is of the epoch, else it waits for the next one
	Prepared   uint64 // the last epoch for which it is prepared
	Completed  uint64 // the last epoch whose completion it has handled
	Unread     uint64 // items that it has not acknowledged; 0 in a watch
	Attributes []byte
}

func (m *ProcessMember) fields(c *codec) {
	c.text("name", &m.Name, MaxProcessTextBytes)
	c.uint("session_id", &m.SessionID)
	c.bool("candidate", &m.Candidate)
	c.uint("joined", &m.Joined)
	c.bool("of", &m.Of)
	c.uint("prepared", &m.Prepared)
	c.uint("completed", &m.Completed)
	c.uint("unread", &m.Unread)
	c.bytes("attributes", &m.Attributes, MaxProcessAttributeBytes)
}

// ProcessResult is what a coordinator left when it completed a round.
type ProcessResult struct {
	Epoch        uint64
	Moment       uint64
	WallMillis   uint64
	PayloadBytes uint64
	Payload      []byte
}

func (r *ProcessResult) fields(c *codec) {
	c.uint("epoch", &r.Epoch)
	c.uint("moment", &r.Moment)
	c.uint("wall_ms", &r.WallMillis)
	c.uint("payload_bytes", &r.PayloadBytes)
	c.bytes("payload", &r.Payload, MaxProcessPayloadBytes)
}

// ProcessActRow is an act that was carried out.
type ProcessActRow struct {
	Verb       ProcessVerb
	Moment     uint64
	WallMillis uint64
	Epoch      uint64 // the last that had opened
	MemberID   uint64 // of ProcessKick and ProcessFailed
	Member     []byte // of ProcessKick: its name; a member that gave up is the author
	Author     []byte
	Reason     []byte
}

func (r *ProcessActRow) fields(c *codec) {
	enum(c, "verb", &r.Verb)
	c.uint("moment", &r.Moment)
	c.uint("wall_ms", &r.WallMillis)
	c.uint("epoch", &r.Epoch)
	c.uint("member_id", &r.MemberID)
	c.text("member", &r.Member, MaxProcessTextBytes)
	c.text("author", &r.Author, MaxProcessTextBytes)
	c.text("reason", &r.Reason, MaxProcessTextBytes)
}

// ProcessReason is why a round does not move.
type ProcessReason struct {
	// Code is for programs, Text for people; Text says all of the rest.
	Code []byte
	Text []byte
	// Blocked: neither time nor the members that are there can do away with it.
	Blocked bool
	Epoch   uint64
	// Exchange is the one that waits for replies, From its sender, or the coordinator.
	Exchange uint64
	From     uint64
	// Waiting of Of members are waited for; Named are the first of them.
	Waiting uint64
	Of      uint64
	Named   OrderIDs
	Since   uint64 // moment from which this holds
	Until   uint64 // time of the shard at which time alone ends it; 0 where it does not
	Late    bool   // the reply timeout has passed
}

func (r *ProcessReason) item(c *codec) { c.record("", r.fields) }

func (r *ProcessReason) fields(c *codec) {
	c.text("code", &r.Code, MaxWordBytes)
	c.text("text", &r.Text, MaxReasonBytes)
	c.bool("blocked", &r.Blocked)
	c.uint("epoch", &r.Epoch)
	c.uint("exchange", &r.Exchange)
	c.uint("from", &r.From)
	c.uint("waiting", &r.Waiting)
	c.uint("of", &r.Of)
	r.Named.list(c, "named")
	c.uint("since", &r.Since)
	c.uint("until", &r.Until)
	c.bool("late", &r.Late)
}

// ProcessReasons is a list of reasons.
type ProcessReasons = List[ProcessReason, *ProcessReason]

// ProcessList asks for the processes of a node that one shard holds and whose name begins with Prefix, ordered by name.
// All processes of a node are the lists of all data shards.
type ProcessList struct {
	NodeID  uint64
	ShardID uint64
	Prefix  []byte
	// After is the Next of the page before; empty for the first page.
	After []byte
	// Limit is the most processes that the page may have; 0 leaves it to the host.
	Limit       uint64
	Consistency Consistency
}

// Kind returns KindProcessList.
func (*ProcessList) Kind() Kind { return KindProcessList }

func (m *ProcessList) requestFields(c *codec) {
	c.uint("node_id", &m.NodeID)
	c.uint("shard_id", &m.ShardID)
	c.text("prefix", &m.Prefix, MaxNameBytes)
	c.text("after", &m.After, MaxNameBytes)
	c.uint("limit", &m.Limit)
	enum(c, "consistency", &m.Consistency)
}

// ProcessListAnswer answers a ProcessList.
type ProcessListAnswer struct {
	Processes ProcessSummaries
	// Next is where the next page begins; empty where this is the last one.
	Next []byte
	// NowMillis is the time of the shard, which moments are compared with.
	NowMillis uint64
}

// Kind returns the kind of the answer to a ProcessList.
func (*ProcessListAnswer) Kind() Kind { return KindProcessList.Answer() }

func (m *ProcessListAnswer) answerFields(c *codec) {
	m.Processes.list(c, "processes")
	c.text("next", &m.Next, MaxNameBytes)
	c.uint("now_ms", &m.NowMillis)
}

// ProcessSummary is a process in a list.
type ProcessSummary struct {
	Name       []byte
	Revision   uint64
	Epoch      uint64
	State      ProcessState
	Members    uint64
	Prepared   uint64 // how many members of the epoch are prepared
	LastResult uint64
	// Coordinator is the name of the member that coordinates, empty where none does.
	Coordinator []byte
	Since       uint64 // moment from which the state is this
}

func (s *ProcessSummary) item(c *codec) { c.record("", s.fields) }

func (s *ProcessSummary) fields(c *codec) {
	c.text("name", &s.Name, MaxNameBytes)
	c.uint("revision", &s.Revision)
	c.uint("epoch", &s.Epoch)
	enum(c, "state", &s.State)
	c.uint("members", &s.Members)
	c.uint("prepared", &s.Prepared)
	c.uint("last_result", &s.LastResult)
	c.text("coordinator", &s.Coordinator, MaxProcessTextBytes)
	c.uint("since", &s.Since)
}

// ProcessSummaries is a list of processes.
type ProcessSummaries = List[ProcessSummary, *ProcessSummary]
