package rollout

import "github.com/signalbox/signalbox/protocol/field"

// InstanceState is an instance as others see it.
type InstanceState struct {
	Instance
	SessionID uint64
	Leader    bool
	Report    Report
	// Since is when the reported status and generation began.
	Since Timestamp
	// Sent is the newest generation the instance is known to have received, Received the time of receipt.
	Sent     uint64
	Received Timestamp
}

// Fields implements field.Value. In the view with a location's instances, the view name has the location.
func (i *InstanceState) Fields(c field.Coder) {
	c.Text("name", &i.Name, MaxText)
	c.Number("session_id", &i.SessionID)
	c.Flag("leader", &i.Leader)
	c.Record("report", i.Report.Fields)
	c.Moment("since", &i.Since)
	c.Number("sent", &i.Sent)
	c.Moment("received", &i.Received)
	c.Bytes("attributes", &i.Attributes, MaxAttributes)
}

// Report is what an instance reports about itself.
type Report struct {
	Current    uint64 // the seq of the version in use, 0 for none
	Generation uint64 // generation of the target the other fields concern
	Status     Status
	Code       string // error code, if the instance failed
	Text       string `name:"message"`
	Attempts   int
}

// Fields implements field.Value, for views. Requests with a report have a separate field list in package protocol.
func (r *Report) Fields(c field.Coder) {
	c.Number("current", &r.Current)
	c.Number("generation", &r.Generation)
	field.Enum(c, "status", &r.Status, Statuses)
	c.Text("code", &r.Code, MaxWord)
	c.Text("text", &r.Text, MaxText)
	c.Count("attempts", &r.Attempts)
}

// Ticket is the open request to a source.
type Ticket struct {
	Number uint64 // 0 if no request is open
	Source uint64 // the session's id as a source
	Opened Timestamp
}

// Fields implements field.Value.
func (t *Ticket) Fields(c field.Coder) {
	c.Number("ticket", &t.Number)
	c.Number("source_id", &t.Source)
	c.Moment("opened", &t.Opened)
}
