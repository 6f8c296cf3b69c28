package host

import (
	"encoding/hex"
	"time"

	"github.com/signalbox/signalbox/protocol/field"
)

// Limits on texts about hosts, in bytes, and on labels. The limits are constants because every replica must agree on
// them.
const (
	MaxName        = 256
	MaxAddress     = 512
	MaxVersion     = 64
	MaxText        = 256 // text for people, author, reason
	MaxWord        = 64  // word for programs, join token id
	MaxSubject     = 128 // step subject
	MaxLong        = 4096
	MaxLabels      = 8  // labels in a failure domain
	MaxLabel       = 64 // label key or value
	MaxDomain      = 1040
	MaxSlotMoves   = 256 // moves on a page of slots
	maxIncarnation = 16
)

// State is whether a host takes part in its cluster.
type State uint8

// The host states.
const (
	Unknown  State = iota // unknown to the answering host
	Online                // the host serves
	Offline               // the host does not serve, but should come back
	Expelled              // the host has left permanently
	States                // the number of states
)

// stateWords are in capitals, as in a cluster's audit log, which every replica writes.
var stateWords = []string{"UNKNOWN", "ONLINE", "OFFLINE", "EXPELLED"}

// String returns the state as a word.
func (s State) String() string { return field.Word(s, "HOST_STATE", stateWords) }

// Host is a host as recorded by the cluster, and as observed by the governor.
type Host struct {
	ID          uint64
	Name        string `omit:"never"`
	Incarnation string // data directory incarnation, 32 hexadecimal digits
	Starts      uint64 `name:"start_count"` // how often the process was started on the directory
	// RaftAddress is for other hosts. AdminAddress may be empty.
	RaftAddress, ClientAddress, AdminAddress string
	Domain                                   Domain // the failure domain
	Version                                  string
	// the highest feature level the host supports
	Level int `name:"supported_feature_level"`
	// Target is the state the host should reach. Current is the state to which the governor has brought the host.
	Current, Target Standing
	Cordoned        bool
	// Weight is the host's share of data shard replicas, relative to other hosts' weights, if data shards have replicas
	// on only some hosts. A host with weight 0 has no such replicas.
	Weight   int
	Replaces uint64 // the host this host replaced, 0 for none
	// The following fields are governor observations. SilentFor is the time since the last contact. StuckFor is how
	// long the host has not accepted any meta shard entry although there were some. Fresh is how long the host has
	// confirmed, without a gap, that it is up to date, 0 without such a confirmation.
	Alive     bool
	SilentFor time.Duration `name:"last_contact"`
	StuckFor  time.Duration `name:"stalled"`
	Fresh     time.Duration `name:"up_to_date_for"`
	// SlowFor is for how long the host has counted as slow, 0 for a host that is not slow. A slow host leads no shards.
	// Slow says in which figures the host is slow.
	SlowFor time.Duration
	Slow    string `name:"slow_reason"`
	// The host measures the figures that follow: the usual times of the last seconds of a log sync, by which a timer
	// fires late, and until enough other hosts have answered to make a majority; 0 if unknown. Stalls counts the
	// seconds of the last two minutes in which the disk or the process stood still.
	SyncTime  time.Duration `name:"sync_time"`
	TimerLag  time.Duration `name:"timer_delay"`
	RoundTrip time.Duration `name:"round_trip"`
	Stalls    int           `name:"stall_count"`
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
		c.Millis("slow_ms", &h.SlowFor)
		c.Text("slow", &h.Slow, MaxText)
		micros(c, "sync_us", &h.SyncTime)
		micros(c, "timer_us", &h.TimerLag)
		micros(c, "round_us", &h.RoundTrip)
		c.Count("stalls", &h.Stalls)
	})
	c.Count("weight", &h.Weight)
}

// micros is a time of microseconds.
func micros(c field.Coder, name string, d *time.Duration) {
	n := uint64(max(d.Microseconds(), 0))
	if c.Number(name, &n); c.Reading() {
		*d = time.Duration(min(n, 1<<53)) * time.Microsecond
	}
}

// AtTarget reports whether the governor has brought the host to its target.
func (h *Host) AtTarget() bool {
	return h.Current.State == h.Target.State && h.Current.Epoch == h.Target.Epoch
}

// digits are bytes shown to people as hexadecimal digits.
func digits(c field.Coder, name string, v *string) {
	b, _ := hex.DecodeString(*v)
	if c.Bytes(name, &b, maxIncarnation); c.Reading() {
		*v = hex.EncodeToString(b)
	}
}

// Standing is a host's state, with its cause.
type Standing struct {
	State  State
	Reason string        // a word, such as "drained"
	Text   string        `name:"message"`
	Author string        `name:"author"` // who requested the state, while the audit log has the request
	Since  time.Duration `name:"age"`    // how long the host has had the state
	// Epoch counts how often the host had the target Online. Two standings with equal states and different epochs
	// differ: the governor has not brought the host to its target yet.
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

// JoinToken lets one host join the cluster. The secret is not included: the client that creates a token generates the
// secret, and hosts get only its hash.
type JoinToken struct {
	ID     string        `omit:"never"`
	Left   time.Duration `name:"expires_in"` // how long the token is still valid
	Author string        `name:"author"`     // who created the token
	Used   string        // the incarnation of the host that joined with the token, empty for none
}

// Fields implements field.Value.
func (t *JoinToken) Fields(c field.Coder) {
	c.Text("id", &t.ID, MaxWord)
	c.Millis("left_ms", &t.Left)
	c.Text("author", &t.Author, MaxText)
	digits(c, "used", &t.Used)
}

// Entry is an audit log entry.
type Entry struct {
	ID       uint64    `name:"id"`
	Event    string    `omit:"never" wire:"event MaxWord"` // a word, such as "host-target"
	Host     uint64    `wire:"host_id"`                    // 0 for none
	HostName string    `wire:"host_name MaxName"`          // the host's name at that time
	Text     string    `name:"message" wire:"text MaxText"`
	Author   string    `name:"author" wire:"author MaxText"` // an operator, a host, or the governor
	Reason   string    `name:"reason" wire:"reason MaxText"`
	At       time.Time `name:"time" omit:"never" wire:"wall_ms"` // by the proposing host's clock
}
