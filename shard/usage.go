package shard

import (
	"cmp"
	"math"
	"slices"
)

// Usage is how much of its quotas a node takes in this shard, or all of the shard, and which limits are in force.
type Usage struct {
	Objects, Bytes         uint64
	ObjectLimit, ByteLimit uint64
}

// Share returns how much of the fuller quota is taken: 1 where nothing more fits. It is above 1 where a limit was set
// lower than what was there.
func (u Usage) Share() float64 {
	return max(float64(u.Objects)/float64(u.ObjectLimit), float64(u.Bytes)/float64(u.ByteLimit))
}

// NodeUsage is the Usage of a node.
type NodeUsage struct {
	Node NodeID
	Usage
}

// charge counts bytes of a node in, or out where they are below zero.
func (m *Machine) charge(n *node, bytes int) {
	n.bytes += uint64(bytes)
	m.bytes += uint64(bytes)
}

// sessionSize is what the session counts for in its node's quota of bytes.
func (m *Machine) sessionSize(s *session) int { return s.size() + m.bodiesSize(s) }

// size is what the session counts for without the bodies of its answers.
func (s *session) size() int {
	return SessionBytes + len(s.description) + int(s.keyLen) + s.client.size() + AnswerBytes*len(s.answers)
}

func (c *ClientRef) size() int { return len(c.Address) + len(c.Name) + len(c.Version) }

func (c *ClientState) size() int { return len(c.Address) + len(c.Name) + len(c.Version) }

// linkSize is what a link counts for, beside its object.
func (m *Machine) linkSize(l *link) int {
	n := LinkBytes + len(l.data)
	if l.body != 0 {
		n += m.kinds[m.objects.at(l.object).kind].linkSize(l.body)
	}
	return n
}

// objectSize is what an object counts for, without its links.
func (m *Machine) objectSize(o *object) int {
	return ObjectBytes + m.objects.names.len(o.name) + m.kinds[o.kind].bodySize(o.body)
}

// sizeOf returns what the thing of a record counts for.
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

// Usage returns how much a node has here; zeros, and the default limits, where it is not known. Node 0 stands for the
// shard.
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

// FullestNodes appends the nodes of which at least the share of a quota is taken, the fullest first, and at most so
// many. It goes through all nodes, MaxPage of them under one hold of the read lock. One whose usage changes meanwhile
// may be there as it was or as it is.
func (m *Machine) FullestNodes(share float64, most int, dst []NodeUsage) []NodeUsage {
	from := len(dst)
	for end, over := math.MaxInt, false; !over; {
		dst, end, over = m.fullOf(share, end, dst)
	}
	found := dst[from:]
	slices.SortFunc(found, func(a, b NodeUsage) int { return cmp.Compare(a.Node, b.Node) })
	found = slices.CompactFunc(found, func(a, b NodeUsage) bool { return a.Node == b.Node }) // one that came again
	slices.SortStableFunc(found, func(a, b NodeUsage) int { return cmp.Compare(b.Share(), a.Share()) })
	return dst[:from+min(len(found), most)]
}

// fullOf appends those of the nodes before a place of the list of which the share is taken, and returns where to go on.
// The list is walked from its end: what is removed meanwhile is replaced by one that was there already, or comes again.
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
