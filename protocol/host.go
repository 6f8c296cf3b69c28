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
	Version      []byte `wire:"text MaxVersionBytes"` // of the server program
	UptimeMillis uint64
	// Fresh: lately the host was sure of its leadership of every shard with sessions that the host believes to lead.
	Fresh       bool
	Connections uint64
	Sessions    uint64 // attached over those connections
	Shards      ShardStatuses
	// Meta is the meta shard. Its term is 0 where the host does not say.
	Meta ShardStatus
	// Level is the feature level of the cluster. Its numbers are 0 where the host does not say.
	Level FeatureLevel
	// Refusal says in words why the host refuses changes that do not free room on disks; empty for a host that refuses
	// none.
	Refusal []byte `wire:"text MaxMessageBytes"`
}

// HostLoad asks the host for its load.
type HostLoad struct{}

// HostLoadAnswer answers a HostLoad with the latest measurement. The answer has counts of requests, not rates, so that
// a reader can add up the counts of many hosts; a count divided by the span is a rate.
type HostLoadAnswer struct {
	// SpanMillis is how long the host was measured, 0 before the first measurement: then everything but the disk is 0.
	SpanMillis uint64
	Requests   uint64 // answered in the span
	Failed     uint64 // answered with another status than SUCCESS
	// P50Micros and P99Micros are the times for an answer: the median, and the longest of all but one in a hundred.
	P50Micros uint64
	P99Micros uint64
	// CommitP99Micros is the longest time from a batch to its effect, of all but one in a hundred.
	CommitP99Micros uint64
	// DiskFreeBytes and DiskTotalBytes are of the file system with the host's data. Both are 0 where the system does
	// not say.
	DiskFreeBytes  uint64
	DiskTotalBytes uint64
}

// Health asks the host for all troubles in its sight: troubles of the host itself, of objects in the shards that the
// host leads, and, from the leader of the meta shard, of all hosts. Every host has to be asked.
type Health struct{}

// HealthAnswer answers a Health. A caller gets only the objects that the caller may see.
type HealthAnswer struct {
	HostName []byte `wire:"text MaxHostNameBytes"`
	// NowMillis is the wall clock of the host.
	NowMillis uint64
	Items     HealthIssues // the worst first, at most health.MaxIssues
	// Governs: the list has all troubles of all hosts, because the host leads the meta shard and has heard from the
	// other hosts.
	Governs bool
}

// HealthIssues is a list of troubles.
type HealthIssues = List[HealthIssue, *HealthIssue]

// HealthIssue is a trouble in the words of a host.
type HealthIssue struct{ health.Issue }

// FeatureLevel is a host's knowledge of the feature level of its cluster.
type FeatureLevel struct {
	Cluster uint64
	Newest  uint64 // the highest that the host can follow
	// HeldBy says in words which hosts keep the level from rising; empty for no hosts.
	HeldBy []byte `wire:"text MaxMessageBytes"`
}

// ShardStatuses is a list of shards with their state on one host.
type ShardStatuses = List[ShardStatus, *ShardStatus]

// ShardStatus is the state of a shard on one of its hosts.
type ShardStatus struct {
	ID           uint64
	LeaderHostID uint64 // 0 for an unknown leader
	Term         uint64
	// AppliedIndex is the index of the last log entry that has taken effect here.
	AppliedIndex uint64
	// CommitLag is the number of entries known to be committed that have not taken effect here.
	CommitLag  uint64
	Sessions   uint64 // with the shard as their home
	Semaphores uint64
	Waiters    uint64
	Rollouts   uint64
	Processes  uint64
}

// HostState says whether a host takes part in its cluster. Package protocol/host declares the states.
type HostState = host.State

// The states of hosts.
const (
	HostUnknown  = host.Unknown
	HostOnline   = host.Online
	HostOffline  = host.Offline
	HostExpelled = host.Expelled
)
