package twin

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// nodeLimits sets the quotas for a node, or for the shard.
func (t *Twin) nodeLimits(c *shard.Command) {
	limits := shard.Limits{Objects: c.Count, Bytes: c.Bytes}
	if c.Node == 0 {
		t.limits = limits
		t.answer(shard.Effect{})
		return
	}
	if c.Count > shard.MaxSemaphoresPerNode {
		t.answer(shard.Effect{Status: protocol.StatusBadRequest})
		return
	}
	if t.dropping[c.Node] {
		t.answer(shard.Effect{Status: protocol.StatusNotFound})
		return
	}
	if limits == (shard.Limits{}) {
		delete(t.limited, c.Node)
	} else {
		t.seeNode(c.Node)
		t.limited[c.Node] = limits
	}
	t.answer(shard.Effect{})
}

// NodeUsage returns a node's usage and limits.
func (t *Twin) NodeUsage(node shard.NodeID) shard.Usage {
	used := shard.Usage{ObjectLimit: 1_000_000, ByteLimit: 1 << 30}
	if set := t.limited[node]; set.Objects != 0 {
		used.ObjectLimit = set.Objects
	}
	if set := t.limited[node]; set.Bytes != 0 {
		used.ByteLimit = set.Bytes
	} else if set := t.limits; set.Bytes != 0 {
		used.ByteLimit = min(used.ByteLimit, 3*(set.Bytes/4))
	}
	used.Bytes += t.phantom[node]
	for _, sem := range t.semaphoresOf(node) {
		used.Objects++
		used.Bytes += sem.size()
	}
	for _, s := range t.sessionsOf(node) {
		used.Bytes += s.size()
	}
	return used
}

// ShardUsage returns all nodes' usage, and the shard's limits.
func (t *Twin) ShardUsage() shard.Usage {
	used := shard.Usage{ObjectLimit: 10_000_000, ByteLimit: 4 << 30}
	if t.limits.Objects != 0 {
		used.ObjectLimit = t.limits.Objects
	}
	if t.limits.Bytes != 0 {
		used.ByteLimit = t.limits.Bytes
	}
	for _, node := range t.knownNodes() {
		of := t.NodeUsage(node)
		used.Objects += of.Objects
		used.Bytes += of.Bytes
	}
	return used
}

// size is a semaphore's quota size, with its links.
func (sem *semaphore) size() uint64 {
	size := 192 + len(sem.name) + len(sem.data)
	for _, l := range sem.links {
		size += 144 + len(l.data)
	}
	return uint64(size)
}

// size is a session's quota size, with its cached answers.
func (s *session) size() uint64 {
	strings := len(s.details) + len(s.key) + len(s.client.Address) + len(s.client.Name) + len(s.client.Version)
	set := 0
	switch n := len(s.slots); {
	case n > 16:
		set = 512
	case n > 4:
		set = 32
	}
	return uint64(256 + set + strings + 40*len(s.answers) + s.bodies())
}

// lacking returns the first quota without capacity for the given growth.
func (t *Twin) lacking(node shard.NodeID, objects, bytes int) shard.Quota {
	if t.mistake == ChargesShrinking {
		bytes = max(bytes, -bytes)
	}
	ofNode, ofShard := t.NodeUsage(node), t.ShardUsage()
	switch {
	case objects > 0 && ofNode.Objects+uint64(objects) > ofNode.ObjectLimit:
		return shard.QuotaNodeObjects
	case bytes > 0 && ofNode.Bytes+uint64(bytes) > ofNode.ByteLimit:
		return shard.QuotaNodeBytes
	case objects > 0 && ofShard.Objects+uint64(objects) > ofShard.ObjectLimit:
		return shard.QuotaShardObjects
	case bytes > 0 && ofShard.Bytes+uint64(bytes) > ofShard.ByteLimit:
		return shard.QuotaShardBytes
	}
	return shard.QuotaNone
}

// refusedByQuota answers with a refusal if there is no capacity for the given growth.
func (t *Twin) refusedByQuota(node shard.NodeID, objects, bytes int) bool {
	quota := t.lacking(node, objects, bytes)
	if quota != shard.QuotaNone {
		t.answer(shard.Effect{Status: protocol.StatusQuotaExceeded, Quota: quota})
	}
	return quota != shard.QuotaNone
}

// lacksRoom refuses the mutation if there is no capacity for the given growth and its answer, and records the refusal.
func (m *mutation) lacksRoom(objects, bytes int) bool {
	if bytes > 0 && m.session != nil {
		bytes += 40
	}
	quota := m.twin.lacking(m.Node, objects, bytes)
	if quota != shard.QuotaNone {
		m.answer(shard.Effect{Status: protocol.StatusQuotaExceeded, Quota: quota})
	}
	return quota != shard.QuotaNone
}
