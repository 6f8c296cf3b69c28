package host

import (
	"time"

	"github.com/signalbox/signalbox/protocol/field"
)

// Shard is a shard with its replicas. The meta shard has the id 0.
type Shard struct {
	ID       uint64
	Change   uint64 `name:"config_change_index"` // numbers the membership
	Leader   uint64 // the id of its host, 0 if unknown
	Replicas []Replica
	// Led is for how long the leader has led, Reported the time since the leader reported so.
	Led      time.Duration `name:"leader_age"`
	Reported time.Duration `name:"report_age"`
	// Wish is the host that an operator wants to lead, 0 for none. The governor tries for the time WishFor from now on.
	PreferredLeader    uint64        `name:"preferred_leader"`
	PreferredLeaderFor time.Duration `name:"preferred_leader_expires_in"`
	Redundancy
}

// Fields implements field.Value.
func (s *Shard) Fields(c field.Coder) {
	c.Number("id", &s.ID)
	c.Number("change", &s.Change)
	field.List(c, "replicas", &s.Replicas, maxReplicas, (*Replica).Fields)
	c.Number("leader_host_id", &s.Leader)
	c.Millis("led_ms", &s.Led)
	c.Millis("report_ms", &s.Reported)
	c.Record("redundancy", s.Redundancy.Fields)
	c.Number("preferred_leader_host_id", &s.PreferredLeader)
	c.Millis("preferred_leader_ms", &s.PreferredLeaderFor)
}

// The most replicas of a shard, and the most labels of failure domains of a shard.
const maxReplicas, maxLosses = 256, 64 * MaxLabels

// Role is what a replica is in its shard, by the membership that was last read.
type Role uint8

// The roles of replicas.
const (
	None    Role = iota // the replica has an id, and was never seen in a membership
	Learner             // the replica gets the log and does not vote
	Voter
	Removed // the replica was a member, and its host has not cleared the data
	Roles   // the number of roles
)

var roleWords = []string{"none", "learner", "voter", "removed"}

// String returns the role in a word.
func (r Role) String() string { return field.Word(r, "replica role", roleWords) }

// Replica is a replica of a shard.
type Replica struct {
	ID    uint64
	Host  uint64 // 0 for a replica without a record
	Role  Role
	Since time.Duration `name:"age"` // for how long the replica has had the role
	// Observed: the leader of the shard has reported the fields that follow. Index is the last entry that the replica
	// has acknowledged. Behind is the time since the leader had no more entries.
	Observed bool
	Index    uint64
	Behind   time.Duration
	// SnapshotPercent is how much of a snapshot the replica has received, SnapshotRate the speed in bytes a second; 0
	// if no snapshot is on its way.
	SnapshotPercent int
	SnapshotRate    uint64 `name:"snapshot_bytes_per_second"`
}

// Fields implements field.Value.
func (r *Replica) Fields(c field.Coder) {
	c.Number("id", &r.ID)
	c.Number("host_id", &r.Host)
	field.Enum(c, "role", &r.Role, Roles)
	c.Millis("age_ms", &r.Since)
	c.Flag("observed", &r.Observed)
	c.Number("index", &r.Index)
	c.Millis("behind_ms", &r.Behind)
	c.Count("snapshot_percent", &r.SnapshotPercent)
	c.Number("snapshot_rate", &r.SnapshotRate)
}

// Redundancy is what a shard can lose and go on. The governor observes the redundancy.
type Redundancy struct {
	// Wanted is how many replicas should vote, Voters how many do.
	Wanted int `name:"voters_desired"`
	Voters int
	Live   int `name:"voters_live"` // voters with hosts that are heard
	// Tolerated is how many more voters may fail, -1 if too few are left already.
	Tolerated int `name:"failure_tolerance"`
	Domains   []DomainLoss
}

// Fields implements field.Value. On the wire the sign is a flag, because numbers there are not negative.
func (r *Redundancy) Fields(c field.Coder) {
	tolerated, lost := r.Tolerated, r.Tolerated < 0
	if lost {
		tolerated = ^tolerated
	}
	c.Count("wanted", &r.Wanted)
	c.Count("voters", &r.Voters)
	c.Count("live", &r.Live)
	c.Count("tolerated", &tolerated)
	if c.Flag("lost", &lost); c.Reading() {
		if r.Tolerated = tolerated; lost {
			r.Tolerated = ^tolerated
		}
	}
	field.List(c, "domains", &r.Domains, maxLosses, (*DomainLoss).Fields)
}

// DomainLoss says whether a shard goes on without all hosts that share a label of their failure domains.
type DomainLoss struct {
	Label     string // such as "dc=a"
	Live      int    `name:"voters_live"` // voters with the label and with hosts that are heard
	Tolerated bool
}

// Fields implements field.Value.
func (l *DomainLoss) Fields(c field.Coder) {
	c.Text("label", &l.Label, MaxDomain)
	c.Count("live", &l.Live)
	c.Flag("tolerated", &l.Tolerated)
}
