package host

import (
	"encoding/hex"
	"time"

	"github.com/signalbox/signalbox/protocol/field"
)

// The limits of texts about hosts, in bytes, and of labels. Every replica must agree on the limits, so the limits are
// constants.
const (
	MaxName        = 256
	MaxAddress     = 512
	MaxVersion     = 64
	MaxText        = 256 // of a text for people, an author, a reason
	MaxWord        = 64  // of a word for programs, the id of a join token
	MaxSubject     = 128 // of the subject of a step
	MaxLong        = 4096
	MaxLabels      = 8  // labels of a failure domain
	MaxLabel       = 64 // of a key or a value of a label
	MaxDomain      = 1040
	maxIncarnation = 16
)

// State says whether a host takes part in its cluster.
type State uint8

// The states of hosts.
const (
	Unknown  State = iota // the host that answers does not know
	Online                // the host serves
	Offline               // the host does not serve, and is expected back
	Expelled              // the host has left for ever
	States                // the number of states
)

// stateWords are in capitals, as in the history of a cluster, which every replica writes.
var stateWords = []string{"UNKNOWN", "ONLINE", "OFFLINE", "EXPELLED"}

// String returns the state in a word.
func (s State) String() string { return field.Word(s, "HOST_STATE", stateWords) }

// Host is a host as the cluster has it on record, and as the governor sees the host.
type Host struct {
	ID          uint64
	Name        string
	Incarnation string // of the data directory, 32 hexadecimal digits
	Starts      uint64 `name:"start_count"` // how often the process was started on the directory
	// RaftAddress is for other hosts. AdminAddress may be empty.
	RaftAddress, ClientAddress, AdminAddress string
	Domain                                   Domain // the failure domain
	Version                                  string
	// the highest feature level that the host can follow
	Level int `name:"supported_feature_level"`
	// Target is the state that the host should reach. Current is the state that the governor has brought the host to.
	Current, Target Standing
	Cordoned        bool
	// Weight is the host's share of the replicas of data shards, beside the weights of other hosts, where a data shard
	// has replicas on a part of the hosts. A host of the weight 0 has none of the replicas.
	Weight   int
	Replaces uint64 // the host that this host took the place of, 0 for none
	// The governor observes the fields that follow. SilentFor is the time since the host was heard. StuckFor is for how
	// long the host has taken nothing of the meta shard though there was something to take. Fresh is for how long the
	// host has confirmed without a gap that the host is up to date, 0 for a host without such a confirmation.
	Alive     bool
	SilentFor time.Duration `name:"last_contact"`
	StuckFor  time.Duration `name:"stalled"`
	Fresh     time.Duration `name:"up_to_date_for"`
	// Returns is the time after which a host that was taken for failed may be online again. The time doubles with each
	// failure in a row, up to ten minutes. A host that is started again does not wait.
	Returns time.Duration `name:"rejoin_in"`
}

// Fields implements field.Value.
func (h *Host) Fields(c field.Coder) {
	c.Number("id", &h.ID)
	c.Text("name", &h.Name, MaxName)
	digits(c, "incarnation", &h.Incarnation)
	c.Number("starts", &h.Starts)
	c.Record("addresses", func(c field.Coder) {
		c.Text("raft", &h.RaftAddress, MaxAddress)
		c.Text("client", &h.ClientAddress, MaxAddress)
		c.Text("admin", &h.AdminAddress, MaxAddress)
	})
	h.Domain.Fields(c)
	c.Text("version", &h.Version, MaxVersion)
	c.Count("level", &h.Level)
	c.Record("current", h.Current.Fields)
	c.Record("target", h.Target.Fields)
	c.Flag("cordoned", &h.Cordoned)
	c.Number("replaces", &h.Replaces)
	c.Millis("returns_ms", &h.Returns)
	c.Record("observed", func(c field.Coder) {
		c.Flag("alive", &h.Alive)
		c.Millis("silent_ms", &h.SilentFor)
		c.Millis("stalled_ms", &h.StuckFor)
		c.Millis("fresh_ms", &h.Fresh)
	})
	c.Count("weight", &h.Weight)
}

// AtTarget reports whether the governor has brought the host to its target.
func (h *Host) AtTarget() bool {
	return h.Current.State == h.Target.State && h.Current.Epoch == h.Target.Epoch
}

// digits are bytes that people see as hexadecimal digits.
func digits(c field.Coder, name string, v *string) {
	b, _ := hex.DecodeString(*v)
	if c.Bytes(name, &b, maxIncarnation); c.Reading() {
		*v = hex.EncodeToString(b)
	}
}

// Standing is a state of a host, and how the host came to the state.
type Standing struct {
	State  State
	Reason string        // a word, such as "drained"
	Text   string        `name:"message"`
	Author string        `name:"author"` // who asked for the state, as long as the history has the request
	Since  time.Duration `name:"age"`    // for how long the host has had the state
	// Epoch counts how often the host was to be online. Two standings of one state and different epochs differ: the
	// governor has not brought the host to its target.
	Epoch uint64
}

// Fields implements field.Value.
func (s *Standing) Fields(c field.Coder) {
	field.Enum(c, "state", &s.State, States)
	c.Number("epoch", &s.Epoch)
	c.Text("reason", &s.Reason, MaxWord)
	c.Text("text", &s.Text, MaxText)
	c.Text("author", &s.Author, MaxText)
	c.Millis("age_ms", &s.Since)
}

// JoinToken lets one host join the cluster. The secret is not included: the client that makes a token generates the
// secret, and hosts get only the hash.
type JoinToken struct {
	ID     string
	Left   time.Duration `name:"expires_in"` // for how long the token is good
	Author string        `name:"author"`     // who made the token
	Used   string        // the incarnation of the host that has joined by the token, empty for none
}

// Fields implements field.Value.
func (t *JoinToken) Fields(c field.Coder) {
	c.Text("id", &t.ID, MaxWord)
	c.Millis("left_ms", &t.Left)
	c.Text("author", &t.Author, MaxText)
	digits(c, "used", &t.Used)
}

// Entry is a change in the history of the cluster.
type Entry struct {
	ID       uint64    `name:"id"`
	Event    string    // a word, such as "host-target"
	Host     uint64    // 0 for none
	HostName string    // the name at the time of the change
	Text     string    `name:"message"`
	Author   string    `name:"author"` // an operator, a host, or the governor
	Reason   string    `name:"reason"`
	At       time.Time `name:"time"` // by the clock of the host that proposed the change
}

// Fields implements field.Value.
func (e *Entry) Fields(c field.Coder) {
	c.Number("id", &e.ID)
	c.Text("event", &e.Event, MaxWord)
	c.Number("host_id", &e.Host)
	c.Text("host_name", &e.HostName, MaxName)
	c.Text("text", &e.Text, MaxText)
	c.Text("author", &e.Author, MaxText)
	c.Text("reason", &e.Reason, MaxText)
	field.Time(c, "wall_ms", &e.At)
}
