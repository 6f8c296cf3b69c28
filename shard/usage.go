package shard

import (
	"cmp"
	"math"
	"slices"
)

// Usage is the part of its quotas that a node, or the whole shard, has used, and the limits in force.
type Usage struct {
	Objects, Bytes         uint64
	ObjectLimit, ByteLimit uint64
}

// Share returns the used share of the fuller quota: 1 without any room. The share is above 1 after a limit was set
// below the present sum.
func (u Usage) Share() float64 {
	return max(float64(u.Objects)/float64(u.ObjectLimit), float64(u.Bytes)/float64(u.ByteLimit))
}

// NodeUsage is the Usage of a node.
type NodeUsage struct {
	Node NodeID
	Usage
}

// charge adds bytes to the sum of a node, or takes bytes off if the number is below zero.
func (m *Machine) charge(n *node, bytes int) {
	n.bytes += uint64(bytes)
	m.bytes += uint64(bytes)
}

// sessionSize is the size of the session in its node's quota of bytes.
func (m *Machine) sessionSize(s *session) int { return s.size() + m.bodiesSize(s) }

// size is the size of the session without the bodies of its answers.
func (s *session) size() int {
	return SessionBytes + len(s.description) + int(s.keyLen) + s.client.size() + AnswerBytes*len(s.answers)
}

func (c *ClientRef) size() int { return len(c.Address) + len(c.Name) + len(c.Version) }

func (c *ClientState) size() int { return len(c.Address) + len(c.Name) + len(c.Version) }

// linkSize is the size of a link, without its object.
func (m *Machine) linkSize(l *link) int {
	n := LinkBytes + len(l.data)
	if l.body != 0 {
		n += m.kinds[m.objects.at(l.object).kind].linkSize(l.body)
	}
	return n
}

// objectSize is the size of an object, without its links.
func (m *Machine) objectSize(o *object) int {
	return ObjectBytes + len(m.objects.names.bytes(o.name)) + m.kinds[o.kind].bodySize(o.body)
}

// sizeOf returns the size of the thing of a record.
func (m *Machine) sizeOf(p phase, h handle) int {
	switch p {
	case phaseSessions:
		return m.sessionSize(m.sessions.at(h))
	case phaseObjects:
		return m.objectSize(m.objects.at(h))
	default:
		return m.linkSize(m.links.at(h))
	}
}

// Usage returns the usage of a node; for an unknown node, zeros and the default limits. Node 0 stands for the shard.
func (m *Machine) Usage(n NodeID) Usage {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if n == 0 {
		return newUsage(m.objects.size(), m.bytes, m.quota)
	}
	if known := m.nodes[n]; known != nil {
		return known.usage()
	}
	return unknownNode.usage()
}

func (n *node) usage() Usage { return newUsage(n.objects, n.bytes, n.quota) }

func newUsage(objects int, bytes uint64, q quota) Usage {
	return Usage{Objects: uint64(objects), Bytes: bytes, ObjectLimit: q.limits.Objects, ByteLimit: q.limits.Bytes}
}

// FullestNodes appends the nodes with at least a share of a quota in use, the fullest first, and at most the given
// number. FullestNodes goes through all nodes, MaxPage nodes under one hold of the read lock. A node whose usage
// changes meanwhile may appear with the old or with the new usage.
func (m *Machine) FullestNodes(share float64, most int, dst []NodeUsage) []NodeUsage {
	from := len(dst)
	for end, over := math.MaxInt, false; !over; {
		dst, end, over = m.fullOf(share, end, dst)
	}
	found := dst[from:]
	slices.SortFunc(found, func(a, b NodeUsage) int { return cmp.Compare(a.Node, b.Node) })
	found = slices.CompactFunc(found, func(a, b NodeUsage) bool { return a.Node == b.Node }) // nodes that came twice
	slices.SortStableFunc(found, func(a, b NodeUsage) int { return cmp.Compare(b.Share(), a.Share()) })
	return dst[:from+min(len(found), most)]
}

// fullOf appends the nodes with the share in use, from a page of the list that ends before a place, and returns the
// end of the next page. The walk begins at the list's end: a removed node is replaced by a node that the walk has
// passed, or comes to again.
func (m *Machine) fullOf(share float64, end int, dst []NodeUsage) (_ []NodeUsage, next int, over bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	end = min(end, len(m.listed))
	next = max(end-MaxPage, 0)
	for _, n := range m.listed[next:end] {
		if u := n.usage(); u.Share() >= share {
			dst = append(dst, NodeUsage{Node: n.id, Usage: u})
		}
	}
	return dst, next, next == 0
}
