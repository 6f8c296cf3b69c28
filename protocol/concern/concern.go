package concern

import (
	"slices"
	"strings"
	"time"

	"github.com/signalbox/signalbox/protocol/field"
)

// Concern is a trouble in the cluster, such as a blocked rollout, as the host that sees the trouble reports it.
type Concern struct {
	Kind     Kind `about:"a word for programs; docs/operating.md has all"`
	Severity Severity
	// Subject names the affected thing for people, such as "rollout web in /prod".
	Subject string `about:"what is not well, in words"`
	// About identifies the affected thing for programs. A page makes a link of the parts.
	About
	// Since is when the trouble began, by the clock of the host. If the beginning is unknown, Since is when the host
	// first saw the trouble.
	Since    time.Time `about:"when it began, or was first seen"`
	WaitsFor string    `about:"who or what is waited for"`
	Do       string    `about:"what to do, with the command where there is one"`
	Text     string    `about:"what is so, in words"`
	// More is how many further concerns of this kind the host has left out to keep its list short. Only the last
	// concern of a kind has the number.
	More int `about:"how many more of the kind the host has, which are left out"`
}

// About identifies the subject of a concern by its parts. A part without meaning for the kind is empty.
type About struct {
	Node   string   `about:"the path of a node"`
	Name   string   `about:"an object in the node"`
	Host   string   `about:"the name of a host"`
	Shards []string `about:"the ids of shards; 0 is the meta shard"`
}

// The limits of a host's list of concerns, and of the fields of a concern on the wire.
const (
	MaxConcerns = 200 // per host; the worst are kept
	MaxOfKind   = 20  // per kind and host
	MaxText     = 512 // bytes of Text and WaitsFor, of a kind, and of the name of a host
	maxShards   = 1024
	maxDigits   = 20   // of a shard id
	maxName     = 1024 // bytes of a node's path, and of an object's name
	maxSubject  = 4096 // bytes of Subject, with the names in it
	maxDo       = 8192 // bytes of Do: a remedy repeats the names
)

// New returns a concern of a kind. The table of kinds gives the severity, the subject and the remedy; text says what
// the host sees in this case.
func New(k Kind, about About, text string) Concern {
	row := k.Row()
	c := Concern{Kind: k, Severity: row.Severity, About: about, Text: text}
	c.Subject, c.Do = c.fill(row.Subject), c.fill(row.Do)
	return c
}

// fill replaces the placeholders in a text of the table, such as {node}, by the parts of About.
func (c *Concern) fill(text string) string {
	if len(c.Shards) == 1 {
		text = strings.Replace(text, ofShards, "shard {shards}", 1)
	}
	return strings.NewReplacer("{node}", c.Node, "{name}", c.Name, "{host}", c.Host, "{shards}", c.shardNames()).
		Replace(text)
}

// shardNames lists the shards for people. The meta shard, with id 0, is called meta.
func (c *Concern) shardNames() string {
	names := slices.Clone(c.Shards)
	if i := slices.Index(names, "0"); i >= 0 {
		names[i] = "meta"
	}
	return strings.Join(names, ", ")
}

// Key identifies the trouble. Concerns of two hosts have equal keys if both hosts report one trouble, so a merged list
// shows the trouble once.
func (c *Concern) Key() string {
	return strings.Join([]string{string(c.Kind), c.Node, c.Name, c.Host, strings.Join(c.Shards, " "), c.Subject},
		"\x00")
}

// Compare orders concerns for readers: the worst severity first, then by the order of Kinds, then by key.
func Compare(a, b Concern) int {
	if a.Severity != b.Severity {
		return int(b.Severity) - int(a.Severity)
	}
	if x, y := a.Kind.place(), b.Kind.place(); x != y {
		return x - y
	}
	return strings.Compare(a.Key(), b.Key())
}

// Fields implements field.Value.
func (c *Concern) Fields(to field.Coder) {
	to.Text("kind", (*string)(&c.Kind), MaxText)
	field.Enum(to, "severity", &c.Severity, severities)
	to.Text("subject", &c.Subject, maxSubject)
	to.Text("node", &c.Node, maxName)
	to.Text("name", &c.Name, maxName)
	to.Text("host", &c.Host, MaxText)
	to.Words("shards", &c.Shards, maxShards, maxDigits)
	field.Time(to, "since_ms", &c.Since)
	to.Text("waits_for", &c.WaitsFor, MaxText)
	to.Text("do", &c.Do, maxDo)
	to.Text("text", &c.Text, MaxText)
	to.Count("more", &c.More)
}

// Severity is how bad a concern is.
type Severity uint8

// The severities.
const (
	Note    Severity = 1 + iota // no fault, often an operator's choice, and worth knowing
	Warning                     // a further failure may stop the service, or a client waits
	Failure                     // a part of the service is down
	severities
)

var severityWords = []string{"severity 0", "note", "warning", "failure"}

// String returns the severity in a word.
func (s Severity) String() string { return field.Word(s, "severity", severityWords) }
