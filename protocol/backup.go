package protocol

// BackupDescribe asks for a cluster description for a backup. Any host answers.
type BackupDescribe struct{}

// BackupDescribeAnswer answers a BackupDescribe.
type BackupDescribeAnswer struct {
	ClusterID  []byte `wire:"text MaxClusterIDBytes"`
	Generation Generation
	// ShardIDs are the data shards to save: those that have slots, or that a slot moves to.
	ShardIDs ShardIDs
	Level    uint64 // the cluster's feature level
	// HostVersion is the program version on the host.
	HostVersion []byte `wire:"text MaxVersionBytes"`
}

// BackupBegin fixes a shard's state for a client, which then reads the state over this connection. The request goes to
// the shard's leader. The state has everything that was acknowledged before the request.
type BackupBegin struct {
	ShardID uint64 // 0 for the meta shard
}

// BackupBeginAnswer answers a BackupBegin.
type BackupBeginAnswer struct {
	// StateID identifies the state in reads over this connection.
	StateID uint64
	// Term and Index are the end of the shard's log in the fixed state.
	Term  uint64
	Index uint64
	// Slots are the slots in the state of a data shard, in ascending order, without those that the shard never had.
	// ShardID is the shard with the content: this shard, or the shard to which this shard has given the slot under the
	// generation.
	Slots SlotRanges
}

// BackupRead asks for the next piece of a state. NOT_FOUND means that the host has released the state: the client reads
// over another connection, or too much time has passed.
type BackupRead struct {
	StateID uint64
}

// BackupReadAnswer answers a BackupRead.
type BackupReadAnswer struct {
	// Piece is the next part of the state, at most PageBytes.
	Piece []byte `wire:"bytes PageBytes"`
	// Done is set on the last piece.
	Done bool
}

// BackupEnd releases a state the client does not read to the end. If the state is already released, the answer is a
// success.
type BackupEnd struct {
	StateID uint64
}

// BackupEndAnswer answers a BackupEnd.
type BackupEndAnswer struct{}
