package machine

import (
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/internal/assert"
)

// Node is a coordination Node with sessions, objects or quotas in the shard. The meta shard stores the Node's path and
// config.
type Node struct {
	ID       shard.NodeID
	place    int          // index in the machine's list
	handle   arena.Handle // in the object store's list
	Dropping bool
	names    arena.Handle // root of its object tree, by name
	ids      arena.Handle // root of its session tree, by id
	sessions int
	objects  int
	quota    quota
	bytes    uint64 // total charged to its byte quota
}

// Nodes are the nodes the shard knows, with their quota usage.
type Nodes struct {
	core     *Core
	byID     map[shard.NodeID]*Node
	listed   []*Node            // all nodes, each at its index
	dropping []shard.NodeID     // nodes being dropped
	limited  []shard.NodeLimits // the nodes with quotas set, by id
	quota    quota              // the shard's quota
	bytes    uint64             // the sum over all nodes
}

func newNode(id shard.NodeID) *Node { return &Node{ID: id, quota: newNodeQuota(shard.Limits{})} }

// see returns the node, and records an unknown node.
func (no *Nodes) see(id shard.NodeID) *Node {
	n := no.byID[id]
	if n == nil {
		n = no.add(id)
		no.core.Run.Emit(shard.EffectNodeSeen).Node = id
	}
	return n
}

// add records a node.
func (no *Nodes) add(id shard.NodeID) *Node {
	n := newNode(id)
	n.place = len(no.listed)
	no.listed = append(no.listed, n)
	n.handle = no.core.Objects.nodes.Alloc()
	*no.core.Objects.nodes.At(n.handle) = n
	no.byID[id] = n
	return n
}

// remove deletes a node's record. The last node in the list takes its index.
func (no *Nodes) remove(n *Node) {
	last := no.listed[len(no.listed)-1]
	no.listed[n.place], last.place = last, n.place
	no.listed[len(no.listed)-1] = nil
	no.listed = no.listed[:len(no.listed)-1]
	no.core.Objects.nodes.Release(n.handle)
	delete(no.byID, n.ID)
	assert.That(len(no.listed) == len(no.byID), "every node that is known is listed")
}

// forgetIfEmpty deletes a node's record after its last session and object, unless the node has quotas set.
func (no *Nodes) forgetIfEmpty(n *Node) {
	if n.sessions > 0 || n.objects > 0 {
		return
	}
	assert.That(n.bytes == 0, "a node that has nothing here takes no bytes")
	if !n.Dropping && n.quota.set == (shard.Limits{}) {
		no.remove(n)
	}
}

// drop removes some objects and sessions that belong to a dropped node.
func (no *Nodes) drop(c *shard.Command) Outcome {
	n := no.byID[c.Node]
	if n == nil {
		return Outcome{}
	}
	if !n.Dropping {
		n.Dropping = true
		no.dropping = append(no.dropping, n.ID)
	}
	count := c.Count
	for ; count > 0 && n.names != 0 && no.core.Run.Left > 0; count-- {
		h := no.core.Objects.byName.First(n.names)
		no.core.kinds[no.core.Objects.At(h).Kind].Remove(no.core, h)
	}
	for ; count > 0 && n.names == 0 && n.ids != 0 && no.core.Run.Left > 0; count-- {
		if h := no.core.Sessions.byID.First(n.ids); no.core.Sessions.At(h).ending {
			no.core.Sessions.releaseHoldings(h)
		} else {
			no.core.Sessions.end(h, protocol.EndNodeDropped)
		}
	}
	if n.objects > 0 || n.sessions > 0 {
		return Partly(true)
	}
	no.dropping = slices.DeleteFunc(no.dropping, func(id shard.NodeID) bool { return id == n.ID })
	no.limit(n, shard.Limits{})
	no.remove(n)
	return Outcome{}
}
