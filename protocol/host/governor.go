package host

import (
	"time"

	"github.com/signalbox/signalbox/protocol/field"
)

// Step is a governor step, open or next to begin.
type Step struct {
	ID      uint64        // 0 if the step is not open
	Kind    string        // a word, such as "promote"
	Text    string        `name:"message"` // the whole step in words
	Rule    string        // the rule that wants the step; unknown for an open step
	Subject string        // the governor begins no other step on the subject meanwhile
	Shard   uint64        `omit:"zero"` // 0 for the meta shard, and for a step that is about no shard
	Host    uint64        // 0 for none
	In      time.Duration `name:"starts_in"` // time until the step would begin
	// The following fields are for open steps. Age is how long the step has been open, Failures how often it has
	// failed, LastError the latest error, and Wait the time until the next attempt.
	Age       time.Duration
	Failures  int
	LastError string
	Wait      time.Duration `name:"retry_in"`
}

// Fields implements field.Value.
func (s *Step) Fields(c field.Coder) {
	c.Number("id", &s.ID)
	c.Text("kind", &s.Kind, MaxWord)
	c.Text("text", &s.Text, MaxLong)
	c.Text("rule", &s.Rule, MaxWord)
	c.Text("subject", &s.Subject, MaxSubject)
	c.Number("shard_id", &s.Shard)
	c.Number("host_id", &s.Host)
	c.Millis("in_ms", &s.In)
	c.Millis("age_ms", &s.Age)
	c.Count("failures", &s.Failures)
	c.Text("last_error", &s.LastError, MaxText)
	c.Millis("wait_ms", &s.Wait)
}

// Reason is why the governor does not act.
type Reason struct {
	Code     string // for programs
	Text     string `name:"message"` // for people; the text includes everything in the other fields
	Rule     string
	Subjects []string // such as "shard/3", "host/2"
	// Since is how long the reason has held, Left the time until it ends automatically; 0 if unknown.
	Since time.Duration `name:"age"`
	Left  time.Duration `name:"remaining"`
}

// Fields implements field.Value.
func (r *Reason) Fields(c field.Coder) {
	c.Text("code", &r.Code, MaxWord)
	c.Text("text", &r.Text, MaxLong)
	c.Text("rule", &r.Rule, MaxWord)
	c.Words("subjects", &r.Subjects, maxSubjects, MaxSubject)
	c.Millis("age_ms", &r.Since)
	c.Millis("left_ms", &r.Left)
}

const maxSubjects = 64 // per reason
