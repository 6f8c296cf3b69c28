package process

import (
	"time"

	"github.com/signalbox/signalbox/protocol/field"
)

// Overview is what the view of a whole process shows beside the rows.
type Overview struct {
	Spec         Spec
	SpecRevision uint64 // the spec's latest change
	Epoch        uint64 // the last opened epoch, 0 before the first
	Phase        Phase
	Since        field.Timestamp // start of the present phase
	Opened       field.Timestamp // when the epoch opened
	// Opening reports whether the next epoch is due, and Opens is how long it still waits.
	Opening bool
	Opens   time.Duration `name:"opens_in"`
	// Coordinator is the id of the member that coordinates the epoch; the member may have left.
	Coordinator uint64
	// Members is how many members the process has, Of how many members the epoch has, or had.
	Members    int
	Of         int          `name:"epoch_members"`
	LastResult uint64       // the last completed epoch
	LastAct    ActionRecord `name:"last_action"`
}

// Fields implements field.Value.
func (o *Overview) Fields(c field.Coder) {
	c.Record("spec", o.Spec.Fields)
	c.Number("spec_revision", &o.SpecRevision)
	c.Number("epoch", &o.Epoch)
	field.Enum(c, "phase", &o.Phase, Phases)
	c.Moment("since", &o.Since)
	c.Moment("opened", &o.Opened)
	if due := c.Left("opens_ms", &o.Opens); c.Reading() {
		o.Opening = due
	}
	c.Number("coordinator", &o.Coordinator)
	c.Count("members", &o.Members)
	c.Count("epoch_members", &o.Of)
	c.Number("last_result", &o.LastResult)
	c.Record("last_action", o.LastAct.Fields)
}

// ActionRecord is an action that was carried out.
type ActionRecord struct {
	ID    uint64          `name:"id" omit:"zero" wire:"-"` // the row's id, if the action was read from the action list
	Kind  ActionKind      `name:"action" wire:"action ActionKinds"`
	At    field.Timestamp `name:"time" wire:"shard_time_ms wall_ms"`
	Epoch uint64          // the last opened epoch
	// MemberID is for ActionEvict and ActionFailed. Member is the name, for ActionEvict; a member that failed the round
	// is the author.
	MemberID uint64
	Member   string     `wire:"member MaxText"`
	By       ChangeInfo `inline:"true" wire:"inline"`
}

// Peer is an epoch member.
type Peer struct {
	ID         uint64 // row id
	Name       string
	Attributes []byte // shared, must not be modified
	Candidate  bool
	SessionID  uint64
}

// MemberState is a member as others see it.
type MemberState struct {
	Peer
	Joined    field.Timestamp
	Of        bool   `name:"in_epoch"` // the member is in the epoch; otherwise it waits for the next epoch
	Prepared  uint64 // the last epoch the member has prepared for
	Completed uint64 // the last epoch with a completion handled by the member
	Unread    int    // unacknowledged items; 0 in a watch
}

// Fields implements field.Value.
func (m *MemberState) Fields(c field.Coder) {
	c.Text("name", &m.Name, MaxText)
	c.Number("session_id", &m.SessionID)
	c.Flag("candidate", &m.Candidate)
	c.Moment("joined", &m.Joined)
	c.Flag("in_epoch", &m.Of)
	c.Number("prepared", &m.Prepared)
	c.Number("completed", &m.Completed)
	c.Count("unread", &m.Unread)
	c.Bytes("attributes", &m.Attributes, MaxAttributes)
}

// Result is what a coordinator left when it completed a round, without the payload.
type Result struct {
	Epoch uint64
	Size  int `name:"size_bytes"` // payload size
	// At is the completion time, if the result was read from a description.
	At field.Timestamp `name:"time"`
}

// ResultRow is a Result with the payload, which some views omit: clients decode the payload.
type ResultRow struct {
	Result
	Payload []byte
}

// Fields implements field.Value.
func (r *ResultRow) Fields(c field.Coder) {
	c.Number("epoch", &r.Epoch)
	c.Moment("shard_time_ms", &r.At)
	c.Wall("wall_ms", &r.At)
	c.Count("payload_bytes", &r.Size)
	c.Bytes("payload", &r.Payload, MaxPayload)
}

// BlockReason is why a round is stalled.
type BlockReason struct {
	// Code is for programs, Text for people; Text includes all other fields, with member names.
	Code string `omit:"never" wire:"code MaxWord"`
	Text string `name:"message" omit:"never" wire:"text MaxReason"`
	// Blocked is set if neither time nor the present members can end the reason.
	Blocked bool
	Epoch   uint64
	// Exchange is the exchange that waits for replies, From the sender, or the coordinator.
	Exchange uint64
	From     uint64
	// Waiting is how many of Of members the reason waits for; Named are the first of them.
	Waiting int
	Of      int      `name:"total" wire:"total"`
	Named   []uint64 `name:"waiting_for" wire:"waiting_for MaxNamed"`
	Since   field.Timestamp
	// Left is the time after which the reason ends automatically; 0 if unknown.
	Left time.Duration `name:"remaining" wire:"until left"`
	// Late is set if the spec's reply timeout has passed.
	Late bool `name:"overdue"`
}

// Summary is a process in a list.
type Summary struct {
	Name       string `omit:"never"`
	Revision   uint64 `omit:"never"`
	Epoch      uint64
	Phase      Phase
	Members    int
	Prepared   int // how many epoch members are prepared
	LastResult uint64
	// Coordinator is the coordinating member's name, empty if there is none.
	Coordinator string
}

// SummaryRow is a Summary as hosts send it, with the start of the present phase.
type SummaryRow struct {
	Summary
	Since field.Timestamp
}

// Fields implements field.Value.
func (s *SummaryRow) Fields(c field.Coder) {
	c.Text("name", &s.Name, field.MaxName)
	c.Number("revision", &s.Revision)
	c.Number("epoch", &s.Epoch)
	field.Enum(c, "phase", &s.Phase, Phases)
	c.Count("members", &s.Members)
	c.Count("prepared", &s.Prepared)
	c.Number("last_result", &s.LastResult)
	c.Text("coordinator", &s.Coordinator, MaxText)
	c.Moment("since", &s.Since)
}
