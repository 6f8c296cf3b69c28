package protocol

// What hosts say of themselves to the host that leads the meta shard. Another one answers MOVED, with the leader if it
// knows it, and carries nothing out.

// HostBoot says that the process of a host has started.
type HostBoot struct {
	HostID      uint64
	Incarnation []byte // of its data directory
	// StartNumber is one more with each start on the directory. StartDraw was drawn by this process.
	StartNumber uint64
	StartDraw   uint64
	// RaftAddress, ClientAddress and AdminAddress are where it is reached. The last may be empty.
	RaftAddress   []byte
	ClientAddress []byte
	AdminAddress  []byte
	Version       []byte // of its program
	Level         uint64 // the highest feature level that it can follow
	// Domain is where it stands, as KEY=VALUE,KEY=VALUE. It counts where the host has none on record.
	Domain []byte
}

// Kind returns KindHostBoot.
func (*HostBoot) Kind() Kind { return KindHostBoot }

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

// Kind returns the kind of the answer to a HostBoot.
func (*HostBootAnswer) Kind() Kind { return KindHostBoot.Answer() }

func (*HostBootAnswer) answerFields(*codec) {}

// HostSay says something else of a host.
type HostSay struct {
	What        HostWord
	HostID      uint64
	Incarnation []byte
	StartNumber uint64
	StartDraw   uint64
	// Epoch is that of the target which a host has found that returns.
	Epoch uint64
	// RaftAddress, ClientAddress and AdminAddress are the new ones of a host that is renamed.
	RaftAddress   []byte
	ClientAddress []byte
	AdminAddress  []byte
	// ShardID and Bytes are of a state that is saved for a backup: how much of it the client has.
	ShardID uint64
	Bytes   uint64
	// Asked is what the host does, or has done, for a client.
	Asked HostAsked
}

// HostAsked is who has asked a host for something that goes into the history of the cluster.
type HostAsked struct {
	By []byte
	// What was asked for, and why: empty for a state that is saved.
	What   []byte
	Reason []byte
}

func (a *HostAsked) fields(c *codec) {
	c.text("by", &a.By, MaxOperatorTextBytes)
	c.text("what", &a.What, MaxOperatorTextBytes)
	c.text("reason", &a.Reason, MaxOperatorTextBytes)
}

// Kind returns KindHostSay.
func (*HostSay) Kind() Kind { return KindHostSay }

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

// Kind returns the kind of the answer to a HostSay.
func (*HostSayAnswer) Kind() Kind { return KindHostSay.Answer() }

func (*HostSayAnswer) answerFields(*codec) {}

// HostWord is what a host says of itself.
type HostWord uint8

const (
	// HostStops: its process is to stop.
	HostStops HostWord = 1
	// HostReturns: it finds itself taken for failed, and is not.
	HostReturns HostWord = 2
	// HostMoves: it is reached at other addresses.
	HostMoves HostWord = 3
	// HostSaves: a client begins to save the state of a shard from it.
	HostSaves HostWord = 4
	// HostSaved: that client has all of the state.
	HostSaved HostWord = 5
	// HostGaveUp: that client does not get the rest of the state.
	HostGaveUp HostWord = 6
	// HostNotes: a client has changed something through it, and said why.
	HostNotes HostWord = 7
)

// String returns the word as the docs write it, or its number where it is not known here.
func (w HostWord) String() string {
	return nameOf(w, "HOST_WORD", "HOST_WORD_0", "STOPS", "RETURNS", "MOVES", "SAVES", "SAVED", "GAVE_UP", "NOTES")
}
