package admin

import (
	"io"
	"time"
)

// Host is what is shown. Its methods are called by many goroutines at once, at any time from the moment
// that the server listens: also while the host starts and stops.
type Host interface {
	// Checks are what must be well for the host to serve, and what should be.
	Checks() []Check
	// Status is the state of the host now.
	Status() Status
	// Cluster is what the host knows of all hosts; an error says why it knows nothing yet.
	Cluster() (Cluster, error)
	// WriteMetrics writes all that the host counts.
	WriteMetrics(w io.Writer)
}

// Check is the result of one check.
type Check struct {
	Name string
	// Err is what is not well, nil for nothing.
	Err error
	// Advisory: the host counts as ready all the same.
	Advisory bool
}

// Status is what /status shows. Fields may be added to it, and none is taken away or changes its
// meaning.
type Status struct {
	Host    HostStatus    `json:"host"`
	Cluster ClusterStatus `json:"cluster"`
	// Ready, and NotReady why not.
	Ready    bool   `json:"ready"`
	NotReady string `json:"not_ready,omitempty"`
	// Fresh: the host made sure lately that it leads every shard that it believes to lead. Absent where
	// the host does not know.
	Fresh       *bool         `json:"fresh,omitempty"`
	Connections Connections   `json:"connections"`
	Disk        *Disk         `json:"disk,omitempty"`
	Shards      []ShardStatus `json:"shards"`
}

// HostStatus is the identity of the host, and its addresses.
type HostStatus struct {
	ID      uint64 `json:"id"`
	Name    string `json:"name"`
	Version string `json:"version"`
	// NewestLevel is the highest feature level that the host can follow.
	NewestLevel int `json:"newest_level,omitempty"`
	// UptimeSeconds is the time since the process began to start the host.
	UptimeSeconds float64   `json:"uptime_seconds"`
	Started       time.Time `json:"started"`
	ClientAddress string    `json:"client_address"`
	RaftAddress   string    `json:"raft_address"`
	AdminAddress  string    `json:"admin_address,omitempty"`
	DataDir       string    `json:"data_dir"`
	// Incarnation is that of the data directory, and Starts how often the host was started on it.
	Incarnation string `json:"incarnation,omitempty"`
	Starts      uint64 `json:"starts"`
}

// ClusterStatus is what the host knows of its cluster.
type ClusterStatus struct {
	ID string `json:"id"`
	// RoutingVersion is that of the slot table that the host knows.
	RoutingVersion uint64 `json:"routing_version,omitempty"`
	// Generation counts how often the cluster was restored or recovered.
	Generation uint64 `json:"generation,omitempty"`
	// FeatureLevel is what all hosts of the cluster can follow; LevelHeldBy says which hosts keep it from rising.
	FeatureLevel int          `json:"feature_level,omitempty"`
	LevelHeldBy  string       `json:"level_held_by,omitempty"`
	Hosts        []HostRecord `json:"hosts"`
	// Tolerated and Concerns are those of the page /cluster, which says more.
	Tolerated *int      `json:"failures_tolerated,omitempty"`
	Concerns  []Concern `json:"concerns,omitempty"`
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

// Connections counts those of clients.
type Connections struct {
	Open             int64 `json:"open"`
	Accepted         int64 `json:"accepted"`
	Refused          int64 `json:"refused"`
	FailedHandshakes int64 `json:"failed_handshakes"`
}

// Disk is the room for the data directory.
type Disk struct {
	FreeBytes    uint64 `json:"free_bytes"`
	TotalBytes   uint64 `json:"total_bytes"`
	LowMarkBytes uint64 `json:"low_mark_bytes"`
	// Refusing: changes are refused until there is more room.
	Refusing bool `json:"refusing_changes"`
}

// ShardStatus is a shard as this host sees it.
type ShardStatus struct {
	// ID is 0 for the meta shard.
	ID uint64 `json:"id"`
	// Leader is the id of the leading host, zero where none is known; Leads: it is this one.
	Leader uint64 `json:"leader_host_id"`
	Leads  bool   `json:"leads"`
	Term   uint64 `json:"term"`
	// Applied is the index of the last log entry that took effect here, Lag how many more there are.
	Applied uint64 `json:"applied_index"`
	Lag     uint64 `json:"lag"`
	// What is in the shard; the meta shard has none of it.
	*ShardContent
}

// ShardContent is what a data shard has at this host.
type ShardContent struct {
	// Serving: this host leads, and all that belongs to leading is in place.
	Serving bool `json:"serving"`
	// ProofAgeSeconds is how long ago a read barrier proved this copy up to date; absent without one.
	ProofAgeSeconds *float64 `json:"proof_age_seconds,omitempty"`

	// Sessions are those whose home the shard is, Attached those that are attached over a connection to
	// this host, Guests those of other homes that have something here.
	Sessions   int `json:"sessions"`
	Attached   int `json:"sessions_attached"`
	Guests     int `json:"guests"`
	Semaphores int `json:"semaphores"`
	Waiters    int `json:"waiters"`
	Watches    int `json:"watches"`
	// Queued are commands that wait for a batch, InFlight batches that wait for their quorum.
	Queued   int `json:"queued_commands"`
	InFlight int `json:"batches_in_flight"`
}
