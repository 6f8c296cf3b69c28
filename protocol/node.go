package protocol

// Node is a coordination node: a named namespace of semaphores and sessions.
type Node struct {
	// ID identifies the node permanently: a new node on a dropped node's path gets a new ID.
	ID     uint64
	Path   []byte `wire:"text MaxPathBytes"`
	Config NodeConfig
	// ConfigVersion grows with every config change.
	ConfigVersion uint64
}

// Nodes is a list of nodes.
type Nodes = List[Node, *Node]

// NodeConfig configures a node. A zero field is not set: a host uses its default, and a NodeAlter leaves the field
// unchanged.
type NodeConfig struct {
	// SelfCheckPeriodMillis is how often a leader confirms its leadership.
	SelfCheckPeriodMillis uint64
	// SessionGracePeriodMillis is added to session timeouts when a leader changes. It is longer than
	// SelfCheckPeriodMillis.
	SessionGracePeriodMillis uint64
	ReadConsistency          Consistency
	AttachConsistency        Consistency
	RateLimiterCountersMode  CountersMode
	// QuotaObjects and QuotaBytes are the node's quotas in each data shard.
	QuotaObjects uint64
	QuotaBytes   uint64
	Asked        AskedConfig
	// LongestWaitMillis is how long a session may wait for a semaphore in the node before a host reports a health
	// issue. Forever is never. 0 is the default, and the issue then has severity info.
	LongestWaitMillis uint64
}

// AskedConfig is the node config as requested by a client that may ask for values a host refuses. A gateway stores the
// requested values here, beside the config it derives from them. Hosts do not act on AskedConfig. A zero field means
// that the client asked for exactly the value in the NodeConfig. Changing a NodeConfig field without a new asked field
// sets the asked field to zero.
type AskedConfig struct {
	SelfCheckPeriodMillis    uint64
	SessionGracePeriodMillis uint64
	ReadConsistency          uint64
	AttachConsistency        uint64
	RateLimiterCountersMode  uint64
}

// Idempotency ensures that a node change happens at most once, however often the request is sent. The zero value means
// a request without a sequence. All three fields stay the same in every retry. A client may send the fields only to a
// host whose Welcome had a nonzero Since.
type Idempotency struct {
	// Client is MaxClientIDBytes random bytes, generated when the client starts.
	Client []byte `wire:"bytes MaxClientIDBytes"`
	// Sequence is unique among the client's requests.
	Sequence uint64
	// Since is the largest Since the client had received from hosts in the cluster before it first sent the request.
	Since uint64
}

// NodeCreate creates a node. An existing node at the path is unchanged.
type NodeCreate struct {
	Path        []byte `wire:"text MaxPathBytes"`
	Config      NodeConfig
	Idempotency Idempotency
}

// NodeCreateAnswer answers a NodeCreate.
type NodeCreateAnswer struct {
	Node Node
	// Existed is set if the node existed before, and nothing was changed.
	Existed bool
	// Since is for idempotent requests the client sends for the first time from now on.
	Since uint64
}

// NodeDescribe asks for a node by its path, by its id, or by both, which must then match.
type NodeDescribe struct {
	Path   []byte `wire:"text MaxPathBytes"`
	NodeID uint64
}

// NodeDescribeAnswer answers a NodeDescribe.
type NodeDescribeAnswer struct {
	Node Node
}

// NodeAlter sets the nonzero Config fields in a node's config. The request names the node by its path, by its id, or by
// both, which must then match.
type NodeAlter struct {
	Path   []byte `wire:"text MaxPathBytes"`
	Config NodeConfig
	NodeID uint64
	// ConfigVersion, if not 0, is the version the config must have; otherwise the change is refused.
	ConfigVersion uint64
	Idempotency   Idempotency
}

// NodeAlterAnswer answers a NodeAlter.
type NodeAlterAnswer struct {
	// Node is the node after the change.
	Node Node
	// Since is for idempotent requests the client sends for the first time from now on.
	Since uint64
}

// NodeDrop removes a node with its semaphores, and ends its sessions. The request names the node by its path, by its
// id, or by both, which must then match.
type NodeDrop struct {
	Path        []byte `wire:"text MaxPathBytes"`
	NodeID      uint64
	Idempotency Idempotency
}

// NodeDropAnswer answers a NodeDrop.
type NodeDropAnswer struct {
	// Since is for idempotent requests the client sends for the first time from now on.
	Since uint64
}

// NodeList asks for the nodes with paths that begin with Prefix, sorted by path.
type NodeList struct {
	Prefix []byte `wire:"text MaxPathBytes"`
	// After is the previous page's Next; empty for the first page.
	After []byte `wire:"text MaxPathBytes"`
	// Limit is the maximum number of nodes on the page; 0 lets the host choose.
	Limit uint64
}

// NodeListAnswer answers a NodeList.
type NodeListAnswer struct {
	Nodes Nodes
	// Next is the start of the next page; empty on the last page.
	Next []byte `wire:"text MaxPathBytes"`
}

// Consistency is how fresh the state must be for a read or an attach.
type Consistency uint8

const (
	// ConsistencyUnset leaves the choice to the node's config; in a node's config, it selects the default.
	ConsistencyUnset Consistency = 0
	// ConsistencyStrict: everything acknowledged before the request was sent must be included. A strict read costs one
	// round between the shard's hosts, shared by many requests.
	ConsistencyStrict Consistency = 1
	// ConsistencyRelaxed: from the memory of a host that was recently confirmed to be up to date.
	ConsistencyRelaxed Consistency = 2
)

// String returns the mode as the docs write it, or the number if unknown.
func (m Consistency) String() string {
	return nameOf(m, "CONSISTENCY", "UNSET", "STRICT", "RELAXED")
}

// CountersMode is the granularity of a node's metrics.
type CountersMode uint8

const (
	// CountersUnset selects the default: AGGREGATED, without ephemeral semaphores.
	CountersUnset CountersMode = 0
	// CountersAggregated counts by semaphore.
	CountersAggregated CountersMode = 1
	// CountersDetailed counts by owner too.
	CountersDetailed CountersMode = 2
)

// String returns the mode as the docs write it, or the number if unknown.
func (m CountersMode) String() string {
	return nameOf(m, "COUNTERS_MODE", "UNSET", "AGGREGATED", "DETAILED")
}
