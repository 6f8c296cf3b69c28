package health

import (
	"slices"
	"strings"
	"time"

	"github.com/signalbox/signalbox/protocol/field"
)

// Issue is a health issue in the cluster, such as a blocked rollout, as reported by the host that sees it.
type Issue struct {
	Kind     Kind `omit:"never" about:"Kind for programs; docs/guides/monitoring.md lists all kinds"`
	Severity Severity
	// Subject names the affected thing for people, such as "rollout web in /prod".
	Subject string `omit:"never" about:"Subject, as text"`
	// About identifies the affected object for programs. Web pages use the parts to build a link.
	About
	// Since is when the issue began, by the host's clock. If the beginning is unknown, Since is when the host first saw
	// the issue.
	Since    time.Time `about:"Time when the issue began, or was first observed"`
	WaitsFor string    `name:"waiting_for" about:"Cause of the wait"`
	Do       string    `name:"hint" about:"Remedy, with a command if possible"`
	Text     string    `omit:"never" name:"message" about:"Description"`
	// More is how many further issues of this kind the host has left out to keep its list short. Only a kind's last
	// issue has the number.
	More int `name:"omitted" about:"Number of further issues of the kind, omitted by the host"`
}

// About identifies an issue's subject by its parts. A part that is meaningless for the kind is empty.
type About struct {
	Node   string   `about:"Node path"`
	Name   string   `about:"Object name in the node"`
	Host   string   `about:"Host name"`
	Shards []string `about:"Shard ids. 0 is the meta shard"`
}

// Limits on a host's issue list, and on an issue's fields on the wire.
const (
	MaxIssues  = 200 // per host; the worst are kept
	MaxOfKind  = 20  // per kind and host
	MaxText    = 512 // Text and WaitsFor, a kind, and a host name, in bytes
	maxShards  = 1024
	maxDigits  = 20   // shard id
	maxName    = 1024 // node path, and object name, in bytes
	maxSubject = 4096 // Subject, including names, in bytes
	maxDo      = 8192 // Do, in bytes: a remedy repeats the names
)

// New returns an issue of a kind. The kind table gives the severity, the subject and the remedy; text describes this
// case.
func New(k Kind, about About, text string) Issue {
	row := k.Row()
	c := Issue{Kind: k, Severity: row.Severity, About: about, Text: text}
	c.Subject, c.Do = c.fill(row.Subject), c.fill(row.Do)
	return c
}

// fill replaces the placeholders in a table text, such as {node}, by the parts in About.
func (i *Issue) fill(text string) string {
	if len(i.Shards) == 1 {
		text = strings.Replace(text, ofShards, "shard {shards}", 1)
	}
	return strings.NewReplacer("{node}", i.Node, "{name}", i.Name, "{host}", i.Host, "{shards}", i.shardNames()).
		Replace(text)
}

// shardNames lists the shards for people. Shard 0 is called meta.
func (i *Issue) shardNames() string {
	names := slices.Clone(i.Shards)
	if i := slices.Index(names, "0"); i >= 0 {
		names[i] = "meta"
	}
	return strings.Join(names, ", ")
}

// Key identifies the issue. Issues from two hosts have equal keys if both hosts report the same problem, so a merged
// list shows the problem once.
func (i *Issue) Key() string {
	return strings.Join([]string{string(i.Kind), i.Node, i.Name, i.Host, strings.Join(i.Shards, " "), i.Subject},
		"\x00")
}

// Compare sorts issues for readers: worst severity first, then by the order of Kinds, then by key.
func Compare(a, b Issue) int {
	if a.Severity != b.Severity {
		return int(b.Severity) - int(a.Severity)
	}
	if x, y := a.Kind.place(), b.Kind.place(); x != y {
		return x - y
	}
	return strings.Compare(a.Key(), b.Key())
}

// Fields implements field.Value.
func (i *Issue) Fields(to field.Coder) {
	to.Text("kind", (*string)(&i.Kind), MaxText)
	field.Enum(to, "severity", &i.Severity, severities)
	to.Text("subject", &i.Subject, maxSubject)
	to.Text("node", &i.Node, maxName)
	to.Text("name", &i.Name, maxName)
	to.Text("host", &i.Host, MaxText)
	to.Words("shards", &i.Shards, maxShards, maxDigits)
	field.Time(to, "since_ms", &i.Since)
	to.Text("waits_for", &i.WaitsFor, MaxText)
	to.Text("do", &i.Do, maxDo)
	to.Text("text", &i.Text, MaxText)
	to.Count("more", &i.More)
}

// Severity is how bad an issue is.
type Severity uint8

// The severities.
const (
	Info     Severity = 1 + iota // not a fault, often an operator's choice, but worth knowing
	Warning                      // a further failure may stop the service, or a client waits
	Critical                     // part of the service is down
	severities
)

var severityWords = []string{"severity 0", "info", "warning", "critical"}

// String returns the severity as a word.
func (s Severity) String() string { return field.Word(s, "severity", severityWords) }
