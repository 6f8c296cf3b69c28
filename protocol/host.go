package protocol

import (
	"github.com/signalbox/signalbox/protocol/health"
	"github.com/signalbox/signalbox/protocol/host"
)

// HostStatus asks the host for its state.
type HostStatus struct{}

// HostStatusAnswer answers a HostStatus.
type HostStatusAnswer struct {
	HostID       uint64
	HostName     []byte `wire:"text MaxHostNameBytes"`
	Version      []byte `wire:"text MaxVersionBytes"` // server program version
	UptimeMillis uint64
	// Fresh is set if the host has recently confirmed its leadership in every shard with sessions and a claimed
	// leadership.
	Fresh       bool
	Connections uint64
	Sessions    uint64 // attached over these connections
	Shards      ShardStatuses
	// Meta is the meta shard. A term of 0 means that the host does not report the shard.
	Meta ShardStatus
	// Level is the cluster's feature level. Zeros mean that the host does not report the level.
	Level FeatureLevel
	// Refusal explains why the host refuses changes that do not free disk space; empty if no changes are refused.
	Refusal []byte `wire:"text MaxMessageBytes"`
}

// HostLoad asks the host for its load.
type HostLoad struct {
	Traffic bool // also report requests by client and by node
}

// HostLoadAnswer answers a HostLoad with the latest measurement. The answer has request counts, not rates, so a reader
// can add up the counts from many hosts; a count divided by the span is a rate.
type HostLoadAnswer struct {
	// SpanMillis is how long the host was measured, 0 before the first measurement: then everything except the disk is
	// 0.
	SpanMillis uint64
	Requests   uint64 // answered within the span
	Failed     uint64 // answered with a status other than SUCCESS
	// P50Micros and P99Micros are response time percentiles: the median, and the 99th percentile.
	P50Micros uint64
	P99Micros uint64
	// CommitP99Micros is the 99th percentile of the time from a batch to its effect.
	CommitP99Micros uint64
	// DiskFreeBytes and DiskTotalBytes describe the file system with the host's data. Both are 0 if unknown.
	DiskFreeBytes  uint64
	DiskTotalBytes uint64
	Traffic        Traffic // empty unless requested
}

// Traffic is a host's requests by client and by node.
type Traffic struct {
	// SpanMillis is how long the requests were counted: about a minute, less after a start. 0 means that the host does
	// not report them.
	SpanMillis uint64
	Requests   uint64 // all requests in the span
	// Clients and Nodes have the most requests, sorted by requests; each has at most MaxTraffic items. Clients are
	// reported only to a caller who may read all nodes, and other callers get only nodes they may read.
	Clients ClientTraffics
	Nodes   NodeTraffics
}

// ClientTraffics is a list of clients with their requests.
type ClientTraffics = List[ClientTraffic, *ClientTraffic]

// ClientTraffic is the number of requests from a client. Connections with the same name, principal and address, without
// the port, count as one client.
type ClientTraffic struct {
	Name      []byte `wire:"text MaxClientNameBytes"`
	Principal []byte `wire:"text MaxPrincipalBytes"`
	Address   []byte `wire:"text MaxAddressBytes"`
	Requests  uint64
}

// NodeTraffics is a list of nodes with their requests.
type NodeTraffics = List[NodeTraffic, *NodeTraffic]

// NodeTraffic is the number of requests in a node. A request without a node, such as a heartbeat, is in no count.
type NodeTraffic struct {
	Path     []byte `wire:"text MaxPathBytes"`
	Requests uint64
}

// Health asks the host for all visible health issues: issues on the host itself, with objects in the shards led by the
// host, and, from the meta shard's leader, on all hosts. For a complete picture, ask every host.
type Health struct{}

// HealthAnswer answers a Health, limited to objects visible to the caller.
type HealthAnswer struct {
	HostName []byte `wire:"text MaxHostNameBytes"`
	// NowMillis is the host's wall clock.
	NowMillis uint64
	Items     HealthIssues // worst first, at most health.MaxIssues
	// Governs is set if the list covers all hosts, because the host leads the meta shard and has heard from the other
	// hosts.
	Governs bool
}

// HealthIssues is a list of health issues.
type HealthIssues = List[HealthIssue, *HealthIssue]

// HealthIssue is a health issue as a host reports it.
type HealthIssue struct{ health.Issue }

// FeatureLevel is what a host knows about its cluster's feature level.
type FeatureLevel struct {
	Cluster uint64
	Newest  uint64 // the highest the host supports
	// HeldBy describes which hosts prevent the level from rising; empty if there are none.
	HeldBy []byte `wire:"text MaxMessageBytes"`
}

// ShardStatuses is a list of shards with their status on one host.
type ShardStatuses = List[ShardStatus, *ShardStatus]

// ShardStatus is a shard's status on one of its hosts.
type ShardStatus struct {
	ID           uint64
	LeaderHostID uint64 // 0 if unknown
	Term         uint64
	// AppliedIndex is the index of the last log entry applied here.
	AppliedIndex uint64
	// CommitLag is the number of entries known to be committed and not applied here yet.
	CommitLag  uint64
	Sessions   uint64 // with their home in the shard
	Semaphores uint64
	Waiters    uint64
	Rollouts   uint64
	Processes  uint64
}

// HostState is whether a host takes part in its cluster. Package protocol/host declares the states.
type HostState = host.State

// The host states.
const (
	HostUnknown  = host.Unknown
	HostOnline   = host.Online
	HostOffline  = host.Offline
	HostExpelled = host.Expelled
)
