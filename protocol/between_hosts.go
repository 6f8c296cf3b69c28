package protocol

// The messages of this file go between hosts, over a port of the hosts. A host announces none of the messages to
// clients, and answers a client that sends such a request like a client that sends an unknown request.

// BetweenHosts says whether requests of this kind go from host to host only.
func (k Kind) BetweenHosts() bool {
	return k >= minBetweenHosts && k <= maxBetweenHosts || k >= minOfHost && k <= maxOfHost
}

// ShardReport asks a host for its observations of itself and of the shards that the host leads.
type ShardReport struct {
	// Term is the term of the meta shard in which the asking host leads the meta shard.
	Term uint64
	// GovernorHostID is the asking host.
	GovernorHostID uint64
	// Target and Current are the states of the asked host by the records of the meta shard, with the epochs of both.
	// The asked host may have no replica of the meta shard, and so no other way to know the states.
	Target       HostState
	TargetEpoch  uint64
	Current      HostState
	CurrentEpoch uint64
}

// ShardReportAnswer answers a ShardReport.
type ShardReportAnswer struct {
	// Incarnation is the incarnation of the answering host's data directory.
	Incarnation []byte `wire:"bytes MaxIncarnationBytes"`
	// Fresh: the host's barriers on the meta shard succeed. They have succeeded without a gap for FreshMillis; the last
	// success began BarrierMillis ago.
	Fresh         bool
	FreshMillis   uint64
	BarrierMillis uint64
	// Full: the disk of the host is nearly full, and the host takes no further entries of any log.
	DiskFull bool
	// Led are the shards that the host leads, as far as the host could read the membership with a barrier.
	Led LedShards
	// Held are the replicas that the host runs.
	Held HeldReplicas
	// Counted are the data shards of Led with their counters.
	Counted CountedShards
	// Unled are the replicas of Held that know no leader.
	Leaderless LeaderlessReplicas
}

// LedShards is a list of shards with the observations of their leader.
type LedShards = List[LedShard, *LedShard]

// LedShard is a shard as its leader sees it.
type LedShard struct {
	ID   uint64
	Term uint64 // of the shard's own log
	// LedMillis is how long this host has led the shard.
	LedMillis uint64
	// Change numbers the membership, as the leader read it with a barrier.
	Change  uint64
	Members ShardMembers
}

// ShardMembers is a list of members of a shard.
type ShardMembers = List[ShardMember, *ShardMember]

// ShardMember is a replica in the membership of a shard, with its progress in the log by its acknowledgements.
type ShardMember struct {
	ReplicaID   uint64
	HostID      uint64
	Incarnation []byte `wire:"bytes MaxIncarnationBytes"`
	Voter       bool
	Index       uint64 // the last acknowledged index
	// BehindMillis is the time since the leader had committed no more than Index.
	BehindMillis uint64
	// Tried: the leader has sent a message to the replica in the leader's term. SilentMillis is how long the replica
	// has not answered since.
	Tried        bool
	SilentMillis uint64
	// SnapshotPercent is the received part of a snapshot, SnapshotRate the rate in bytes a second; 0 while the leader
	// sends no snapshot.
	SnapshotPercent uint64
	SnapshotRate    uint64
}

// HeldReplicas is a list of replicas that a host runs.
type HeldReplicas = List[HeldReplica, *HeldReplica]

// HeldReplica is a replica that a host runs.
type HeldReplica struct {
	ShardID   uint64
	ReplicaID uint64
}

// CountedShards is a list of shards with their counters.
type CountedShards = List[CountedShard, *CountedShard]

// CountedShard is a data shard with the highest numbers that the shard has given.
type CountedShard struct {
	ShardID                              uint64
	LastOrder, LastRevision, LastSession uint64
}

// LeaderlessReplicas is a list of replicas that know no leader.
type LeaderlessReplicas = List[LeaderlessReplica, *LeaderlessReplica]

// LeaderlessReplica is a replica that knows no leader, with the last entry of the replica's log.
type LeaderlessReplica struct{ ShardID, ReplicaID, Term, Index uint64 }

// StepExecute asks a host to bring about the effect of a step of the governor. STALE says that the term is over, MOVED
// that the host does not lead the shard, FENCED that the membership has changed, UNAVAILABLE that the outcome is
// unknown.
type StepExecute struct {
	// Term is the term of the meta shard in which the asking host leads the meta shard.
	Term   uint64
	StepID uint64
	Effect EffectKind
	// ShardID and ReplicaID name the replica that the step is about.
	ShardID   uint64
	ReplicaID uint64
	// HostID is the host that gets the leadership, or the host of the replica, whose data directory has the
	// Incarnation.
	HostID      uint64
	Incarnation []byte `wire:"bytes MaxIncarnationBytes"`
	// Change numbers the membership that the effect is for.
	Change uint64
	// Rebuild is of EffectRebuild.
	Rebuild Rebuild
}

// Rebuild says how a shard is rebuilt.
type Rebuild struct {
	// Group numbers the new group. Empty: the group begins without a survivor of the group before.
	Group uint64
	Empty bool
	// LongestMillis is the longest session timeout on record, and LongestSession the session that has it.
	LongestMillis  uint64
	LongestSession uint64
	// LastOrder, LastRevision and LastSession are the counters of the shard by its last report, CountedMillis ago.
	LastOrder     uint64
	LastRevision  uint64
	LastSession   uint64
	CountedMillis uint64
}

// StepExecuteAnswer answers a StepExecute.
type StepExecuteAnswer struct{}

// EffectKind says what a StepExecute asks of a host. The first five have the numbers of the governor's steps.
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
	// EffectDeleteReplica: the host stops the removed replica ReplicaID, and deletes its data.
	EffectDeleteReplica EffectKind = 5
	// EffectHold: the host starts the added replica ReplicaID.
	EffectHold EffectKind = 16
	// EffectRebuild: the host begins the new group Group of the shard, whose only replica is ReplicaID.
	EffectRebuild EffectKind = 17
)

// String returns the effect as the docs write it, or the number of an unknown effect.
func (k EffectKind) String() string {
	switch k {
	case EffectHold:
		return "HOLD"
	case EffectRebuild:
		return "REBUILD"
	}
	return nameOf(k, "EFFECT", "EFFECT_0", "TRANSFER", "ADD", "PROMOTE", "REMOVE", "DELETE_REPLICA")
}
