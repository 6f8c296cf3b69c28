package admin

import (
	"io"
	"time"
)

// Host is the source of the pages. Many goroutines at once may call the methods, at all times from the moment the
// server listens: also while the host starts and stops.
type Host interface {
	// Checks are the conditions for the host to serve, and advisory conditions.
	Checks() []Check
	// Status is the state of the host now.
	Status() Status
	// Cluster is the host's view of all hosts; an error says why the host has no view yet.
	Cluster() (Cluster, error)
	// WriteMetrics writes all metrics of the host.
	WriteMetrics(w io.Writer)
}

// Check is the result of a single check.
type Check struct {
	Name string
	// Err is the trouble, nil for no trouble.
	Err error
	// Advisory: the host counts as ready in spite of Err.
	Advisory bool
}

// Status is the page /status. Later versions may add fields, and remove or redefine none.
type Status struct {
	Host    HostStatus    `json:"host"`
	Cluster ClusterStatus `json:"cluster"`
	// Ready, and NotReady why not.
	Ready    bool   `json:"ready"`
	NotReady string `json:"not_ready,omitempty"`
	// Fresh: the host made sure lately that it leads every shard for which it believes itself the leader. Absent if
	// the host does not know.
	Fresh       *bool         `json:"leadership_confirmed,omitempty"`
	Connections Connections   `json:"connections"`
	Disk        *Disk         `json:"disk,omitempty"`
	Memory      *Memory       `json:"memory,omitempty"`
	Shards      []ShardStatus `json:"shards"`
}

// HostStatus is the identity of the host, and its addresses.
type HostStatus struct {
	ID      uint64 `json:"id"`
	Name    string `json:"name"`
	Version string `json:"version"`
	// NewestLevel is the highest feature level supported by the host.
	NewestLevel int `json:"supported_feature_level,omitempty"`
	// UptimeSeconds is the time since the process began to start the host.
	UptimeSeconds float64   `json:"uptime_seconds"`
	Started       time.Time `json:"started"`
	ClientAddress string    `json:"client_address"`
	RaftAddress   string    `json:"raft_address"`
	AdminAddress  string    `json:"admin_address,omitempty"`
	DataDir       string    `json:"data_dir"`
	// Incarnation is the incarnation of the data directory, and Starts the number of the host's starts on the
	// directory.
	Incarnation string `json:"incarnation,omitempty"`
	Starts      uint64 `json:"start_count"`
}

// ClusterStatus is the host's view of its cluster.
type ClusterStatus struct {
	ID string `json:"id"`
	// RoutingVersion is the version of the slot table known to the host.
	RoutingVersion uint64 `json:"routing_version,omitempty"`
	// Generation counts how often the cluster was restored or recovered.
	Generation uint64 `json:"generation,omitempty"`
	// FeatureLevel is the level supported by all hosts of the cluster; LevelHeldBy names the hosts that keep the
	// level from rising.
	FeatureLevel int          `json:"feature_level,omitempty"`
	LevelHeldBy  string       `json:"feature_level_held_by,omitempty"`
	Hosts        []HostRecord `json:"hosts"`
	// Tolerated and HealthIssues are as on the page /cluster, which has more.
	Tolerated    *int          `json:"failure_tolerance,omitempty"`
	HealthIssues []HealthIssue `json:"health_issues,omitempty"`
}

// HostRecord is a host of the cluster.
type HostRecord struct {
	ID   uint64 `json:"id"`
	Name string `json:"name"`
	// ClientAddress, AdminAddress and Version are empty until the host has reported them.
	ClientAddress string `json:"client_address,omitempty"`
	RaftAddress   string `json:"raft_address"`
	AdminAddress  string `json:"admin_address,omitempty"`
	Version       string `json:"version,omitempty"`
}

// Connections counts connections of clients.
type Connections struct {
	Open             int64 `json:"open"`
	Accepted         int64 `json:"accepted"`
	Refused          int64 `json:"rejected"`
	FailedHandshakes int64 `json:"tls_handshake_failures"`
}

// Disk is the room for the data directory.
type Disk struct {
	FreeBytes    uint64 `json:"free_bytes"`
	TotalBytes   uint64 `json:"total_bytes"`
	LowMarkBytes uint64 `json:"low_watermark_bytes"`
	// Refusing: changes are refused until the disk has more room.
	Refusing bool `json:"writes_rejected"`
}

// Memory is the memory of the host.
type Memory struct {
	// LiveBytes was in use after the last collection of garbage.
	LiveBytes     uint64 `json:"live_bytes"`
	HighMarkBytes uint64 `json:"high_watermark_bytes"`
	LimitBytes    uint64 `json:"limit_bytes"`
	// Refusing: what takes memory is refused until less is in use.
	Refusing bool `json:"writes_rejected"`
}

// ShardStatus is this host's view of a shard.
type ShardStatus struct {
	// ID is 0 for the meta shard.
	ID uint64 `json:"id"`
	// Leader is the id of the leading host, zero for no known leader; Leads: this host is the leader.
	Leader uint64 `json:"leader_host_id"`
	Leads  bool   `json:"is_leader"`
	Term   uint64 `json:"term"`
	// Applied is the index of the last log entry applied here, Lag the number of log entries still to apply.
	Applied uint64 `json:"applied_index"`
	Lag     uint64 `json:"lag"`
	// The content of the shard; absent for the meta shard.
	*ShardContent
}

// ShardContent is the content of a data shard at this host.
type ShardContent struct {
	// Serving: this host leads, and everything needed for leading is in place.
	Serving bool `json:"serving"`
	// ProofAgeSeconds is the time since a read barrier proved this copy up to date; absent without a barrier.
	ProofAgeSeconds *float64 `json:"read_barrier_age_seconds,omitempty"`

	// Sessions are the sessions with their home in the shard, Attached the sessions attached over a connection to
	// this host, Guests the sessions of other homes that hold objects here.
	Sessions   int `json:"sessions"`
	Attached   int `json:"sessions_attached"`
	Guests     int `json:"remote_sessions"`
	Semaphores int `json:"semaphores"`
	Waiters    int `json:"waiters"`
	Watches    int `json:"watches"`
	// Queued are commands waiting for a batch, InFlight batches waiting for their quorum.
	Queued   int `json:"queued_commands"`
	InFlight int `json:"batches_in_flight"`
}
