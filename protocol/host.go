package protocol

import (
	"github.com/signalbox/signalbox/protocol/concern"
	"github.com/signalbox/signalbox/protocol/host"
)

// HostStatus asks the host how it is.
type HostStatus struct{}

// Kind returns KindHostStatus.
func (*HostStatus) Kind() Kind { return KindHostStatus }

func (*HostStatus) requestFields(*codec) {}

// HostStatusAnswer answers a HostStatus.
type HostStatusAnswer struct {
	HostID       uint64
	HostName     []byte
	Version      []byte // of the server program
	UptimeMillis uint64
	// Fresh: the host knew lately that it leads every shard that it believes to lead, of those that have sessions.
	Fresh       bool
	Connections uint64
	Sessions    uint64 // attached over those connections
	Shards      ShardStatuses
	// Meta is the meta shard. Its term is 0 where the host does not say.
	Meta ShardStatus
	// Level is the feature level of the cluster. Its numbers are 0 where the host does not say.
	Level FeatureLevel
	// Refusal says in words why the host refuses changes that do not free room on disks. It is empty where it does not.
	Refusal []byte
}

// HostLoad asks the host what it does.
type HostLoad struct{}

// Kind returns KindHostLoad.
func (*HostLoad) Kind() Kind { return KindHostLoad }

func (*HostLoad) requestFields(*codec) {}

// HostLoadAnswer answers a HostLoad with the latest measurement. Requests are counted, so that those of many hosts add
// up; divided by the span they are a rate.
type HostLoadAnswer struct {
	// SpanMillis is how long the host was measured, 0 where it does not know yet: then all but the disk is 0.
	SpanMillis uint64
	Requests   uint64 // that were answered in that time
	Failed     uint64 // of them, with another status than SUCCESS
	// P50Micros and P99Micros are how long an answer took: the median, and of all but one in a hundred.
	P50Micros uint64
	P99Micros uint64
	// CommitP99Micros is how long a batch took to take effect, of all but one in a hundred.
	CommitP99Micros uint64
	// DiskFreeBytes and DiskTotalBytes are of the file system of its data. Both are 0 where it does not say.
	DiskFreeBytes  uint64
	DiskTotalBytes uint64
}

// Kind returns the kind of the answer to a HostLoad.
func (*HostLoadAnswer) Kind() Kind { return KindHostLoad.Answer() }

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

// Concerns asks the host what is not well, as far as the host sees: with itself, with what lies in the shards that it
// leads, and with all hosts where it leads the meta shard. Every host has to be asked.
type Concerns struct{}

// Kind returns KindConcerns.
func (*Concerns) Kind() Kind { return KindConcerns }

func (*Concerns) requestFields(*codec) {}

// ConcernsAnswer answers a Concerns. A caller gets those objects only that it may see.
type ConcernsAnswer struct {
	HostName []byte
	// NowMillis is the wall clock of the host.
	NowMillis uint64
	Items     HostConcerns // the worst first, at most concern.MaxConcerns
	// Governs: the list has what there is to say of all hosts, because the host leads the meta shard and has heard from
	// the others.
	Governs bool
}

// Kind returns the kind of the answer to a Concerns.
func (*ConcernsAnswer) Kind() Kind { return KindConcerns.Answer() }

func (m *ConcernsAnswer) answerFields(c *codec) {
	c.text("host_name", &m.HostName, MaxHostNameBytes)
	c.uint("now_ms", &m.NowMillis)
	m.Items.list(c, "items")
	c.bool("governs", &m.Governs)
}

// HostConcerns is a list of what is not well.
type HostConcerns = List[HostConcern, *HostConcern]

// HostConcern is a concern as a host says it.
type HostConcern struct{ concern.Concern }

func (h *HostConcern) item(c *codec) { c.record("", h.fields) }

func (h *HostConcern) fields(c *codec) { h.Concern.Fields((*cold)(c)) }

// FeatureLevel is what a host knows of the feature level of its cluster.
type FeatureLevel struct {
	Cluster uint64
	Newest  uint64 // the highest that the host can follow
	// HeldBy says in words which hosts keep the level from rising. It is empty where none does.
	HeldBy []byte
}

func (l *FeatureLevel) fields(c *codec) {
	c.uint("cluster", &l.Cluster)
	c.uint("newest", &l.Newest)
	c.text("held_by", &l.HeldBy, MaxMessageBytes)
}

// Kind returns the kind of the answer to a HostStatus.
func (*HostStatusAnswer) Kind() Kind { return KindHostStatus.Answer() }

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
	LeaderHostID uint64 // 0 where the leader is not known
	Term         uint64
	// AppliedIndex is the index of the last log entry that has taken effect here.
	AppliedIndex uint64
	// CommitLag is the number of entries known to be committed that have not.
	CommitLag  uint64
	Sessions   uint64 // whose home the shard is
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
