package protocol

// BackupDescribe asks for a description of the cluster for a backup. Any host answers.
type BackupDescribe struct{}

// BackupDescribeAnswer answers a BackupDescribe.
type BackupDescribeAnswer struct {
	ClusterID  []byte `wire:"text MaxClusterIDBytes"`
	Generation Generation
	// Shards is the number of data shards, whose ids count from 1. Level is the feature level of the cluster.
	Shards uint64
	Level  uint64
	// HostVersion is the version of the host's program.
	HostVersion []byte `wire:"text MaxVersionBytes"`
}

// BackupBegin fixes the state of a shard for a client, which then reads the state over this connection. The request
// goes to the shard's leader. The state has everything that was acknowledged before the request.
type BackupBegin struct {
	ShardID uint64 // 0 for the meta shard
}

// BackupBeginAnswer answers a BackupBegin.
type BackupBeginAnswer struct {
	// StateID names the state in the reads over this connection.
	StateID uint64
	// Term and Index are the end of the shard's log at the moment of the state.
	Term  uint64
	Index uint64
}

// BackupRead asks for the next piece of a state. NOT_FOUND says that the host has given the state up: the client reads
// over another connection, or too much time has passed.
type BackupRead struct {
	StateID uint64
}

// BackupReadAnswer answers a BackupRead.
type BackupReadAnswer struct {
	// Piece is the next part of the state, at most PageBytes.
	Piece []byte `wire:"bytes PageBytes"`
	// Done: the piece is the last.
	Done bool
}

// BackupEnd gives up a state that the client does not read to the end. A missing state is given up already, and the
// answer is a success.
type BackupEnd struct {
	StateID uint64
}

// BackupEndAnswer answers a BackupEnd.
type BackupEndAnswer struct{}
