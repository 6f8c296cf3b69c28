package rollout

import (
	"time"

	"github.com/signalbox/signalbox/protocol/field"
)

// Version is a rollout version. The payload is shared and must not be modified.
type Version struct {
	Seq     uint64 `name:"version" omit:"never"`
	Payload []byte // if the reader asked for the payload
	Label   string
	By      ChangeInfo `inline:"true"`

	Published Timestamp
	// Withdrawn is set if the version is no longer assigned.
	Withdrawn    bool
	PayloadBytes int `name:"payload_size_bytes" omit:"never"`
	// AbandonedIn are the locations that abandoned the version.
	AbandonedIn []string
}

// Fields implements field.Value.
func (v *Version) Fields(c field.Coder) {
	c.Number("seq", &v.Seq)
	c.Moment("published", &v.Published)
	c.Wall("wall_ms", &v.Published)
	c.Flag("withdrawn", &v.Withdrawn)
	c.Count("payload_bytes", &v.PayloadBytes)
	c.Text("label", &v.Label, MaxText)
	v.By.Fields(c)
	c.Words("abandoned_in", &v.AbandonedIn, MaxLocations, MaxWord)
	c.Bytes("payload", &v.Payload, MaxPayload)
}

// Row is one target in a location's history.
type Row struct {
	Seq        uint64 `name:"version"`
	Generation uint64
	Assigned   Timestamp
	Reached    Timestamp
	Abandoned  Timestamp
	Cause      Cause
	// Waived is set if an operator declared the target as reached.
	Waived bool `name:"overridden"`
	// Note is who or what assigned the target, or abandoned it.
	Note string
}

// Fields implements field.Value.
func (r *Row) Fields(c field.Coder) {
	c.Number("seq", &r.Seq)
	c.Number("generation", &r.Generation)
	c.Moment("assigned", &r.Assigned)
	c.Moment("reached", &r.Reached)
	c.Moment("abandoned", &r.Abandoned)
	field.Enum(c, "cause", &r.Cause, Causes)
	c.Flag("waived", &r.Waived)
	c.Text("note", &r.Note, MaxText)
	c.Wall("assigned_wall_ms", &r.Assigned)
	c.Wall("reached_wall_ms", &r.Reached)
	c.Wall("abandoned_wall_ms", &r.Abandoned)
}

// ActionRecord is an action that was carried out.
type ActionRecord struct {
	Action
	ID uint64    `name:"id" omit:"zero"`
	At Timestamp `name:"time"`
}

// Fields implements field.Value.
func (a *ActionRecord) Fields(c field.Coder) {
	c.Number("id", &a.ID)
	c.Moment("shard_time_ms", &a.At)
	c.Wall("wall_ms", &a.At)
	c.Record("action", a.Action.Fields)
}

// Step is one dry run step: a location gets a version.
type Step struct {
	After    time.Duration `wire:"at_ms left"` // from now on
	Location string        `wire:"location MaxWord"`
	Seq      uint64        `name:"version"`
	Cause    Cause         `wire:"cause Causes"`
}

// Summary is a rollout in a list.
type Summary struct {
	Name      string `omit:"never" wire:"name field.MaxName"`
	Revision  uint64 `omit:"never"`
	Phase     Phase  `wire:"phase Phases"`
	Locations int
	// Reached is how many locations have reached their target, and have the newest version.
	Reached   int
	Instances int
	LastSeq   uint64 `name:"latest_version"` // the newest version
	Label     string `wire:"label MaxText"`  // the newest version's label
}
