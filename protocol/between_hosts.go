package protocol

// The messages in this file are exchanged between hosts, over a host port. A host announces none of them to clients,
// and treats a client that sends such a request as if the request were unknown.

// BetweenHosts reports whether requests with this kind are sent only between hosts.
func (k Kind) BetweenHosts() bool {
	return k >= minBetweenHosts && k <= maxBetweenHosts || k >= minOfHost && k <= maxOfHost
}

// ShardReport asks a host for its observations about itself and the shards it leads.
type ShardReport struct {
	// Term is the meta shard term in which the asking host leads the meta shard.
	Term uint64
	// GovernorHostID is the asking host.
	GovernorHostID uint64
	// Target and Current are the asked host's states in the meta shard's records, with both epochs. The asked host may
	// have no meta shard replica, and so no other way to know the states.
	Target       HostState
	TargetEpoch  uint64
	Current      HostState
	CurrentEpoch uint64
}

// ShardReportAnswer answers a ShardReport.
type ShardReportAnswer struct {
	// Incarnation identifies the answering host's data directory.
	Incarnation []byte `wire:"bytes MaxIncarnationBytes"`
	// Fresh is set if the host's barriers on the meta shard succeed. They have succeeded without a gap for FreshMillis;
	// the last success began BarrierMillis ago.
	Fresh         bool
	FreshMillis   uint64
	BarrierMillis uint64
	// DiskFull is set if the host's disk is nearly full, so it accepts no further log entries.
	DiskFull bool
	// Led are the shards the host leads, as far as it could read the membership with a barrier.
	Led LedShards
	// Held are the replicas the host runs.
	Held HeldReplicas
	// Counted are the data shards in Led with their counters.
	Counted CountedShards
	// Leaderless are the replicas in Held that know no leader.
	Leaderless LeaderlessReplicas
	Speed      HostSpeed
}

// HostSpeed is how fast a host is, by its own measurements. A time of 0 is unknown.
type HostSpeed struct {
	// SyncMicros is the usual time of a log sync in the last seconds, DelayMicros the usual lateness of a timer, and
	// RoundMicros the usual time until enough other hosts have answered to make a majority.
	SyncMicros, DelayMicros, RoundMicros uint64
	// Stalls counts the seconds of the last two minutes in which the disk or the process stood still.
	Stalls uint64
}

// LedShards is a list of shards with their leader's observations.
type LedShards = List[LedShard, *LedShard]

// LedShard is a shard as its leader sees it.
type LedShard struct {
	ID   uint64
	Term uint64 // in the shard's own log
	// LedMillis is how long this host has led the shard.
	LedMillis uint64
	// Change numbers the membership, as read by the leader with a barrier.
	Change  uint64
	Members ShardMembers
	// Idle is set for a data shard with nothing to keep: no slot, no slot snapshot, no session, no pending work.
	Idle bool
	// QuotaPercent is the largest share of a quota in use, of the data shard or of a node in it.
	QuotaPercent uint64
	// CommitMicros is the 99th percentile of the times from proposal to commit in the last seconds; 0 if the shard has
	// committed nothing for this host.
	CommitMicros uint64
}

// ShardMembers is a list of shard members.
type ShardMembers = List[ShardMember, *ShardMember]

// ShardMember is a replica in a shard's membership, with its log progress according to its acknowledgements.
type ShardMember struct {
	ReplicaID   uint64
	HostID      uint64
	Incarnation []byte `wire:"bytes MaxIncarnationBytes"`
	Voter       bool
	Index       uint64 // the last acknowledged index
	// BehindMillis is the time since the leader had committed no more than Index.
	BehindMillis uint64
	// Tried is set if the leader has sent a message to the replica in the leader's term. SilentMillis is how long the
	// replica has not answered since.
	Tried        bool
	SilentMillis uint64
	// SnapshotPercent is the received part of a snapshot, SnapshotRate the rate in bytes per second; 0 unless a
	// snapshot is being sent.
	SnapshotPercent uint64
	SnapshotRate    uint64
}

// HeldReplicas is a list of replicas a host runs.
type HeldReplicas = List[HeldReplica, *HeldReplica]

// HeldReplica is a replica a host runs.
type HeldReplica struct {
	ShardID   uint64
	ReplicaID uint64
}

// CountedShards is a list of shards with their counters.
type CountedShards = List[CountedShard, *CountedShard]

// CountedShard is a data shard with the highest numbers it has issued.
type CountedShard struct {
	ShardID                              uint64
	LastOrder, LastRevision, LastSession uint64
}

// LeaderlessReplicas is a list of replicas that know no leader.
type LeaderlessReplicas = List[LeaderlessReplica, *LeaderlessReplica]

// LeaderlessReplica is a replica that knows no leader, with the last entry in the replica's log.
type LeaderlessReplica struct{ ShardID, ReplicaID, Term, Index uint64 }

// StepExecute asks a host to carry out a governor step. STALE means that the term is over, MOVED that the host does not
// lead the shard, FENCED that the membership has changed, UNAVAILABLE that the outcome is unknown.
type StepExecute struct {
	// Term is the meta shard term in which the asking host leads the meta shard.
	Term   uint64
	StepID uint64
	Effect EffectKind
	// ShardID and ReplicaID name the replica the step concerns.
	ShardID   uint64
	ReplicaID uint64
	// HostID is the host that gets the leadership, the replica's host, or the leader of Into; Incarnation identifies
	// that host's data directory.
	HostID      uint64
	Incarnation []byte `wire:"bytes MaxIncarnationBytes"`
	// Change numbers the membership the effect applies to.
	Change uint64
	// Rebuild is for EffectRebuild.
	Rebuild Rebuild
	// The following fields are for the slot effects. Generation numbers the attempt to move Slot. Into is the other
	// shard: the new owner for EffectMoveSlot, the old owner for EffectRefuseSlot. Large allows a slot above the size
	// limit.
	Into, Slot, Generation uint64
	Large                  bool
}

// Rebuild describes how to rebuild a shard.
type Rebuild struct {
	// Group numbers the new group. Empty is set if the group begins without a survivor from the previous group.
	Group uint64
	Empty bool
	// LongestMillis is the longest session timeout on record, and LongestSession the session with that timeout.
	LongestMillis  uint64
	LongestSession uint64
	// LastOrder, LastRevision and LastSession are the shard's counters as last reported, CountedMillis ago.
	LastOrder     uint64
	LastRevision  uint64
	LastSession   uint64
	CountedMillis uint64
	// Fresh is set for an added shard's group: it begins without content, without slots, and without a wait.
	Fresh bool
}

// StepExecuteAnswer answers a StepExecute.
type StepExecuteAnswer struct {
	// Outcome is the outcome of a slot effect. SlotNone means that the attempt is still open.
	Outcome SlotOutcome
	// Reason is why the slot was kept, for people.
	Reason []byte `wire:"text MaxOperatorTextBytes"`
}

// SlotOutcome is how an attempt to move a slot ended.
type SlotOutcome uint8

// The outcomes.
const (
	SlotNone   SlotOutcome = 0 // the attempt is open
	SlotOpened SlotOutcome = 1 // the new shard owns the slot
	SlotKept   SlotOutcome = 2 // the old shard still owns the slot, and the attempt cannot succeed later
)

// String returns the outcome as the docs write it.
func (o SlotOutcome) String() string { return nameOf(o, "SLOT_OUTCOME", "NONE", "OPENED", "KEPT") }

// SlotOffer offers a sealed slot to the leader of the shard that gets the slot. The offering host repeats the offer
// until the answer has an outcome. MOVED means that the asked host does not lead the shard.
type SlotOffer struct {
	ShardID    uint64 // the shard that gets the slot
	From       uint64 // the shard that has sealed the slot
	Slot       uint64
	Generation uint64 // numbers the attempt
	// Content is the slot's content.
	Content []byte `wire:"bytes MaxSlotBytes"`
}

// SlotOfferAnswer answers a SlotOffer.
type SlotOfferAnswer struct {
	Outcome SlotOutcome
	// Reason is why the slot was refused, for people.
	Reason []byte `wire:"text MaxOperatorTextBytes"`
	// Durable is set if the slot was opened, and every voter has this in its log.
	Durable bool
}

// EffectKind selects what a StepExecute asks a host to do. The kinds below 16 have the numbers of the governor's steps.
type EffectKind uint8

const (
	// EffectTransfer: the leader transfers the shard's leadership to HostID.
	EffectTransfer EffectKind = 1
	// EffectAdd: the leader adds ReplicaID on HostID as a learner.
	EffectAdd EffectKind = 2
	// EffectPromote: the leader makes the learner ReplicaID a voter.
	EffectPromote EffectKind = 3
	// EffectRemove: the leader removes ReplicaID.
	EffectRemove EffectKind = 4
	// EffectDeleteReplica: the host stops the removed replica ReplicaID, and deletes its data.
	EffectDeleteReplica EffectKind = 5
	// EffectMoveSlot: the leader seals Slot, and offers the slot to the shard Into, which HostID leads.
	EffectMoveSlot EffectKind = 8
	// EffectHold: the host starts the added replica ReplicaID.
	EffectHold EffectKind = 16
	// EffectRebuild: the host begins the new group Group of the shard, whose only replica is ReplicaID.
	EffectRebuild EffectKind = 17
	// EffectRefuseSlot: the leader refuses Slot from the shard Into, unless the slot was opened.
	EffectRefuseSlot EffectKind = 18
	// EffectCancelSlot: the leader takes back Slot, which was refused.
	EffectCancelSlot EffectKind = 19
)

// String returns the effect as the docs write it, or the number if unknown.
func (k EffectKind) String() string {
	switch k {
	case EffectMoveSlot:
		return "MOVE_SLOT"
	case EffectHold:
		return "HOLD"
	case EffectRebuild:
		return "REBUILD"
	case EffectRefuseSlot:
		return "REFUSE_SLOT"
	case EffectCancelSlot:
		return "CANCEL_SLOT"
	}
	return nameOf(k, "EFFECT", "EFFECT_0", "TRANSFER", "ADD", "PROMOTE", "REMOVE", "DELETE_REPLICA")
}
