package host

import (
	"time"

	"github.com/signalbox/signalbox/protocol/field"
)

// Shard is a shard with its replicas. The meta shard has id 0.
type Shard struct {
	ID       uint64
	Change   uint64 `name:"config_change_index"` // numbers the membership
	Leader   uint64 // the leader's host id, 0 if unknown
	Replicas []Replica
	// Led is how long the leader has led, Reported the time since the leader's last report.
	Led      time.Duration `name:"leader_age"`
	Reported time.Duration `name:"report_age"`
	// PreferredLeader is the host an operator wants to lead, 0 for none. The governor keeps trying for the time in the
	// next field.
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

// Maximum replicas per shard, and maximum failure domain labels per shard.
const maxReplicas, maxLosses = 256, 64 * MaxLabels

// Role is a replica's role in its shard, by the last membership read.
type Role uint8

// The replica roles.
const (
	None    Role = iota // the replica has an id, but was never seen in a membership
	Learner             // the replica gets the log and does not vote
	Voter
	Removed // the replica was a member, and its host has not deleted the data
	Roles   // the number of roles
)

var roleWords = []string{"none", "learner", "voter", "removed"}

// String returns the role as a word.
func (r Role) String() string { return field.Word(r, "replica role", roleWords) }

// Replica is a shard replica.
type Replica struct {
	ID    uint64
	Host  uint64        `wire:"host_id"` // 0 if the replica has no record
	Role  Role          `wire:"role Roles"`
	Since time.Duration `name:"age" wire:"age_ms"` // how long the replica has had the role
	// Observed is set if the shard's leader has reported the following fields. Index is the last entry the replica has
	// acknowledged. Behind is the time since the leader had no more entries than that.
	Observed bool
	Index    uint64
	Behind   time.Duration
	// SnapshotPercent is how much of a snapshot the replica has received, SnapshotRate the speed in bytes per second; 0
	// unless a snapshot is being sent.
	SnapshotPercent int
	SnapshotRate    uint64 `name:"snapshot_bytes_per_second"`
}

// Redundancy is how many failures a shard tolerates, as observed by the governor.
type Redundancy struct {
	// Wanted is how many replicas should vote, Voters how many do.
	Wanted int `name:"voters_desired"`
	Voters int
	Live   int `name:"voters_live"` // voters on hosts in contact
	// Tolerated is how many more voters may fail, -1 if too few are left already.
	Tolerated int `name:"failure_tolerance"`
	Domains   []DomainLoss
}

// Fields implements field.Value. On the wire the sign is a separate flag, because numbers there are not negative.
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

// DomainLoss reports whether a shard survives the loss of all hosts that share a failure domain label.
type DomainLoss struct {
	Label     string `wire:"label MaxDomain"` // such as "dc=a"
	Live      int    `name:"voters_live"`     // voters with the label on hosts in contact
	Tolerated bool
}
