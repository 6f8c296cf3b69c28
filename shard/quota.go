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

// quota is the quota of a node, or of the shard: the limits as set, and the limits in force.
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

// Quota names the limit that caused a refusal. The numbers stand in snapshots.
type Quota uint8

const (
	// QuotaNone: no limit.
	QuotaNone Quota = 0
	// QuotaNodeObjects: the most objects of the node in this shard.
	QuotaNodeObjects Quota = 1
	// QuotaNodeBytes: the most bytes of the node in this shard.
	QuotaNodeBytes Quota = 2
	// QuotaShardObjects: the most objects of the shard.
	QuotaShardObjects Quota = 3
	// QuotaShardBytes: the most bytes of the shard.
	QuotaShardBytes Quota = 4
)

var quotaNames = [...]string{
	QuotaNone: "none", QuotaNodeObjects: "node-objects", QuotaNodeBytes: "node-bytes",
	QuotaShardObjects: "shard-objects", QuotaShardBytes: "shard-bytes",
}

// String returns the name of the quota in logs and golden scripts.
func (q Quota) String() string {
	if int(q) < len(quotaNames) {
		return quotaNames[q]
	}
	return "quota-" + strconv.Itoa(int(q))
}

// nodeLimits sets the quotas of a node, or of the shard. A node with quotas is known even without sessions and
// objects, so that the quotas hold from the first object on.
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

// mayGrow reports whether the node and the shard have room for more objects and bytes. If not, mayGrow answers with
// the exceeded quota. A command asks before it changes anything. A command that adds no bytes always has room. The
// node is nil if it is not known yet.
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

// exceeded returns the first quota without room for the growth. A limit may have been set below the present sum. The
// sums are far below 2^63.
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

// limit gives a node its quotas, and updates the list of nodes with quotas.
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

// NodeLimits are the quotas of a node as set.
type NodeLimits struct {
	Node NodeID
	Limits
}

// Limits returns the quotas of a node as set. Zeros mean that no quotas were set, or that the shard does not know the
// node. Node 0 stands for the shard.
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

// LimitedNodes appends the nodes with quotas of their own, and the quotas, in order of id.
func (m *Machine) LimitedNodes(dst []NodeLimits) []NodeLimits {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return append(dst, m.limited...)
}
