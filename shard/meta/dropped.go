package meta

import (
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// Dropped is a dropped node while data shards may still have some of its content.
type Dropped struct {
	ID      shard.NodeID
	Version uint64    // the machine's version at the drop
	Pending []ShardID // the data shards that have not cleared the node, in order; never empty
}

// Liveness is one replica's knowledge about a node id.
type Liveness uint8

const (
	// NodeLater: the replica has not seen the id's creation. The replica lags, and the node may well be alive: data
	// shards must not remove the node's content.
	NodeLater Liveness = 0
	// NodeIsAlive: the node was alive at the replica's last applied command.
	NodeIsAlive Liveness = 1
	// NodeIsDead: the node was dropped, and its id never comes back. Data shards may remove the node's remaining
	// content.
	NodeIsDead Liveness = 2
)

var livenessNames = [...]string{NodeLater: "later", NodeIsAlive: "alive", NodeIsDead: "dead"}

// String formats the result for logs and tests.
func (l Liveness) String() string {
	if int(l) < len(livenessNames) {
		return livenessNames[l]
	}
	return "liveness-invalid"
}

// NodeAlive reports whether the node is alive. NodeIsDead is permanent and true on every replica, however far the
// replica lags: ids are issued in order, so a missing id up to the highest id was dropped.
func (m *Machine) NodeAlive(id shard.NodeID) Liveness {
	m.mu.RLock()
	defer m.mu.RUnlock()
	switch {
	case id > m.lastNode:
		return NodeLater
	case m.byID.get(id) != nil:
		return NodeIsAlive
	}
	return NodeIsDead
}

// Dropping returns dropped nodes with ids above after that wait for a data shard, by id, at most limit and at most
// shard.MaxPage nodes, and whether there are more. The list is only a work list; data shards decide by NodeAlive.
func (m *Machine) Dropping(after shard.NodeID, limit int) (page []Dropped, more bool) {
	m.mu.RLock()
	entries, more := m.dropping.page(m.dropping.after(after), len(m.dropping.entries), pageLimit(limit))
	m.mu.RUnlock()
	return values(entries), more
}

func (m *Machine) nodeCleared(c *Command) {
	n, d := m.byID.get(c.Node), m.dropping.get(c.Node)
	switch {
	case c.Node == 0 || c.Shard == 0:
		m.refuse(protocol.StatusBadRequest, "a node id and a data shard id are needed")
	case !slices.Contains(m.routing.Shards, c.Shard):
		m.refuse(protocol.StatusPreconditionFailed, "shard %d is not a data shard of this cluster", c.Shard)
	case c.Node > m.lastNode:
		m.refuse(protocol.StatusNotFound, "there has been no node with id %d", c.Node)
	case n != nil:
		m.refuse(protocol.StatusPreconditionFailed, "the node with id %d (%s) lives", n.ID, shown(n.Path))
	case d == nil || !d.Waits(c.Shard):
		m.accept(0)
	case len(d.Pending) == 1:
		m.change(0)
		m.dropping.remove(d.ID)
	default:
		m.change(0)
		pending := slices.DeleteFunc(slices.Clone(d.Pending), func(id ShardID) bool { return id == c.Shard })
		m.dropping.put(&Dropped{ID: d.ID, Version: d.Version, Pending: pending})
	}
}

// forgetPending ends all waiting for data shards that are not in the list.
func (m *Machine) forgetPending(left []ShardID) {
	for _, d := range slices.Clone(m.dropping.entries) {
		pending := slices.DeleteFunc(slices.Clone(d.Pending), func(id ShardID) bool {
			return !slices.Contains(left, id)
		})
		switch {
		case len(pending) == 0:
			m.dropping.remove(d.ID)
		case len(pending) < len(d.Pending):
			m.dropping.put(&Dropped{ID: d.ID, Version: d.Version, Pending: pending})
		}
	}
}

// Waits reports whether the data shard has yet to clear the node.
func (d *Dropped) Waits(id ShardID) bool {
	_, found := slices.BinarySearch(d.Pending, id)
	return found
}
