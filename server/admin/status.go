package admin

import (
	"io"
	"time"
)

// Host provides the data for the pages. Its methods must be safe for concurrent use from the time the server listens,
// including during host start and stop.
type Host interface {
	// Checks returns the readiness conditions, and advisory conditions.
	Checks() []Check
	// Status returns the host's current state.
	Status() Status
	// Cluster returns the host's view of all hosts. The error explains why no view is available yet.
	Cluster() (Cluster, error)
	// WriteMetrics writes all host metrics.
	WriteMetrics(w io.Writer)
}

// Check is one check result.
type Check struct {
	Name string
	// Err is the failure, nil if the check passed.
	Err error
	// Advisory checks do not affect readiness, even if Err is set.
	Advisory bool
}

// Status is the page /status. Later versions may add fields, but never remove or redefine a field.
type Status struct {
	Host    HostStatus    `json:"host"`
	Cluster ClusterStatus `json:"cluster"`
	// Ready is the readiness; NotReady is the reason if the host is not ready.
	Ready    bool   `json:"ready"`
	NotReady string `json:"not_ready,omitempty"`
	// Fresh reports whether the host has recently confirmed its leadership of every shard it believes to lead. Absent
	// if unknown.
	Fresh       *bool         `json:"leadership_confirmed,omitempty"`
	Connections Connections   `json:"connections"`
	Disk        *Disk         `json:"disk,omitempty"`
	Memory      *Memory       `json:"memory,omitempty"`
	Shards      []ShardStatus `json:"shards"`
}

// HostStatus is the host's identity and addresses.
type HostStatus struct {
	ID      uint64 `json:"id"`
	Name    string `json:"name"`
	Version string `json:"version"`
	// NewestLevel is the highest feature level the host supports.
	NewestLevel int `json:"supported_feature_level,omitempty"`
	// UptimeSeconds is the time since the process began host start.
	UptimeSeconds float64   `json:"uptime_seconds"`
	Started       time.Time `json:"started"`
	ClientAddress string    `json:"client_address"`
	RaftAddress   string    `json:"raft_address"`
	AdminAddress  string    `json:"admin_address,omitempty"`
	DataDir       string    `json:"data_dir"`
	// Incarnation identifies the data directory. Starts counts the host's starts with the directory.
	Incarnation string `json:"incarnation,omitempty"`
	Starts      uint64 `json:"start_count"`
}

// ClusterStatus is the host's view of its cluster.
type ClusterStatus struct {
	ID string `json:"id"`
	// RoutingVersion is the slot table version known to the host.
	RoutingVersion uint64 `json:"routing_version,omitempty"`
	// Generation counts cluster restores and recoveries.
	Generation uint64 `json:"generation,omitempty"`
	// FeatureLevel is the level supported by all hosts in the cluster. LevelHeldBy names the hosts that keep the
	// level from rising.
	FeatureLevel int          `json:"feature_level,omitempty"`
	LevelHeldBy  string       `json:"feature_level_held_by,omitempty"`
	Hosts        []HostRecord `json:"hosts"`
	// Tolerated and HealthIssues are the same as on the page /cluster, which has more detail.
	Tolerated    *int          `json:"failure_tolerance,omitempty"`
	HealthIssues []HealthIssue `json:"health_issues,omitempty"`
}

// HostRecord is a host in the cluster.
type HostRecord struct {
	ID   uint64 `json:"id"`
	Name string `json:"name"`
	// ClientAddress, AdminAddress and Version are empty until the host has reported them.
	ClientAddress string `json:"client_address,omitempty"`
	RaftAddress   string `json:"raft_address"`
	AdminAddress  string `json:"admin_address,omitempty"`
	Version       string `json:"version,omitempty"`
}

// Connections counts client connections.
type Connections struct {
	Open             int64 `json:"open"`
	Accepted         int64 `json:"accepted"`
	Refused          int64 `json:"rejected"`
	FailedHandshakes int64 `json:"tls_handshake_failures"`
}

// Disk is the disk space for the data directory.
type Disk struct {
	FreeBytes    uint64 `json:"free_bytes"`
	TotalBytes   uint64 `json:"total_bytes"`
	LowMarkBytes uint64 `json:"low_watermark_bytes"`
	// Refusing reports whether changes are rejected until disk space is freed.
	Refusing bool `json:"writes_rejected"`
}

// Memory is the host's memory use.
type Memory struct {
	// LiveBytes was in use after the last garbage collection.
	LiveBytes     uint64 `json:"live_bytes"`
	HighMarkBytes uint64 `json:"high_watermark_bytes"`
	LimitBytes    uint64 `json:"limit_bytes"`
	// Refusing reports whether requests that need memory are rejected until memory use falls.
	Refusing bool `json:"writes_rejected"`
}

// ShardStatus is the host's view of a shard.
type ShardStatus struct {
	// ID is 0 for the meta shard.
	ID uint64 `json:"id"`
	// Leader is the leader's host id, 0 if unknown. Leads reports whether the host is the leader.
	Leader uint64 `json:"leader_host_id"`
	Leads  bool   `json:"is_leader"`
	Term   uint64 `json:"term"`
	// Applied is the index of the last log entry applied on the host. Lag is the number of log entries that are not
	// yet applied.
	Applied uint64 `json:"applied_index"`
	Lag     uint64 `json:"lag"`
	// The shard's content; absent for the meta shard.
	*ShardContent
}

// ShardContent is a data shard's content on the host.
type ShardContent struct {
	// Serving reports whether the host leads the shard and is able to serve requests.
	Serving bool `json:"serving"`
	// ProofAgeSeconds is the time since a read barrier last proved that the replica is up to date; absent without a
	// barrier.
	ProofAgeSeconds *float64 `json:"read_barrier_age_seconds,omitempty"`

	// Sessions counts sessions with this home shard. Attached counts sessions attached over a connection to the host.
	// RemoteSessions counts sessions with another home shard that hold objects here.
	Sessions       int `json:"sessions"`
	Attached       int `json:"sessions_attached"`
	RemoteSessions int `json:"remote_sessions"`
	Semaphores     int `json:"semaphores"`
	Waiters        int `json:"waiters"`
	Watches        int `json:"watches"`
	// Queued counts commands that wait for a batch. InFlight counts batches that wait for their quorum.
	Queued   int `json:"queued_commands"`
	InFlight int `json:"batches_in_flight"`
}
