package rollout

import "github.com/signalbox/signalbox/protocol/field"

// InstanceState is an instance as others see the instance.
type InstanceState struct {
	Instance
	SessionID uint64
	Leader    bool
	Report    Report
	// Since is from when status and generation are as the report says.
	Since Timestamp
	// Sent is the newest generation that the instance is known to have received, Received the moment.
	Sent     uint64
	Received Timestamp
}

// Fields implements field.Value. The view of a location's instances has the location in the name of the view.
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

// Report is what an instance says of itself.
type Report struct {
	Current    uint64 // the seq of the version in use, 0 for none
	Generation uint64 // of the target that the rest is about
	Status     Status
	Code       string // of the error if the instance failed
	Text       string `name:"message"`
	Attempts   int
}

// Fields implements field.Value, for views. Requests with a report have a listing of their own in package protocol.
func (r *Report) Fields(c field.Coder) {
	c.Number("current", &r.Current)
	c.Number("generation", &r.Generation)
	field.Enum(c, "status", &r.Status, Statuses)
	c.Text("code", &r.Code, MaxWord)
	c.Text("text", &r.Text, MaxText)
	c.Count("attempts", &r.Attempts)
}

// Ticket is the question that is open to a source.
type Ticket struct {
	Number uint64 // 0 if no question is open
	Source uint64 // the id under which the session has the role of a source
	Opened Timestamp
}

// Fields implements field.Value.
func (t *Ticket) Fields(c field.Coder) {
	c.Number("ticket", &t.Number)
	c.Number("source_id", &t.Source)
	c.Moment("opened", &t.Opened)
}
