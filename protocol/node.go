package protocol

// Node is a coordination node: a named namespace of semaphores and sessions.
type Node struct {
	// ID is the node's for ever: a path that is dropped and created again gets another one.
	ID     uint64
	Path   []byte
	Config NodeConfig
	// ConfigVersion grows with every change of the config.
	ConfigVersion uint64
}

func (n *Node) item(c *codec) { c.record("", n.fields) }

func (n *Node) fields(c *codec) {
	c.uint("id", &n.ID)
	c.text("path", &n.Path, MaxPathBytes)
	c.record("config", n.Config.fields)
	c.uint("config_version", &n.ConfigVersion)
}

// Nodes is a list of nodes.
type Nodes = List[Node, *Node]

// NodeConfig is how a node behaves. What is zero is not set: a host uses its default, and a NodeAlter
// leaves it as it was.
type NodeConfig struct {
	// SelfCheckPeriodMillis is how often a leader makes sure that it leads.
	SelfCheckPeriodMillis uint64
	// SessionGracePeriodMillis is what sessions get on top of their timeout when a leader changes. It is
	// greater than SelfCheckPeriodMillis.
	SessionGracePeriodMillis uint64
	ReadConsistency          Consistency
	AttachConsistency        Consistency
	RateLimiterCountersMode  CountersMode
}

func (f *NodeConfig) fields(c *codec) {
	c.uint("self_check_period_ms", &f.SelfCheckPeriodMillis)
	c.uint("session_grace_period_ms", &f.SessionGracePeriodMillis)
	enum(c, "read_consistency", &f.ReadConsistency)
	enum(c, "attach_consistency", &f.AttachConsistency)
	enum(c, "rate_limiter_counters_mode", &f.RateLimiterCountersMode)
}

// NodeCreate creates a node. Where the path exists, its node is left as it is.
type NodeCreate struct {
	Path   []byte
	Config NodeConfig
}

// Kind returns KindNodeCreate.
func (*NodeCreate) Kind() Kind { return KindNodeCreate }

func (m *NodeCreate) requestFields(c *codec) {
	c.text("path", &m.Path, MaxPathBytes)
	c.record("config", m.Config.fields)
}

// NodeCreateAnswer answers a NodeCreate.
type NodeCreateAnswer struct {
	Node Node
	// Existed: the node was there before, and nothing was changed.
	Existed bool
}

// Kind returns the kind of the answer to a NodeCreate.
func (*NodeCreateAnswer) Kind() Kind { return KindNodeCreate.Answer() }

func (m *NodeCreateAnswer) answerFields(c *codec) {
	c.record("node", m.Node.fields)
	c.bool("existed", &m.Existed)
}

// NodeDescribe asks for a node by its path, by its id, or by both, which must then belong together.
type NodeDescribe struct {
	Path   []byte
	NodeID uint64
}

// Kind returns KindNodeDescribe.
func (*NodeDescribe) Kind() Kind { return KindNodeDescribe }

func (m *NodeDescribe) requestFields(c *codec) {
	c.text("path", &m.Path, MaxPathBytes)
	c.uint("node_id", &m.NodeID)
}

// NodeDescribeAnswer answers a NodeDescribe.
type NodeDescribeAnswer struct {
	Node Node
}

// Kind returns the kind of the answer to a NodeDescribe.
func (*NodeDescribeAnswer) Kind() Kind { return KindNodeDescribe.Answer() }

func (m *NodeDescribeAnswer) answerFields(c *codec) {
	c.record("node", m.Node.fields)
}
