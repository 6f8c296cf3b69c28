package protocol

// The messages of a host about itself to the leader of the meta shard. A host that does not lead the meta shard answers
// MOVED, with the leader if known, and does nothing else.

// HostBoot says that the process of a host has started.
type HostBoot struct {
	HostID      uint64
	Incarnation []byte // of its data directory
	// StartNumber grows by one with each start on the directory. This process has drawn StartDraw.
	StartNumber uint64
	StartDraw   uint64
	// RaftAddress, ClientAddress and AdminAddress are the addresses of the host. The last may be empty.
	RaftAddress   []byte
	ClientAddress []byte
	AdminAddress  []byte
	Version       []byte // of the host's program
	Level         uint64 // the highest feature level that the host can follow
	// Domain is the host's failure domain, as KEY=VALUE,KEY=VALUE. The domain counts only for a host without a domain
	// on record.
	Domain []byte
}

func (m *HostBoot) requestFields(c *codec) {
	c.uint("host_id", &m.HostID)
	c.bytes("incarnation", &m.Incarnation, MaxIncarnationBytes)
	c.uint("start_number", &m.StartNumber)
	c.uint("start_draw", &m.StartDraw)
	c.text("raft_address", &m.RaftAddress, MaxAddressBytes)
	c.text("client_address", &m.ClientAddress, MaxAddressBytes)
	c.text("admin_address", &m.AdminAddress, MaxAddressBytes)
	c.text("version", &m.Version, MaxVersionBytes)
	c.uint("level", &m.Level)
	c.text("domain", &m.Domain, MaxDomainBytes)
}

// HostBootAnswer answers a HostBoot that is on record.
type HostBootAnswer struct{}

func (*HostBootAnswer) answerFields(*codec) {}

// HostSay reports something else about a host.
type HostSay struct {
	What        HostWord
	HostID      uint64
	Incarnation []byte
	StartNumber uint64
	StartDraw   uint64
	// Epoch is the epoch of the target that a returning host has found.
	Epoch uint64
	// RaftAddress, ClientAddress and AdminAddress are the new addresses of a renamed host.
	RaftAddress   []byte
	ClientAddress []byte
	AdminAddress  []byte
	// ShardID and Bytes are of a state that is saved for a backup. Bytes is the part of the state that the client has.
	ShardID uint64
	Bytes   uint64
	// Asked is the request of a client that the host serves, or has served.
	Asked HostAsked
}

// HostAsked is the request of a client to a host, for the history of the cluster.
type HostAsked struct {
	By []byte
	// What the client asked for, and the reason: empty for a state that is saved.
	What   []byte
	Reason []byte
}

func (a *HostAsked) fields(c *codec) {
	c.text("by", &a.By, MaxOperatorTextBytes)
	c.text("what", &a.What, MaxOperatorTextBytes)
	c.text("reason", &a.Reason, MaxOperatorTextBytes)
}

func (m *HostSay) requestFields(c *codec) {
	enum(c, "what", &m.What)
	c.uint("host_id", &m.HostID)
	c.bytes("incarnation", &m.Incarnation, MaxIncarnationBytes)
	c.uint("start_number", &m.StartNumber)
	c.uint("start_draw", &m.StartDraw)
	c.uint("epoch", &m.Epoch)
	c.text("raft_address", &m.RaftAddress, MaxAddressBytes)
	c.text("client_address", &m.ClientAddress, MaxAddressBytes)
	c.text("admin_address", &m.AdminAddress, MaxAddressBytes)
	c.uint("shard_id", &m.ShardID)
	c.uint("bytes", &m.Bytes)
	c.record("asked", m.Asked.fields)
}

// HostSayAnswer answers a HostSay that is on record.
type HostSayAnswer struct{}

func (*HostSayAnswer) answerFields(*codec) {}

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
