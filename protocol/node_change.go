package protocol

// NodeAlter changes the config of a node: what is not zero. The node is named by its path, by its id, or
// by both, which must then belong together.
type NodeAlter struct {
	Path   []byte
	Config NodeConfig
	NodeID uint64
	// ConfigVersion, if it is not 0, is the one that the config must have for the change to be made.
	ConfigVersion uint64
}

// Kind returns KindNodeAlter.
func (*NodeAlter) Kind() Kind { return KindNodeAlter }

func (m *NodeAlter) requestFields(c *codec) {
	c.text("path", &m.Path, MaxPathBytes)
	c.record("config", m.Config.fields)
	c.uint("node_id", &m.NodeID)
	c.uint("config_version", &m.ConfigVersion)
}

// NodeAlterAnswer answers a NodeAlter.
type NodeAlterAnswer struct {
	// Node is the node after the change.
	Node Node
}

// Kind returns the kind of the answer to a NodeAlter.
func (*NodeAlterAnswer) Kind() Kind { return KindNodeAlter.Answer() }

func (m *NodeAlterAnswer) answerFields(c *codec) {
	c.record("node", m.Node.fields)
}

// NodeDrop removes a node with its semaphores, and ends its sessions. The node is named by its path, by
// its id, or by both, which must then belong together.
type NodeDrop struct {
	Path   []byte
	NodeID uint64
}

// Kind returns KindNodeDrop.
func (*NodeDrop) Kind() Kind { return KindNodeDrop }

func (m *NodeDrop) requestFields(c *codec) {
	c.text("path", &m.Path, MaxPathBytes)
	c.uint("node_id", &m.NodeID)
}

// NodeDropAnswer answers a NodeDrop.
type NodeDropAnswer struct{}

// Kind returns the kind of the answer to a NodeDrop.
func (*NodeDropAnswer) Kind() Kind { return KindNodeDrop.Answer() }

func (*NodeDropAnswer) answerFields(*codec) {}

// NodeList asks for the nodes whose path begins with Prefix, ordered by path.
type NodeList struct {
	Prefix []byte
	// After is the Next of the page before; empty for the first page.
	After []byte
	// Limit is the most nodes that the page may have; 0 leaves it to the host.
	Limit uint64
}

// Kind returns KindNodeList.
func (*NodeList) Kind() Kind { return KindNodeList }

func (m *NodeList) requestFields(c *codec) {
	c.text("prefix", &m.Prefix, MaxPathBytes)
	c.text("after", &m.After, MaxPathBytes)
	c.uint("limit", &m.Limit)
}

// NodeListAnswer answers a NodeList.
type NodeListAnswer struct {
	Nodes Nodes
	// Next is where the next page begins; empty where this is the last one.
	Next []byte
}

// Kind returns the kind of the answer to a NodeList.
func (*NodeListAnswer) Kind() Kind { return KindNodeList.Answer() }

func (m *NodeListAnswer) answerFields(c *codec) {
	m.Nodes.list(c, "nodes")
	c.text("next", &m.Next, MaxPathBytes)
}
