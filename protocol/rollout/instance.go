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

// Requests with a Report have a separate field list in package protocol.

// Report is what an instance reports about itself.
type Report struct {
	Current    uint64 // the seq of the version in use, 0 for none
	Generation uint64 // generation of the target the other fields concern
	Status     Status `wire:"status Statuses"`
	Code       string `wire:"code MaxWord"` // error code, if the instance failed
	Text       string `name:"message" wire:"text MaxText"`
	Attempts   int
}

// Ticket is the open request to a source.
type Ticket struct {
	Number uint64 `wire:"ticket"`    // 0 if no request is open
	Source uint64 `wire:"source_id"` // the session's id as a source
	Opened Timestamp
}
