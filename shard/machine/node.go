package machine

import (
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/internal/assert"
)

// node is a coordination node with sessions, objects or quotas in the shard. The path and the config of the node
// belong to the meta shard.
type node struct {
	id       shard.NodeID
	place    int          // in the machine's list
	handle   arena.Handle // in the list of the store of objects
	dropping bool
	names    arena.Handle // root of its objects by name
	ids      arena.Handle // root of its sessions by id
	sessions int
	objects  int
	quota    quota
	bytes    uint64 // the sum in its quota of bytes
}

func newNode(id shard.NodeID) *node { return &node{id: id, quota: newNodeQuota(shard.Limits{})} }

// nodeFor returns the node, known from now on.
func (m *Machine) nodeFor(id shard.NodeID) *node {
	n := m.nodes[id]
	if n == nil {
		n = m.addNode(id)
		m.emit(shard.EffectNodeSeen).Node = id
	}
	return n
}

// addNode puts a node on record.
func (m *Machine) addNode(id shard.NodeID) *node {
	n := newNode(id)
	n.place = len(m.listed)
	m.listed = append(m.listed, n)
	n.handle = m.objects.nodes.Alloc()
	*m.objects.nodes.At(n.handle) = n
	m.nodes[id] = n
	return n
}

// removeNode takes a node off the record. The last of the list gets its place.
func (m *Machine) removeNode(n *node) {
	last := m.listed[len(m.listed)-1]
	m.listed[n.place], last.place = last, n.place
	m.listed[len(m.listed)-1] = nil
	m.listed = m.listed[:len(m.listed)-1]
	m.objects.nodes.Release(n.handle)
	delete(m.nodes, n.id)
	assert.That(len(m.listed) == len(m.nodes), "every node that is known is listed")
}

// forgetIfEmpty takes a node off the record after its last session and object, unless the node has a quota of its
// own.
func (m *Machine) forgetIfEmpty(n *node) {
	if n.sessions > 0 || n.objects > 0 {
		return
	}
	assert.That(n.bytes == 0, "a node that has nothing here takes no bytes")
	if !n.dropping && n.quota.set == (shard.Limits{}) {
		m.removeNode(n)
	}
}

// nodeDrop removes a part of a dropped node's objects and sessions.
func (m *Machine) nodeDrop(c *shard.Command) {
	n := m.nodes[c.Node]
	if n == nil {
		m.answer(protocol.StatusSuccess)
		return
	}
	if !n.dropping {
		n.dropping = true
		m.dropping = append(m.dropping, n.id)
	}
	count := c.Count
	for ; count > 0 && n.names != 0 && m.left > 0; count-- {
		h := m.objects.byName.First(n.names)
		m.kinds[m.objects.At(h).kind].remove(m, h)
	}
	for ; count > 0 && n.names == 0 && n.ids != 0 && m.left > 0; count-- {
		if h := m.sessions.byID.First(n.ids); m.sessions.At(h).ending {
			m.releaseLinks(h)
		} else {
			m.endSession(h, protocol.EndNodeDropped)
		}
	}
	more := n.objects > 0 || n.sessions > 0
	m.answerMore(more)
	if more {
		return
	}
	m.dropping = slices.DeleteFunc(m.dropping, func(id shard.NodeID) bool { return id == n.id })
	m.limit(n, shard.Limits{})
	m.removeNode(n)
}
