package meta

import (
	"cmp"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// Node is a coordination node. It is a plain value; the next change creates a new value.
type Node struct {
	ID      shard.NodeID
	Path    string
	Config  Config // as set; Config.Effective fills in the defaults
	Version uint64 // config version: 1 at the creation, grows by one with each change
	Timing  Timing
	// Timed is the machine's version at the last change to the effective grace or self-check period. A host at that
	// version or later uses the present Config.
	Timed uint64
}

// Confirmed reports whether all hosts use the node's present grace and self-check periods. While it is false the meta
// shard's leader waits until all hosts have seen Timed, and then proposes CmdGraceConfirmed.
func (n Node) Confirmed() bool {
	return n.Timing == confirmedTiming(n.Timing.Since, n.Config.Effective())
}

func (m *Machine) nodeCreate(c *Command) {
	path, err := ParsePath(c.Path)
	err = cmp.Or(err, c.Config.Validate())
	switch n := m.byPath.get(path); {
	case err != nil:
		m.refuse(protocol.StatusBadRequest, "%v", err)
	case n != nil:
		m.accept(FlagExisted).Node = *n
	case len(m.byPath.entries) >= MaxNodes:
		m.refuse(protocol.StatusPreconditionFailed,
			"the cluster has the maximum, %d nodes; drop unneeded nodes", MaxNodes)
	default:
		m.lastNode++
		n = &Node{
			ID: m.lastNode, Path: path, Config: c.Config, Version: 1,
			Timing: confirmedTiming(1, c.Config.Effective()), Timed: m.version + 1,
		}
		m.putNode(n)
		m.change(0).Node = *n
		m.emit(EffectNodeChanged).Node = *n
	}
}

func (m *Machine) nodeAlter(c *Command) {
	n := m.named(c)
	if n == nil {
		return
	}
	if c.Expected != 0 && c.Expected != n.Version {
		m.refuse(protocol.StatusPreconditionFailed,
			"the config of %s has version %d, not %d; describe the node and decide anew",
			shown(n.Path), n.Version, c.Expected).Node = *n
		return
	}
	config := n.Config.Merge(c.Config)
	if err := config.Validate(); err != nil {
		m.refuse(protocol.StatusBadRequest, "%s: %v", shown(n.Path), err)
		return
	}
	if config == n.Config {
		m.accept(0).Node = *n
		return
	}
	next := *n
	next.Config = config
	next.Version++
	next.Timing = n.Timing.altered(next.Version, n.Config.Effective(), config.Effective())
	if next.Timing.Since == next.Version {
		next.Timed = m.version + 1
	}
	m.putNode(&next)
	m.change(0).Node = next
	m.emit(EffectNodeChanged).Node = next
}

func (m *Machine) nodeDrop(c *Command) {
	n := m.named(c)
	if n == nil {
		return
	}
	if len(m.dropping.entries) >= MaxDropping {
		m.refuse(protocol.StatusOverloaded,
			"%d dropped nodes wait for the data shards to clear them; try again later", MaxDropping)
		return
	}
	m.byPath.remove(n.Path)
	m.byID.remove(n.ID)
	m.change(0).Node = *n
	if len(m.routing.Shards) > 0 {
		m.dropping.put(&Dropped{ID: n.ID, Version: m.version, Pending: m.routing.Shards})
	}
	m.emit(EffectNodeDropped).Node = *n
}

func (m *Machine) graceConfirmed(c *Command) {
	switch n := m.byID.get(c.Node); {
	case c.Node == 0 || c.Expected == 0:
		m.refuse(protocol.StatusBadRequest, "a node id and a config version are needed")
	case n == nil:
		m.refuse(protocol.StatusNotFound, "there is no node with id %d", c.Node)
	case c.Expected > n.Version:
		m.refuse(protocol.StatusPreconditionFailed,
			"the config of %s has version %d; no host can have seen %d", shown(n.Path), n.Version, c.Expected)
	case c.Expected < n.Timing.Since:
		// The hosts were asked about an older change. Their answers do not apply to the present change.
		m.refuse(protocol.StatusPreconditionFailed,
			"the timing of %s changed with version %d; version %d does not settle it",
			shown(n.Path), n.Timing.Since, c.Expected)
	case n.Confirmed():
		m.accept(0).Node = *n
	default:
		next := *n
		next.Timing = confirmedTiming(n.Timing.Since, n.Config.Effective())
		m.putNode(&next)
		m.change(0).Node = next
		m.emit(EffectNodeChanged).Node = next
	}
}

// putNode puts the node into both indexes.
func (m *Machine) putNode(n *Node) {
	m.byPath.put(n)
	m.byID.put(n)
}

// named returns the node the command names, or answers the command and returns nil.
func (m *Machine) named(c *Command) *Node {
	if c.Path == "" {
		n := m.byID.get(c.Node)
		switch {
		case c.Node == 0:
			m.refuse(protocol.StatusBadRequest, "neither a node path nor a node id is given")
		case n == nil:
			m.refuse(protocol.StatusNotFound, "there is no node with id %d", c.Node)
		}
		return n
	}
	path, err := ParsePath(c.Path)
	if err != nil {
		m.refuse(protocol.StatusBadRequest, "%v", err)
		return nil
	}
	n := m.byPath.get(path)
	switch {
	case n == nil:
		m.refuse(protocol.StatusNotFound, "there is no node %s", shown(path))
	case c.Node != 0 && c.Node != n.ID:
		m.refuse(protocol.StatusNotFound, "%s is the node with id %d now, not %d", shown(path), n.ID, c.Node)
		return nil
	}
	return n
}
