package shard

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/signalbox/signalbox/protocol"
)

// Limits are the quotas of a node in this shard, or of the shard itself: how many objects it may hold, and how many
// bytes. A zero stands for the default.
type Limits struct {
	Objects, Bytes uint64
}

// quota is what a node, or the shard, was given, and what is in force.
type quota struct {
	set, limits Limits
}

func newQuota(set, otherwise Limits) quota {
	return quota{
		set: set, limits: Limits{Objects: cmp.Or(set.Objects, otherwise.Objects),
			Bytes: cmp.Or(set.Bytes, otherwise.Bytes)},
	}
}

func newNodeQuota(set Limits) quota { return newQuota(set, defaultNodeLimits) }

func newShardQuota(set Limits) quota { return newQuota(set, defaultShardLimits) }

var (
	defaultNodeLimits  = Limits{Objects: DefaultNodeObjects, Bytes: DefaultNodeBytes}
	defaultShardLimits = Limits{Objects: DefaultShardObjects, Bytes: DefaultShardBytes}
)

// Quota names one of the limits that a command can be refused for. The numbers stand in snapshots.
type Quota uint8

const (
	// QuotaNone: none.
	QuotaNone Quota = 0
	// QuotaNodeObjects: the objects that the node may hold in this shard.
	QuotaNodeObjects Quota = 1
	// QuotaNodeBytes: the bytes that the node may hold in this shard.
	QuotaNodeBytes Quota = 2
	// QuotaShardObjects: the objects that the shard may hold.
	QuotaShardObjects Quota = 3
	// QuotaShardBytes: the bytes that the shard may hold.
	QuotaShardBytes Quota = 4
)

var quotaNames = [...]string{
	QuotaNone: "none", QuotaNodeObjects: "node-objects", QuotaNodeBytes: "node-bytes",
	QuotaShardObjects: "shard-objects", QuotaShardBytes: "shard-bytes",
}

// String returns the quota as logs and golden scripts write it.
func (q Quota) String() string {
	if int(q) < len(quotaNames) {
		return quotaNames[q]
	}
	return "quota-" + strconv.Itoa(int(q))
}

// nodeLimits sets the quotas of a node, or of the shard. A node that has some is known though nothing of it is here, so
// that they hold for the first that comes.
func (m *Machine) nodeLimits(c *Command) {
	set := Limits{Objects: c.Count, Bytes: c.Bytes}
	n := m.nodes[c.Node]
	switch {
	case c.Node == 0:
		m.quota = newShardQuota(set)
	case set.Objects > MaxSemaphoresPerNode:
		m.answer(protocol.StatusBadRequest)
		return
	case n != nil && n.dropping:
		m.answer(protocol.StatusNotFound)
		return
	case set != (Limits{}):
		m.limit(m.nodeFor(c.Node), set)
	case n != nil:
		m.limit(n, set)
		m.forgetIfEmpty(n)
	}
	m.answer(protocol.StatusSuccess)
}

// mayGrow reports whether the node and the shard may have so much more; where they may not it answers with the quota
// that stands in the way. A command asks before it changes anything. What adds no bytes may always be. The node is nil
// where it is not known yet.
func (m *Machine) mayGrow(n *node, objects, bytes int) bool {
	if m.rules < quotas || bytes <= 0 {
		return true
	}
	if n == nil {
		n = unknownNode
	}
	q := m.exceeded(n, uint64(objects), uint64(bytes))
	if q != QuotaNone {
		m.answer(protocol.StatusQuotaExceeded).Quota = q
	}
	return q == QuotaNone
}

// unknownNode has nothing, and the default quotas.
var unknownNode = newNode(0)

// exceeded returns the first quota that has no room for so much more. A limit may have been set below what is there.
// The sums are far below 2^63.
func (m *Machine) exceeded(n *node, objects, bytes uint64) Quota {
	ofNode, ofShard := &n.quota.limits, &m.quota.limits
	switch {
	case objects > 0 && uint64(n.objects)+objects > ofNode.Objects:
		return QuotaNodeObjects
	case n.bytes+bytes > ofNode.Bytes:
		return QuotaNodeBytes
	case objects > 0 && uint64(m.objects.size())+objects > ofShard.Objects:
		return QuotaShardObjects
	case m.bytes+bytes > ofShard.Bytes:
		return QuotaShardBytes
	}
	return QuotaNone
}

// limit gives a node its quotas, and keeps the list of the nodes that have some.
func (m *Machine) limit(n *node, limits Limits) {
	n.quota = newNodeQuota(limits)
	i, listed := slices.BinarySearchFunc(m.limited, n.id, func(of NodeLimits, id NodeID) int {
		return cmp.Compare(of.Node, id)
	})
	now := NodeLimits{Node: n.id, Limits: limits}
	switch is := limits != (Limits{}); {
	case is && listed:
		m.limited[i] = now
	case is:
		m.limited = slices.Insert(m.limited, i, now)
	case listed:
		m.limited = slices.Delete(m.limited, i, i+1)
	}
}

// NodeLimits are the quotas of a node as they were set.
type NodeLimits struct {
	Node NodeID
	Limits
}

// Limits returns the quotas of a node as they were set: zeros where they were not, or where the node is not known here.
// Node 0 stands for the shard.
func (m *Machine) Limits(n NodeID) Limits {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if n == 0 {
		return m.quota.set
	}
	if known := m.nodes[n]; known != nil {
		return known.quota.set
	}
	return Limits{}
}

// LimitedNodes appends the nodes that have quotas of their own here, with these, in order of id.
func (m *Machine) LimitedNodes(dst []NodeLimits) []NodeLimits {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return append(dst, m.limited...)
}
