package history

import (
	"fmt"
	"slices"
)

// Process names a coordination process. A node recreated under the same path needs a different name here.
type Process struct {
	Node string `json:"node"`
	Name string `json:"name"`
}

// String returns both names.
func (p Process) String() string { return p.Node + " " + p.Name }

// CallKind is the handler called at a member.
type CallKind string

// Call kinds.
const (
	CallPrepare    CallKind = "prepare"
	CallCoordinate CallKind = "coordinate"
	CallRequest    CallKind = "request"
	CallComplete   CallKind = "complete"
	CallCancel     CallKind = "cancel"
	CallTerminate  CallKind = "terminate" // the membership has ended
)

// ProcessCall is one handler call, from start to return.
type ProcessCall struct {
	Kind    CallKind `json:"kind"`
	Process Process  `json:"process"`
	Client  int      `json:"client"`
	Member  uint64   `json:"member"` // its id
	Place   int      `json:"place"`  // position among the member's calls, by start time
	Epoch   uint64   `json:"epoch,omitempty"`
	// Coordinator and Size describe the round that the member prepares for: its coordinator and member count. View
	// lists members that have not left, nil if not read.
	Coordinator uint64   `json:"coordinator,omitempty"`
	Size        int      `json:"size,omitempty"`
	View        []uint64 `json:"view,omitempty"`
	// From is the sender of a request, Mark the payload. Mark is also the result of a completed round.
	From uint64 `json:"from,omitempty"`
	Mark string `json:"mark,omitempty"`
	// Reply is the answer to a request, immediate or later. If Failed is set, Reply is the error text.
	Reply  string `json:"reply,omitempty"`
	Failed bool   `json:"failed,omitempty"`

	Began Time `json:"began"`
	Ended Time `json:"ended,omitempty"` // 0 if it never returned
}

// Exchange is a member's request to other members, from before sending until its outcome was known.
type Exchange struct {
	Process Process  `json:"process"`
	Client  int      `json:"client"`
	Member  uint64   `json:"member"` // its sender
	Epoch   uint64   `json:"epoch"`
	Mark    string   `json:"mark"`             // unique per exchange
	To      []uint64 `json:"to,omitempty"`     // recipients; nil for all
	Others  bool     `json:"others,omitempty"` // the sender is not a recipient
	Wanted  int      `json:"wanted"`           // number of recipients

	Called   Time `json:"called"`
	Returned Time `json:"returned"`
	// Outcome is Done if the exchange ended with all replies or with the replies received in time. It is Unknown if the
	// round ended first or the request was possibly never accepted.
	Outcome Outcome `json:"outcome"`
	Late    bool    `json:"late,omitempty"` // some did not reply in time
	Error   string  `json:"error,omitempty"`

	Replies []ExchangeReply `json:"replies,omitempty"`
}

// ExchangeReply is a reply received by the sender.
type ExchangeReply struct {
	From   uint64 `json:"from"`
	Text   string `json:"text"`
	Failed bool   `json:"failed,omitempty"`
}

// ChangeKind is the kind of a process change.
type ChangeKind string

// Change kinds.
const (
	MemberJoins  ChangeKind = "join"
	MemberLeaves ChangeKind = "leave"
	// MemberFails and MemberCompletes record a coordinator's return value or a failed prepare. The member never learns
	// the outcome.
	MemberFails      ChangeKind = "fail"
	MemberCompletes  ChangeKind = "complete"
	MemberIsOut      ChangeKind = "out" // the member learned of its removal
	OperatorKicks    ChangeKind = "kick"
	OperatorRestarts ChangeKind = "restart"
	OperatorAlters   ChangeKind = "alter"
)

// ProcessChange is a request that may change membership or round, from before sending until its client knew the
// outcome.
type ProcessChange struct {
	Kind    ChangeKind `json:"kind"`
	Process Process    `json:"process"`
	Session uint64     `json:"session,omitempty"`
	Member  uint64     `json:"member,omitempty"` // subject member; for a join, the assigned id
	Epoch   uint64     `json:"epoch,omitempty"`  // epoch of the completed or cancelled round
	// Mark is the result of a round, or the operator's reason. Unique per change.
	Mark      string `json:"mark,omitempty"`
	Candidate bool   `json:"candidate,omitempty"` // of a join

	Called   Time    `json:"called"`
	Returned Time    `json:"returned"`
	Outcome  Outcome `json:"outcome"`
	Error    string  `json:"error,omitempty"`
}

// ProcessPart records that a client believes to have a member, or that the membership is over.
type ProcessPart struct {
	Process Process `json:"process"`
	Member  uint64  `json:"member"`
	Session uint64  `json:"session"`
	Over    bool    `json:"over,omitempty"`
}

// ProcessFinal is the final state of a process, long after all faults ended.
type ProcessFinal struct {
	Process     Process       `json:"process"`
	At          Time          `json:"at"`
	Epoch       uint64        `json:"epoch"`
	State       string        `json:"state"`
	Coordinator uint64        `json:"coordinator"`
	Members     []FinalMember `json:"members,omitempty"`
	Results     []FinalResult `json:"results,omitempty"` // the oldest first
	// Kept is the number of results kept by the process. If there were fewer, all are present.
	Kept int `json:"kept"`
	// Least is how many members a round needs.
	Least int `json:"least,omitempty"`
	// Parts are the members that clients believed to have at that time.
	Parts []ProcessPart `json:"parts,omitempty"`
}

// Process states with a complete round, and without a round.
const (
	StateComplete = "complete"
	StateForming  = "forming"
)

// FinalMember is a member as known to its process.
type FinalMember struct {
	Member    uint64 `json:"member"`
	Session   uint64 `json:"session"`
	Completed uint64 `json:"completed"` // last epoch with a handled completion
}

// FinalResult is a result kept by a process.
type FinalResult struct {
	Epoch uint64 `json:"epoch"`
	Mark  string `json:"mark"`
}

// memberKey identifies a member of a process.
type memberKey struct {
	process Process
	id      uint64
}

// String returns the process and the id.
func (m memberKey) String() string { return fmt.Sprintf("%v: member %d", m.process, m.id) }

// epochKey identifies an epoch of a process.
type epochKey struct {
	process Process
	epoch   uint64
}

// member is the called member.
func (c *ProcessCall) member() memberKey { return memberKey{c.Process, c.Member} }
func (c *ProcessCall) epoch() epochKey   { return epochKey{c.Process, c.Epoch} }

// isFor reports whether an exchange is for a member.
func (e *Exchange) isFor(member uint64) bool {
	return (e.To == nil || slices.Contains(e.To, member)) && !(e.Others && member == e.Member)
}
