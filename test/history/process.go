package history

import (
	"fmt"
	"slices"
)

// Process names a coordination process. A node that is made again under the same path must have another name here.
type Process struct {
	Node string `json:"node"`
	Name string `json:"name"`
}

// String returns both names.
func (p Process) String() string { return p.Node + " " + p.Name }

// CallKind says which handler of a member is called.
type CallKind string

// The kinds of calls.
const (
	CallPrepare    CallKind = "prepare"
	CallCoordinate CallKind = "coordinate"
	CallRequest    CallKind = "request"
	CallComplete   CallKind = "complete"
	CallCancel     CallKind = "cancel"
	CallTerminate  CallKind = "terminate" // the member is none any more
)

// ProcessCall is one call of a handler, from its beginning until it has returned.
type ProcessCall struct {
	Kind    CallKind `json:"kind"`
	Process Process  `json:"process"`
	Client  int      `json:"client"`
	Member  uint64   `json:"member"` // its id
	Place   int      `json:"place"`  // among the calls of the member, in the order in which they began
	Epoch   uint64   `json:"epoch,omitempty"`
	// Coordinator and Size are those of the round that a member prepares for: who coordinates it, and how many members
	// it has. View are those of its members that have not left, nil where they were not read.
	Coordinator uint64   `json:"coordinator,omitempty"`
	Size        int      `json:"size,omitempty"`
	View        []uint64 `json:"view,omitempty"`
	// From is the sender of a request, Mark its payload. Mark is also the result of a round that is complete.
	From uint64 `json:"from,omitempty"`
	Mark string `json:"mark,omitempty"`
	// Reply is what a request is answered with, now or later; Failed says that it is a failure with that text.
	Reply  string `json:"reply,omitempty"`
	Failed bool   `json:"failed,omitempty"`

	Began Time `json:"began"`
	Ended Time `json:"ended,omitempty"` // 0 where it never returned
}

// Exchange is a request that a member sent to others, from before it was sent until it knew what became of it.
type Exchange struct {
	Process Process  `json:"process"`
	Client  int      `json:"client"`
	Member  uint64   `json:"member"` // its sender
	Epoch   uint64   `json:"epoch"`
	Mark    string   `json:"mark"`             // no two exchanges have the same
	To      []uint64 `json:"to,omitempty"`     // whom it is for; nil for all
	Others  bool     `json:"others,omitempty"` // it is not for its sender
	Wanted  int      `json:"wanted"`           // how many it is for

	Called   Time `json:"called"`
	Returned Time `json:"returned"`
	// Outcome is Done where it ended with all replies or with those that came in time, Unknown where its round was over
	// first, or the request may not have been taken at all.
	Outcome Outcome `json:"outcome"`
	Late    bool    `json:"late,omitempty"` // some did not reply in time
	Error   string  `json:"error,omitempty"`

	Replies []ExchangeReply `json:"replies,omitempty"`
}

// ExchangeReply is a reply that a sender got.
type ExchangeReply struct {
	From   uint64 `json:"from"`
	Text   string `json:"text"`
	Failed bool   `json:"failed,omitempty"`
}

// ChangeKind says what changes a process.
type ChangeKind string

// The kinds of changes.
const (
	MemberJoins  ChangeKind = "join"
	MemberLeaves ChangeKind = "leave"
	// MemberFails and MemberCompletes are what a coordinator returned, or that a member could not prepare. What became
	// of that it does not hear.
	MemberFails      ChangeKind = "fail"
	MemberCompletes  ChangeKind = "complete"
	MemberIsOut      ChangeKind = "out" // it hears that it was put out
	OperatorKicks    ChangeKind = "kick"
	OperatorRestarts ChangeKind = "restart"
	OperatorAlters   ChangeKind = "alter"
)

// ProcessChange is what may change the membership or the round of a process, from before it was asked for until its
// client knew the outcome.
type ProcessChange struct {
	Kind    ChangeKind `json:"kind"`
	Process Process    `json:"process"`
	Session uint64     `json:"session,omitempty"`
	Member  uint64     `json:"member,omitempty"` // whose it is, or whom it is about; of a join the id that it got
	Epoch   uint64     `json:"epoch,omitempty"`  // of the round that is completed or given up
	// Mark is the result of a round, or the reason of an operator. No two changes have the same.
	Mark      string `json:"mark,omitempty"`
	Candidate bool   `json:"candidate,omitempty"` // of a join

	Called   Time    `json:"called"`
	Returned Time    `json:"returned"`
	Outcome  Outcome `json:"outcome"`
	Error    string  `json:"error,omitempty"`
}

// ProcessPart says that a client believes to have a member, or that it is over.
type ProcessPart struct {
	Process Process `json:"process"`
	Member  uint64  `json:"member"`
	Session uint64  `json:"session"`
	Over    bool    `json:"over,omitempty"`
}

// ProcessFinal is what a process knew of itself in the end, when the faults had been over for long.
type ProcessFinal struct {
	Process     Process       `json:"process"`
	At          Time          `json:"at"`
	Epoch       uint64        `json:"epoch"`
	State       string        `json:"state"`
	Coordinator uint64        `json:"coordinator"`
	Members     []FinalMember `json:"members,omitempty"`
	Results     []FinalResult `json:"results,omitempty"` // the oldest first
	// Kept is how many results the process keeps: of fewer, all are there.
	Kept int `json:"kept"`
	// Least is how many members a round needs.
	Least int `json:"least,omitempty"`
	// Parts are the members that clients believed then to have.
	Parts []ProcessPart `json:"parts,omitempty"`
}

// The states of a process whose round is complete, and of one that has none.
const (
	StateComplete = "complete"
	StateForming  = "forming"
)

// FinalMember is a member as its process knows it.
type FinalMember struct {
	Member    uint64 `json:"member"`
	Session   uint64 `json:"session"`
	Completed uint64 `json:"completed"` // the last epoch whose completion it has handled
}

// FinalResult is a result that a process keeps.
type FinalResult struct {
	Epoch uint64 `json:"epoch"`
	Mark  string `json:"mark"`
}

// memberKey is a member of a process.
type memberKey struct {
	process Process
	id      uint64
}

// String returns the process and the id.
func (m memberKey) String() string { return fmt.Sprintf("%v: member %d", m.process, m.id) }

// epochKey is an epoch of a process.
type epochKey struct {
	process Process
	epoch   uint64
}

// member is who is called, epoch the epoch that a call is about.
func (c *ProcessCall) member() memberKey { return memberKey{c.Process, c.Member} }
func (c *ProcessCall) epoch() epochKey   { return epochKey{c.Process, c.Epoch} }

// isFor reports whether an exchange is for a member.
func (e *Exchange) isFor(member uint64) bool {
	return (e.To == nil || slices.Contains(e.To, member)) && !(e.Others && member == e.Member)
}
