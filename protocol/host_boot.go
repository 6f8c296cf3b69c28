package protocol

// The messages of a host about itself to the leader of the meta shard. A host that does not lead the meta shard answers
// MOVED, with the leader if known, and does nothing else.

// HostBoot says that the process of a host has started.
type HostBoot struct {
	HostID      uint64
	Incarnation []byte `wire:"bytes MaxIncarnationBytes"` // of its data directory
	// StartNumber grows by one with each start on the directory. This process has drawn StartDraw.
	StartNumber uint64
	StartDraw   uint64
	// RaftAddress, ClientAddress and AdminAddress are the addresses of the host. The last may be empty.
	RaftAddress   []byte `wire:"text MaxAddressBytes"`
	ClientAddress []byte `wire:"text MaxAddressBytes"`
	AdminAddress  []byte `wire:"text MaxAddressBytes"`
	Version       []byte `wire:"text MaxVersionBytes"` // of the host's program
	Level         uint64 // the highest feature level that the host can follow
	// Domain is the host's failure domain, as KEY=VALUE,KEY=VALUE. The domain counts only for a host without a domain
	// on record.
	Domain []byte `wire:"text MaxDomainBytes"`
}

// HostBootAnswer answers a HostBoot that is on record.
type HostBootAnswer struct{}

// HostSay reports something else about a host.
type HostSay struct {
	What        HostWord
	HostID      uint64
	Incarnation []byte `wire:"bytes MaxIncarnationBytes"`
	StartNumber uint64
	StartDraw   uint64
	// Epoch is the epoch of the target that a returning host has found.
	Epoch uint64
	// RaftAddress, ClientAddress and AdminAddress are the new addresses of a renamed host.
	RaftAddress   []byte `wire:"text MaxAddressBytes"`
	ClientAddress []byte `wire:"text MaxAddressBytes"`
	AdminAddress  []byte `wire:"text MaxAddressBytes"`
	// ShardID and Bytes are of a state that is saved for a backup. Bytes is the part of the state that the client has.
	ShardID uint64
	Bytes   uint64
	// Asked is the request of a client that the host serves, or has served.
	Asked HostAsked
}

// HostAsked is the request of a client to a host, for the history of the cluster.
type HostAsked struct {
	By []byte `wire:"text MaxOperatorTextBytes"`
	// What the client asked for, and the reason: empty for a state that is saved.
	What   []byte `wire:"text MaxOperatorTextBytes"`
	Reason []byte `wire:"text MaxOperatorTextBytes"`
}

// HostSayAnswer answers a HostSay that is on record.
type HostSayAnswer struct{}

// HostWord says what a HostSay is about.
type HostWord uint8

const (
	// HostStops: the process of the host is about to stop.
	HostStops HostWord = 1
	// HostReturns: the host counts as failed, and is not.
	HostReturns HostWord = 2
	// HostMoves: the host has new addresses.
	HostMoves HostWord = 3
	// HostSaves: a client begins to save the state of a shard from the host.
	HostSaves HostWord = 4
	// HostSaved: the client of HostSaves has all of the state.
	HostSaved HostWord = 5
	// HostGaveUp: the client of HostSaves does not get the rest of the state.
	HostGaveUp HostWord = 6
	// HostNotes: a client has changed something through the host, and has given a reason.
	HostNotes HostWord = 7
)

// String returns the word as the docs write it, or the number of an unknown word.
func (w HostWord) String() string {
	return nameOf(w, "HOST_WORD", "HOST_WORD_0", "STOPS", "RETURNS", "MOVES", "SAVES", "SAVED", "GAVE_UP", "NOTES")
}
