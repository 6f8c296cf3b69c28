package protocol

// What is in this file goes between hosts, over their own port. It is never announced to clients, and a host answers
// a client that sends it as a request that it does not know.

// BetweenHosts says whether requests of this kind go from host to host only.
func (k Kind) BetweenHosts() bool {
	return k >= minBetweenHosts && k <= maxBetweenHosts || k >= minOfHost && k <= maxOfHost
}

// ShardReport asks a host what it observes of the shards that it leads, and of itself.
type ShardReport struct {
	// Term is that of the meta shard in which the host that asks leads it.
	Term uint64
	// GovernorHostID is that host.
	GovernorHostID uint64
	// Target and Current are the states of the host that is asked, by the records of the meta shard, with the epochs of
	// both. It may have no replica that would show them.
	Target       HostState
	TargetEpoch  uint64
	Current      HostState
	CurrentEpoch uint64
}

// Kind returns KindShardReport.
func (*ShardReport) Kind() Kind { return KindShardReport }

func (m *ShardReport) requestFields(c *codec) {
	c.uint("term", &m.Term)
	c.uint("governor_host_id", &m.GovernorHostID)
	enum(c, "target", &m.Target)
	c.uint("target_epoch", &m.TargetEpoch)
	enum(c, "current", &m.Current)
	c.uint("current_epoch", &m.CurrentEpoch)
}

// ShardReportAnswer answers a ShardReport.
type ShardReportAnswer struct {
	// Incarnation is that of the data directory of the host that answers.
	Incarnation []byte
	// Fresh: its barriers on the meta shard succeed. They have done so without a gap for FreshMillis; the last that
	// did began BarrierMillis ago.
	Fresh         bool
	FreshMillis   uint64
	BarrierMillis uint64
	// Full: its disk is nearly full, and it takes no more of any log.
	Full bool
	// Led are the shards that it leads and whose membership it could read with a barrier.
	Led LedShards
	// Held are the replicas that it runs.
	Held HeldReplicas
}

// Kind returns the kind of the answer to a ShardReport.
func (*ShardReportAnswer) Kind() Kind { return KindShardReport.Answer() }

func (m *ShardReportAnswer) answerFields(c *codec) {
	c.bytes("incarnation", &m.Incarnation, MaxIncarnationBytes)
	c.bool("fresh", &m.Fresh)
	c.uint("fresh_ms", &m.FreshMillis)
	c.uint("barrier_ms", &m.BarrierMillis)
	c.bool("full", &m.Full)
	m.Led.list(c, "led")
	m.Held.list(c, "held")
}

// LedShards is a list of shards with what their leader observes.
type LedShards = List[LedShard, *LedShard]

// LedShard is a shard as its leader sees it.
type LedShard struct {
	ID   uint64
	Term uint64 // of the shard's own log
	// LedMillis is for how long it has been led by this host.
	LedMillis uint64
	// Change numbers the membership, as it was read with a barrier.
	Change  uint64
	Members ShardMembers
}

func (s *LedShard) item(c *codec) { c.record("", s.fields) }

func (s *LedShard) fields(c *codec) {
	c.uint("id", &s.ID)
	c.uint("term", &s.Term)
	c.uint("led_ms", &s.LedMillis)
	c.uint("change", &s.Change)
	s.Members.list(c, "members")
}

// ShardMembers is a list of members of a shard.
type ShardMembers = List[ShardMember, *ShardMember]

// ShardMember is a replica in the membership of a shard, and how far it has the log by what it has answered.
type ShardMember struct {
	ReplicaID   uint64
	HostID      uint64
	Incarnation []byte
	Voter       bool
	Index       uint64 // the last that it has acknowledged
	// BehindMillis is how long ago the leader had committed no more than that.
	BehindMillis uint64
	// Tried: the leader has sent it something in its term. SilentMillis is for how long it has not answered since.
	Tried        bool
	SilentMillis uint64
	// SnapshotPercent is how much of a snapshot it has got, SnapshotRate in bytes a second; 0 where it is sent none.
	SnapshotPercent uint64
	SnapshotRate    uint64
}

func (m *ShardMember) item(c *codec) { c.record("", m.fields) }

func (m *ShardMember) fields(c *codec) {
	c.uint("replica_id", &m.ReplicaID)
	c.uint("host_id", &m.HostID)
	c.bytes("incarnation", &m.Incarnation, MaxIncarnationBytes)
	c.bool("voter", &m.Voter)
	c.uint("index", &m.Index)
	c.uint("behind_ms", &m.BehindMillis)
	c.bool("tried", &m.Tried)
	c.uint("silent_ms", &m.SilentMillis)
	c.uint("snapshot_percent", &m.SnapshotPercent)
	c.uint("snapshot_rate", &m.SnapshotRate)
}

// HeldReplicas is a list of replicas that a host runs.
type HeldReplicas = List[HeldReplica, *HeldReplica]

// HeldReplica is a replica that a host runs.
type HeldReplica struct {
	ShardID   uint64
	ReplicaID uint64
}

func (r *HeldReplica) item(c *codec) { c.record("", r.fields) }

func (r *HeldReplica) fields(c *codec) {
	c.uint("shard_id", &r.ShardID)
	c.uint("replica_id", &r.ReplicaID)
}

// StepEffect asks a host to do what a step of the governor is for. STALE says that the term is over, MOVED that the
// host does not lead the shard, FENCED that the membership is another one, UNAVAILABLE that the outcome is not known.
type StepEffect struct {
	// Term is that of the meta shard in which the host that asks leads it.
	Term   uint64
	StepID uint64
	Effect EffectKind
	// ShardID and ReplicaID are what it is about.
	ShardID   uint64
	ReplicaID uint64
	// HostID is who gets the leadership, or on which host the replica is, whose data directory has the Incarnation.
	HostID      uint64
	Incarnation []byte
	// Change numbers the membership that the effect is for.
	Change uint64
}

// Kind returns KindStepEffect.
func (*StepEffect) Kind() Kind { return KindStepEffect }

func (m *StepEffect) requestFields(c *codec) {
	c.uint("term", &m.Term)
	c.uint("step_id", &m.StepID)
	enum(c, "effect", &m.Effect)
	c.uint("shard_id", &m.ShardID)
	c.uint("replica_id", &m.ReplicaID)
	c.uint("host_id", &m.HostID)
	c.bytes("incarnation", &m.Incarnation, MaxIncarnationBytes)
	c.uint("change", &m.Change)
}

// StepEffectAnswer answers a StepEffect.
type StepEffectAnswer struct{}

// Kind returns the kind of the answer to a StepEffect.
func (*StepEffectAnswer) Kind() Kind { return KindStepEffect.Answer() }

func (*StepEffectAnswer) answerFields(*codec) {}

// EffectKind is what a host is asked to do. The first five have the numbers of the governor's steps.
type EffectKind uint8

const (
	// EffectTransfer: the leader hands the shard over to HostID.
	EffectTransfer EffectKind = 1
	// EffectAdd: the leader adds ReplicaID on HostID as a learner.
	EffectAdd EffectKind = 2
	// EffectPromote: the leader makes the learner ReplicaID a voter.
	EffectPromote EffectKind = 3
	// EffectRemove: the leader removes ReplicaID.
	EffectRemove EffectKind = 4
	// EffectClear: the host stops ReplicaID, which was removed, and deletes its data.
	EffectClear EffectKind = 5
	// EffectHold: the host starts ReplicaID, which was added.
	EffectHold EffectKind = 16
)

// String returns the effect as the docs write it, or its number where it is not known here.
func (k EffectKind) String() string {
	if k == EffectHold {
		return "HOLD"
	}
	return nameOf(k, "EFFECT", "EFFECT_0", "TRANSFER", "ADD", "PROMOTE", "REMOVE", "CLEAR")
}
