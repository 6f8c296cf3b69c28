package process

import (
	"time"

	"github.com/signalbox/signalbox/protocol/field"
)

// Overview is what a view of a whole process shows beside the rows.
type Overview struct {
	Spec         Spec
	SpecRevision uint64 // of the latest change of the spec
	Epoch        uint64 // the last epoch that opened, 0 before the first
	Phase        Phase
	Since        field.Timestamp // from which the phase is this
	Opened       field.Timestamp // when the epoch opened
	// Opening reports whether the next epoch is due, and Opens is how long that epoch still waits.
	Opening bool
	Opens   time.Duration `name:"opens_in"`
	// Coordinator is the id of the member that coordinates the epoch; the member may have left.
	Coordinator uint64
	// Members is how many members the process has, Of how many members the epoch has, or had.
	Members    int
	Of         int          `name:"epoch_members"`
	LastResult uint64       // the last epoch that was completed
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
	ID    uint64          `name:"id"` // of the row, if the action was read from the list of actions
	Kind  ActionKind      `name:"action"`
	At    field.Timestamp `name:"time"`
	Epoch uint64          // the last epoch that had opened
	// MemberID is of ActionEvict and ActionFailed. Member is of ActionEvict: the name; a member that gave up is the
	// author.
	MemberID uint64
	Member   string
	By       ChangeInfo `inline:"true"`
}

// Fields implements field.Value.
func (a *ActionRecord) Fields(c field.Coder) {
	field.Enum(c, "action", &a.Kind, ActionKinds)
	c.Moment("shard_time_ms", &a.At)
	c.Wall("wall_ms", &a.At)
	c.Number("epoch", &a.Epoch)
	c.Number("member_id", &a.MemberID)
	c.Text("member", &a.Member, MaxText)
	a.By.Fields(c)
}

// Peer is a member of an epoch.
type Peer struct {
	ID         uint64 // of the row
	Name       string
	Attributes []byte // shared, and must not be changed
	Candidate  bool
	SessionID  uint64
}

// MemberState is a member as others see the member.
type MemberState struct {
	Peer
	Joined    field.Timestamp
	Of        bool   `name:"in_epoch"` // the member is of the epoch; if not, the member waits for the next epoch
	Prepared  uint64 // the last epoch for which the member is prepared
	Completed uint64 // the last epoch whose completion the member has handled
	Unread    int    // items that the member has not acknowledged; 0 in a watch
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

// Result is what a coordinator left when the coordinator completed a round, without the payload.
type Result struct {
	Epoch uint64
	Size  int `name:"size_bytes"` // of the payload
	// At is when, if the result was read from a description.
	At field.Timestamp `name:"time"`
}

// ResultRow is a Result with the payload, which some views leave out: clients decode the payload.
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

// BlockReason is why a round does not move.
type BlockReason struct {
	// Code is for programs, Text for people; Text says all of the rest, with the names of members.
	Code string
	Text string `name:"message"`
	// Blocked: neither time nor the present members can end the reason.
	Blocked bool
	Epoch   uint64
	// Exchange is the exchange that waits for replies, From the sender, or the coordinator.
	Exchange uint64
	From     uint64
	// Waiting of Of members are waited for; Named are the first of the Waiting.
	Waiting int
	Of      int      `name:"total"`
	Named   []uint64 `name:"waiting_for"`
	Since   field.Timestamp
	// Left is after which time the reason ends by itself; 0 is not known.
	Left time.Duration `name:"remaining"`
	// Late: the reply timeout of the spec has passed.
	Late bool `name:"overdue"`
}

// Fields implements field.Value.
func (r *BlockReason) Fields(c field.Coder) {
	c.Text("code", &r.Code, MaxWord)
	c.Text("text", &r.Text, MaxReason)
	c.Flag("blocked", &r.Blocked)
	c.Number("epoch", &r.Epoch)
	c.Number("exchange", &r.Exchange)
	c.Number("from", &r.From)
	c.Count("waiting", &r.Waiting)
	c.Count("total", &r.Of)
	c.Numbers("waiting_for", &r.Named, MaxNamed)
	c.Moment("since", &r.Since)
	c.Left("until", &r.Left)
	c.Flag("late", &r.Late)
}

// Summary is a process in a list.
type Summary struct {
	Name       string
	Revision   uint64
	Epoch      uint64
	Phase      Phase
	Members    int
	Prepared   int // how many members of the epoch are prepared
	LastResult uint64
	// Coordinator is the name of the member that coordinates, empty if no member does.
	Coordinator string
}

// SummaryRow is a Summary as hosts say the summary, with the moment from which the phase is this.
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
