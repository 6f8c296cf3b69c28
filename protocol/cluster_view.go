package protocol

// The records that a ClusterDescribeAnswer consists of.

// Generation distinguishes a cluster from the one that it was made of by a recovery. It is all zero before the first.
type Generation struct {
	Number uint64
	Draw   []byte // 16 random bytes
}

func (g *Generation) fields(c *codec) {
	c.uint("number", &g.Number)
	c.bytes("draw", &g.Draw, MaxIncarnationBytes)
}

// ClusterHosts is a list of hosts.
type ClusterHosts = List[ClusterHost, *ClusterHost]

// ClusterHost is a host as the cluster has it on record, and as the governor sees it.
type ClusterHost struct {
	ID          uint64
	Name        []byte
	Incarnation []byte // of its data directory
	Starts      uint64 // how often its process was started on that
	Addresses   HostAddresses
	Domain      []byte // its failure domain: dc=a,rack=1
	Version     []byte
	Level       uint64 // the highest feature level that it can follow
	Current     HostStanding
	Target      HostStanding
	Cordoned    bool
	// Replaces is the host whose place it took, 0 for none.
	Replaces uint64
	// ReturnsMillis is after how much time it may be online again that was taken for failed.
	ReturnsMillis uint64
	// Seen is missing where the answer is not of the host that governs.
	Seen HostSeen
}

func (h *ClusterHost) item(c *codec) { c.record("", h.fields) }

func (h *ClusterHost) fields(c *codec) {
	c.uint("id", &h.ID)
	c.text("name", &h.Name, MaxHostNameBytes)
	c.bytes("incarnation", &h.Incarnation, MaxIncarnationBytes)
	c.uint("starts", &h.Starts)
	c.record("addresses", h.Addresses.fields)
	c.text("domain", &h.Domain, MaxDomainBytes)
	c.text("version", &h.Version, MaxVersionBytes)
	c.uint("level", &h.Level)
	c.record("current", h.Current.fields)
	c.record("target", h.Target.fields)
	c.bool("cordoned", &h.Cordoned)
	c.uint("replaces", &h.Replaces)
	c.uint("returns_ms", &h.ReturnsMillis)
	c.record("seen", h.Seen.fields)
}

// HostAddresses are where a host is reached.
type HostAddresses struct {
	Raft   []byte // by other hosts
	Client []byte
	Admin  []byte // its admin pages; may be empty
}

func (a *HostAddresses) fields(c *codec) {
	c.text("raft", &a.Raft, MaxAddressBytes)
	c.text("client", &a.Client, MaxAddressBytes)
	c.text("admin", &a.Admin, MaxAddressBytes)
}

// HostStanding is one of the two states of a host: that which it is to have, or that to which it was brought.
type HostStanding struct {
	State HostState
	// Epoch counts how often the host was to be online. Where those of the two states differ it has not been brought to
	// its target, though the states are the same.
	Epoch  uint64
	Reason []byte // a word, such as drained
	Text   []byte
	By     []byte // who asked for it, where the history still has that
	// AgeMillis is for how long it has been so.
	AgeMillis uint64
}

func (s *HostStanding) fields(c *codec) {
	enum(c, "state", &s.State)
	c.uint("epoch", &s.Epoch)
	c.text("reason", &s.Reason, MaxWordBytes)
	c.text("text", &s.Text, MaxOperatorTextBytes)
	c.text("by", &s.By, MaxOperatorTextBytes)
	c.uint("age_ms", &s.AgeMillis)
}

// HostSeen is what the governor observes of a host.
type HostSeen struct {
	Alive        bool
	SilentMillis uint64
	// StuckMillis is for how long it has taken nothing of the meta shard though there was something for it.
	StuckMillis uint64
	// FreshMillis is for how long it has confirmed without a gap that it is up to date, 0 where it does not.
	FreshMillis uint64
}

func (s *HostSeen) fields(c *codec) {
	c.bool("alive", &s.Alive)
	c.uint("silent_ms", &s.SilentMillis)
	c.uint("stuck_ms", &s.StuckMillis)
	c.uint("fresh_ms", &s.FreshMillis)
}

// ClusterShards is a list of shards.
type ClusterShards = List[ClusterShard, *ClusterShard]

// ClusterShard is a shard with its replicas. The meta shard has the id 0.
type ClusterShard struct {
	ID uint64
	// Change numbers the membership.
	Change   uint64
	Replicas ClusterReplicas
	// LeaderHostID is 0 where none is known. It has led for LedMillis, and reported that ReportMillis ago.
	LeaderHostID uint64
	LedMillis    uint64
	ReportMillis uint64
	// Redundancy is missing where the answer is not of the host that governs.
	Redundancy Redundancy
	// WishHostID is the host that an operator wants to lead, 0 for none; that is tried for WishMillis from now on.
	WishHostID uint64
	WishMillis uint64
}

func (s *ClusterShard) item(c *codec) { c.record("", s.fields) }

func (s *ClusterShard) fields(c *codec) {
	c.uint("id", &s.ID)
	c.uint("change", &s.Change)
	s.Replicas.list(c, "replicas")
	c.uint("leader_host_id", &s.LeaderHostID)
	c.uint("led_ms", &s.LedMillis)
	c.uint("report_ms", &s.ReportMillis)
	c.record("redundancy", s.Redundancy.fields)
	c.uint("wish_host_id", &s.WishHostID)
	c.uint("wish_ms", &s.WishMillis)
}

// ClusterReplicas is a list of replicas.
type ClusterReplicas = List[ClusterReplica, *ClusterReplica]

// ClusterReplica is a replica of a shard.
type ClusterReplica struct {
	ID     uint64
	HostID uint64 // 0 where no record has it
	Role   ReplicaRole
	// AgeMillis is for how long it has had the role.
	AgeMillis uint64
	// Observed: the leader of the shard has reported what follows.
	Observed bool
	Index    uint64 // the last that it has acknowledged
	// BehindMillis is how long ago the leader had no more than that.
	BehindMillis uint64
	// SnapshotPercent is how much of a snapshot it has got, SnapshotRate in bytes a second; 0 where it is sent none.
	SnapshotPercent uint64
	SnapshotRate    uint64
}

func (r *ClusterReplica) item(c *codec) { c.record("", r.fields) }

func (r *ClusterReplica) fields(c *codec) {
	c.uint("id", &r.ID)
	c.uint("host_id", &r.HostID)
	enum(c, "role", &r.Role)
	c.uint("age_ms", &r.AgeMillis)
	c.bool("observed", &r.Observed)
	c.uint("index", &r.Index)
	c.uint("behind_ms", &r.BehindMillis)
	c.uint("snapshot_percent", &r.SnapshotPercent)
	c.uint("snapshot_rate", &r.SnapshotRate)
}

// ReplicaRole is what a replica is in its shard.
type ReplicaRole uint8

// The roles.
const (
	ReplicaNone    ReplicaRole = 0 // it is to be added
	ReplicaLearner ReplicaRole = 1 // it gets the log and does not vote
	ReplicaVoter   ReplicaRole = 2
	ReplicaRemoved ReplicaRole = 3 // it was a member, and its host has not deleted its data
)

// String returns the role as the docs write it.
func (r ReplicaRole) String() string {
	return nameOf(r, "REPLICA_ROLE", "NONE", "LEARNER", "VOTER", "REMOVED")
}

// Redundancy is what a shard can lose and go on.
type Redundancy struct {
	Wanted uint64 // how many are to vote
	Voters uint64
	Live   uint64 // voters whose hosts are heard
	// Tolerated is how many more voters may fail. Lost: too few live already.
	Tolerated uint64
	Lost      bool
	Domains   DomainLosses
}

func (r *Redundancy) fields(c *codec) {
	c.uint("wanted", &r.Wanted)
	c.uint("voters", &r.Voters)
	c.uint("live", &r.Live)
	c.uint("tolerated", &r.Tolerated)
	c.bool("lost", &r.Lost)
	r.Domains.list(c, "domains")
}

// DomainLosses is a list of labels of failure domains.
type DomainLosses = List[DomainLoss, *DomainLoss]

// DomainLoss says whether a shard goes on without all hosts that share a label of their failure domains.
type DomainLoss struct {
	Label     []byte // dc=a
	Live      uint64 // voters there whose hosts are heard
	Tolerated bool
}

func (l *DomainLoss) item(c *codec) { c.record("", l.fields) }

func (l *DomainLoss) fields(c *codec) {
	c.text("label", &l.Label, MaxDomainBytes)
	c.uint("live", &l.Live)
	c.bool("tolerated", &l.Tolerated)
}

// Concerns is a list of what is not as it should be.
type Concerns = List[Concern, *Concern]

// Concern is something that is not as it should be, with what to do about it.
type Concern struct {
	Severity Severity
	// Code is for programs, Text for people, Mend what to do, with the command where there is one.
	Code   []byte
	Text   []byte
	Mend   []byte
	HostID uint64 // 0 for none
	// Shards are those that it is about; none where it is about all or none.
	Shards ShardIDs
}

func (con *Concern) item(c *codec) { c.record("", con.fields) }

func (con *Concern) fields(c *codec) {
	enum(c, "severity", &con.Severity)
	c.text("code", &con.Code, MaxWordBytes)
	c.text("text", &con.Text, MaxReasonBytes)
	c.text("mend", &con.Mend, MaxReasonBytes)
	c.uint("host_id", &con.HostID)
	con.Shards.list(c, "shards")
}

// Severity is how bad a concern is.
type Severity uint8

// The severities.
const (
	SeverityNote    Severity = 1 // it is so by choice, and worth knowing
	SeverityWarning Severity = 2 // one failure more can be one too many
	SeverityFailure Severity = 3 // something is not served
)

// String returns the severity as the docs write it.
func (s Severity) String() string {
	return nameOf(s, "SEVERITY", "SEVERITY_0", "NOTE", "WARNING", "FAILURE")
}

// ShardIDs is a list of shards.
type ShardIDs = List[ShardID, *ShardID]

// ShardID is the id of a shard as an item of a list.
type ShardID uint64

func (si *ShardID) item(c *codec) { c.uint("", (*uint64)(si)) }
