package protocol

// Node is a coordination node: a named namespace of semaphores and sessions.
type Node struct {
	// ID names the node for ever: a new node on the path of a dropped node gets a new ID.
	ID     uint64
	Path   []byte `wire:"text MaxPathBytes"`
	Config NodeConfig
	// ConfigVersion grows with every change of the config.
	ConfigVersion uint64
}

// Nodes is a list of nodes.
type Nodes = List[Node, *Node]

// NodeConfig is the behaviour of a node. A zero field is not set: a host uses its default, and a NodeAlter leaves the
// field as before.
type NodeConfig struct {
	// SelfCheckPeriodMillis is how often a leader makes sure of its leadership.
	SelfCheckPeriodMillis uint64
	// SessionGracePeriodMillis is the time that sessions get on top of their timeout when a leader changes. The time is
	// longer than SelfCheckPeriodMillis.
	SessionGracePeriodMillis uint64
	ReadConsistency          Consistency
	AttachConsistency        Consistency
	RateLimiterCountersMode  CountersMode
	// QuotaObjects and QuotaBytes are how much the node may have in each data shard.
	QuotaObjects uint64
	QuotaBytes   uint64
	Asked        AskedConfig
	// LongestWaitMillis is how long a session may wait for a semaphore of the node before a host reports the wait as a
	// concern. Forever is never, as is 0.
	LongestWaitMillis uint64
}

// AskedConfig is the config of a node in the words of a client that may ask for values that a host refuses. A gateway
// keeps the words here, beside the config that the gateway makes of the words. Hosts do not act on AskedConfig. A zero
// field says that the client asked for exactly the value in the NodeConfig. A change of a field of NodeConfig without a
// new asked field sets the asked field to zero.
type AskedConfig struct {
	SelfCheckPeriodMillis    uint64
	SessionGracePeriodMillis uint64
	ReadConsistency          uint64
	AttachConsistency        uint64
	RateLimiterCountersMode  uint64
}

// Idempotency makes a change of nodes happen at most once, however often the request is sent. The zero value means a
// request without a sequence. All three fields stay the same in every repetition. A client may send the fields only to
// a host whose Welcome had a Since other than 0.
type Idempotency struct {
	// Client is MaxClientIDBytes random bytes, generated when the client starts.
	Client []byte `wire:"bytes MaxClientIDBytes"`
	// Sequence is unique among the requests of the client.
	Sequence uint64
	// Since is the largest Since that the client had from hosts of the cluster before the first sending of the request.
	Since uint64
}

// NodeCreate creates a node. A node that exists at the path stays as it is.
type NodeCreate struct {
	Path        []byte `wire:"text MaxPathBytes"`
	Config      NodeConfig
	Idempotency Idempotency
}

// NodeCreateAnswer answers a NodeCreate.
type NodeCreateAnswer struct {
	Node Node
	// Existed: the node was there before, and nothing was changed.
	Existed bool
	// Since goes into idempotent requests that the client sends for the first time from now on.
	Since uint64
}

// NodeDescribe asks for a node by its path, by its id, or by both, which must then belong together.
type NodeDescribe struct {
	Path   []byte `wire:"text MaxPathBytes"`
	NodeID uint64
}

// NodeDescribeAnswer answers a NodeDescribe.
type NodeDescribeAnswer struct {
	Node Node
}

// NodeAlter changes the config of a node to the nonzero fields of Config. The request names the node by its path, by
// its id, or by both, which must then belong together.
type NodeAlter struct {
	Path   []byte `wire:"text MaxPathBytes"`
	Config NodeConfig
	NodeID uint64
	// ConfigVersion, if not 0, is the version that the config must have for the change to be made.
	ConfigVersion uint64
	Idempotency   Idempotency
}

// NodeAlterAnswer answers a NodeAlter.
type NodeAlterAnswer struct {
	// Node is the node after the change.
	Node Node
	// Since goes into idempotent requests that the client sends for the first time from now on.
	Since uint64
}

// NodeDrop removes a node with its semaphores, and ends its sessions. The request names the node by its path, by its
// id, or by both, which must then belong together.
type NodeDrop struct {
	Path        []byte `wire:"text MaxPathBytes"`
	NodeID      uint64
	Idempotency Idempotency
}

// NodeDropAnswer answers a NodeDrop.
type NodeDropAnswer struct {
	// Since goes into idempotent requests that the client sends for the first time from now on.
	Since uint64
}

// NodeList asks for the nodes whose path begins with Prefix, ordered by path.
type NodeList struct {
	Prefix []byte `wire:"text MaxPathBytes"`
	// After is the Next of the page before; empty for the first page.
	After []byte `wire:"text MaxPathBytes"`
	// Limit is the most nodes that the page may have; 0 leaves the choice to the host.
	Limit uint64
}

// NodeListAnswer answers a NodeList.
type NodeListAnswer struct {
	Nodes Nodes
	// Next is the start of the next page; empty on the last page.
	Next []byte `wire:"text MaxPathBytes"`
}

// Consistency says how fresh the state must be for a read or an attach.
type Consistency uint8

const (
	// ConsistencyUnset leaves the choice to the node, and in a node's config to the default.
	ConsistencyUnset Consistency = 0
	// ConsistencyStrict: nothing acknowledged before the sending of the request may be missing. A strict read costs a
	// round among the hosts of the shard, which many requests share.
	ConsistencyStrict Consistency = 1
	// ConsistencyRelaxed: from the memory of a host that lately knew itself to be up to date.
	ConsistencyRelaxed Consistency = 2
)

// String returns the mode as the docs write it, or the number of an unknown mode.
func (m Consistency) String() string {
	return nameOf(m, "CONSISTENCY", "UNSET", "STRICT", "RELAXED")
}

// CountersMode says how finely the metrics of a node count.
type CountersMode uint8

const (
	// CountersUnset leaves the choice to the default: AGGREGATED, without ephemeral semaphores.
	CountersUnset CountersMode = 0
	// CountersAggregated counts by semaphore.
	CountersAggregated CountersMode = 1
	// CountersDetailed counts by owner too.
	CountersDetailed CountersMode = 2
)

// String returns the mode as the docs write it, or the number of an unknown mode.
func (m CountersMode) String() string {
	return nameOf(m, "COUNTERS_MODE", "UNSET", "AGGREGATED", "DETAILED")
}
