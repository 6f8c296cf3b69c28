package protocol

import (
	"github.com/signalbox/signalbox/protocol/concern"
	"github.com/signalbox/signalbox/protocol/host"
)

// HostStatus asks the host for its state.
type HostStatus struct{}

func (*HostStatus) requestFields(*codec) {}

// HostStatusAnswer answers a HostStatus.
type HostStatusAnswer struct {
	HostID       uint64
	HostName     []byte
	Version      []byte // of the server program
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
	Refusal []byte
}

// HostLoad asks the host for its load.
type HostLoad struct{}

func (*HostLoad) requestFields(*codec) {}

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

func (m *HostLoadAnswer) answerFields(c *codec) {
	c.uint("span_ms", &m.SpanMillis)
	c.uint("requests", &m.Requests)
	c.uint("failed", &m.Failed)
	c.uint("p50_us", &m.P50Micros)
	c.uint("p99_us", &m.P99Micros)
	c.uint("commit_p99_us", &m.CommitP99Micros)
	c.uint("disk_free_bytes", &m.DiskFreeBytes)
	c.uint("disk_total_bytes", &m.DiskTotalBytes)
}

// Concerns asks the host for all troubles in its sight: troubles of the host itself, of objects in the shards that the
// host leads, and, from the leader of the meta shard, of all hosts. Every host has to be asked.
type Concerns struct{}

func (*Concerns) requestFields(*codec) {}

// ConcernsAnswer answers a Concerns. A caller gets only the objects that the caller may see.
type ConcernsAnswer struct {
	HostName []byte
	// NowMillis is the wall clock of the host.
	NowMillis uint64
	Items     HostConcerns // the worst first, at most concern.MaxConcerns
	// Governs: the list has all troubles of all hosts, because the host leads the meta shard and has heard from the
	// other hosts.
	Governs bool
}

func (m *ConcernsAnswer) answerFields(c *codec) {
	c.text("host_name", &m.HostName, MaxHostNameBytes)
	c.uint("now_ms", &m.NowMillis)
	m.Items.list(c, "items")
	c.bool("governs", &m.Governs)
}

// HostConcerns is a list of troubles.
type HostConcerns = List[HostConcern, *HostConcern]

// HostConcern is a trouble in the words of a host.
type HostConcern struct{ concern.Concern }

func (h *HostConcern) item(c *codec) { c.record("", h.fields) }

func (h *HostConcern) fields(c *codec) { h.Concern.Fields((*cold)(c)) }

// FeatureLevel is a host's knowledge of the feature level of its cluster.
type FeatureLevel struct {
	Cluster uint64
	Newest  uint64 // the highest that the host can follow
	// HeldBy says in words which hosts keep the level from rising; empty for no hosts.
	HeldBy []byte
}

func (l *FeatureLevel) fields(c *codec) {
	c.uint("cluster", &l.Cluster)
	c.uint("newest", &l.Newest)
	c.text("held_by", &l.HeldBy, MaxMessageBytes)
}

func (m *HostStatusAnswer) answerFields(c *codec) {
	c.uint("host_id", &m.HostID)
	c.text("host_name", &m.HostName, MaxHostNameBytes)
	c.text("version", &m.Version, MaxVersionBytes)
	c.uint("uptime_ms", &m.UptimeMillis)
	c.bool("fresh", &m.Fresh)
	c.uint("connections", &m.Connections)
	c.uint("sessions", &m.Sessions)
	m.Shards.list(c, "shards")
	c.record("meta", m.Meta.fields)
	c.record("level", m.Level.fields)
	c.text("refusal", &m.Refusal, MaxMessageBytes)
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

func (s *ShardStatus) item(c *codec) { c.record("", s.fields) }

func (s *ShardStatus) fields(c *codec) {
	c.uint("id", &s.ID)
	c.uint("leader_host_id", &s.LeaderHostID)
	c.uint("term", &s.Term)
	c.uint("applied_index", &s.AppliedIndex)
	c.uint("commit_lag", &s.CommitLag)
	c.uint("sessions", &s.Sessions)
	c.uint("semaphores", &s.Semaphores)
	c.uint("waiters", &s.Waiters)
	c.uint("rollouts", &s.Rollouts)
	c.uint("processes", &s.Processes)
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
