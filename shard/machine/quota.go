package machine

import (
	"cmp"
	"math"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
)

// quota is the quota for a node, or for the shard: the limits as set, and the limits in force.
type quota struct {
	set, limits shard.Limits
}

func newQuota(set, otherwise shard.Limits) quota {
	return quota{
		set: set, limits: shard.Limits{Objects: cmp.Or(set.Objects, otherwise.Objects),
			Bytes: cmp.Or(set.Bytes, otherwise.Bytes)},
	}
}

func newNodeQuota(set shard.Limits) quota { return newQuota(set, defaultNodeLimits) }

func newShardQuota(set shard.Limits) quota { return newQuota(set, defaultShardLimits) }

var (
	defaultNodeLimits  = shard.Limits{Objects: shard.DefaultNodeObjects, Bytes: shard.DefaultNodeBytes}
	defaultShardLimits = shard.Limits{Objects: shard.DefaultShardObjects, Bytes: shard.DefaultShardBytes}
)

// setLimits sets the quotas for a node, or for the shard. A node with quotas is recorded even without sessions and
// objects, so the quotas apply from the first object on.
func (no *Nodes) setLimits(c *shard.Command) Outcome {
	set := shard.Limits{Objects: c.Count, Bytes: c.Bytes}
	n := no.byID[c.Node]
	switch {
	case c.Node == 0:
		no.quota = newShardQuota(set)
	case set.Objects > shard.MaxSemaphoresPerNode:
		return Outcome{Status: protocol.StatusBadRequest}
	case n != nil && n.Dropping:
		return Outcome{Status: protocol.StatusNotFound}
	case set != (shard.Limits{}):
		no.limit(no.see(c.Node), set)
	case n != nil:
		no.limit(n, set)
		no.forgetIfEmpty(n)
	}
	return Outcome{}
}

// Exceeded returns the quota that more objects and bytes in a node would exceed, or QuotaNone. Commands call it before
// they change anything. A command that adds no bytes never exceeds a quota. The node is nil if it is not known yet.
func (no *Nodes) Exceeded(n *Node, objects, bytes int) shard.Quota {
	if bytes <= 0 {
		return shard.QuotaNone
	}
	if n == nil {
		n = unknownNode
	}
	more := uint64(objects)
	ofNode, ofShard := no.limitsOf(n), &no.quota.limits
	switch { // the sums are far below 2^63, and a limit may have been set below the present sum
	case objects > 0 && uint64(n.objects)+more > ofNode.Objects:
		return shard.QuotaNodeObjects
	case n.bytes+uint64(bytes) > ofNode.Bytes:
		return shard.QuotaNodeBytes
	case objects > 0 && uint64(no.core.Objects.Size())+more > ofShard.Objects:
		return shard.QuotaShardObjects
	case no.bytes+uint64(bytes) > ofShard.Bytes:
		return shard.QuotaShardBytes
	}
	return shard.QuotaNone
}

// limitsOf returns the limits in force for a node. A node without a byte quota may use at most three quarters of the
// shard, so other nodes keep some capacity.
func (no *Nodes) limitsOf(n *Node) shard.Limits {
	limits := n.quota.limits
	if n.quota.set.Bytes == 0 {
		limits.Bytes = min(limits.Bytes, no.quota.limits.Bytes/4*3)
	}
	return limits
}

// unknownNode is empty, with the default quotas.
var unknownNode = newNode(0)

// limit sets a node's quotas, and updates the list of nodes with quotas.
func (no *Nodes) limit(n *Node, limits shard.Limits) {
	n.quota = newNodeQuota(limits)
	i, listed := slices.BinarySearchFunc(no.limited, n.ID, func(of shard.NodeLimits, id shard.NodeID) int {
		return cmp.Compare(of.Node, id)
	})
	now := shard.NodeLimits{Node: n.ID, Limits: limits}
	switch is := limits != (shard.Limits{}); {
	case is && listed:
		no.limited[i] = now
	case is:
		no.limited = slices.Insert(no.limited, i, now)
	case listed:
		no.limited = slices.Delete(no.limited, i, i+1)
	}
}

// Limits returns a node's quotas as set. Zeros mean that no quotas were set, or that the shard does not know the node.
// Node 0 stands for the shard.
func (m *Machine) Limits(n shard.NodeID) shard.Limits {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if n == 0 {
		return m.core.Nodes.quota.set
	}
	if known := m.core.Nodes.byID[n]; known != nil {
		return known.quota.set
	}
	return shard.Limits{}
}

// LimitedNodes appends the nodes that have quotas set, with the quotas, in id order.
func (m *Machine) LimitedNodes(dst []shard.NodeLimits) []shard.NodeLimits {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return append(dst, m.core.Nodes.limited...)
}

// Charge adds bytes to a node's total, or subtracts them if the number is negative.
func (no *Nodes) Charge(n *Node, bytes int) {
	n.bytes += uint64(bytes)
	no.bytes += uint64(bytes)
}

// size is what the session counts in its node's byte quota.
func (se *Sessions) size(h arena.Handle) int {
	return se.sizeOf(h) + se.core.Answers.bodiesSize(se.At(h))
}

// sizeOf is the session size without its answer bodies.
func (se *Sessions) sizeOf(h arena.Handle) int {
	s := se.At(h)
	client := se.clientOf(s)
	return se.sets.size(h) + shard.SessionBytes + len(se.texts.Bytes(s.details)) + int(s.keyLen) + client.Size() +
		shard.AnswerBytes*len(se.answersOf(s))
}

// sizeOf is the size of a holding, without its object.
func (ho *Holdings) sizeOf(l *Holding) int {
	n := shard.LinkBytes + len(ho.texts.Bytes(l.data))
	if l.State != 0 {
		n += ho.core.kinds[ho.core.Objects.At(l.Object).Kind].HoldingSize(l.State)
	}
	return n
}

// size is the size of an object, without its holdings.
func (ob *Objects) size(o *Object) int {
	return shard.ObjectBytes + len(ob.names.Bytes(o.name)) + ob.core.kinds[o.Kind].StateSize(o.State)
}

// sizeOf returns the quota size of the entry a record describes.
func (snaps *Snapshots) sizeOf(p phase, h arena.Handle) int {
	switch p {
	case phaseSessions:
		return snaps.core.Sessions.size(h)
	case phaseObjects:
		return snaps.core.Objects.size(snaps.core.Objects.At(h))
	default:
		return snaps.core.Holdings.sizeOf(snaps.core.Holdings.At(h))
	}
}

// Usage returns a node's usage; for an unknown node, zeros and the default limits. Node 0 stands for the shard.
func (m *Machine) Usage(n shard.NodeID) shard.Usage {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if n == 0 {
		return newUsage(m.core.Objects.Size(), m.core.Nodes.bytes, m.core.Nodes.quota.limits)
	}
	if known := m.core.Nodes.byID[n]; known != nil {
		return m.core.Nodes.usage(known)
	}
	return m.core.Nodes.usage(unknownNode)
}

func (no *Nodes) usage(n *Node) shard.Usage { return newUsage(n.objects, n.bytes, no.limitsOf(n)) }

func newUsage(objects int, bytes uint64, l shard.Limits) shard.Usage {
	return shard.Usage{Objects: uint64(objects), Bytes: bytes, ObjectLimit: l.Objects, ByteLimit: l.Bytes}
}

// FullestNodes appends the nodes that use at least the given share of a quota, the fullest first, up to the given
// number. It scans all nodes, MaxPage nodes under one hold of the read lock. A node whose usage changes meanwhile may
// appear with the old or the new usage.
func (m *Machine) FullestNodes(share float64, most int, dst []shard.NodeUsage) []shard.NodeUsage {
	from := len(dst)
	for end, over := math.MaxInt, false; !over; {
		dst, end, over = m.fullOf(share, end, dst)
	}
	found := dst[from:]
	slices.SortFunc(found, func(a, b shard.NodeUsage) int { return cmp.Compare(a.Node, b.Node) })
	// drop nodes seen twice
	found = slices.CompactFunc(found, func(a, b shard.NodeUsage) bool { return a.Node == b.Node })
	slices.SortStableFunc(found, func(a, b shard.NodeUsage) int { return cmp.Compare(b.Share(), a.Share()) })
	return dst[:from+min(len(found), most)]
}

// fullOf scans one page of the node list, the nodes before index end, and appends those that use at least the given
// share. It returns the end of the next page. The scan runs from the list's end to its start: if a node is removed, the
// last node takes the free index, and was already scanned or will be scanned again.
func (m *Machine) fullOf(share float64, end int, dst []shard.NodeUsage) (_ []shard.NodeUsage, next int, over bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	end = min(end, len(m.core.Nodes.listed))
	next = max(end-shard.MaxPage, 0)
	for _, n := range m.core.Nodes.listed[next:end] {
		if u := m.core.Nodes.usage(n); u.Share() >= share {
			dst = append(dst, shard.NodeUsage{Node: n.ID, Usage: u})
		}
	}
	return dst, next, next == 0
}
