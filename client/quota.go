package client

import (
	"errors"
	"strconv"

	"github.com/signalbox/signalbox/protocol"
)

// ErrQuotaExceeded: with the change a node, or a shard of the cluster, would exceed its quota. Nothing was changed.
// QuotaOf says which quota, and how much of the quota is used.
var ErrQuotaExceeded = protocol.ErrQuotaExceeded

// Quota is the quota that a change would have exceeded.
type Quota struct {
	Kind QuotaKind
	// Limit is the most that the quota allows, Used the amount at the time of the refusal: objects or bytes, as Kind
	// says.
	Limit uint64
	Used  uint64
}

// QuotaOf returns the quota in an error that is ErrQuotaExceeded, and false for other errors and for an answer of a
// host that does not name the quota.
func QuotaOf(err error) (Quota, bool) {
	answer, ok := errors.AsType[*protocol.Error](err)
	if !ok || answer.Quota == (protocol.Quota{}) {
		return Quota{}, false
	}
	return Quota{Kind: QuotaKind(answer.Quota.Kind), Limit: answer.Quota.Limit, Used: answer.Quota.Used}, true
}

// QuotaKind says what a quota bounds.
type QuotaKind int

const (
	// QuotaNodeObjects bounds the semaphores that a node has in one shard: NodeConfig.QuotaObjects.
	QuotaNodeObjects = QuotaKind(protocol.QuotaNodeObjects)
	// QuotaNodeBytes bounds the bytes that a node has in one shard: NodeConfig.QuotaBytes.
	QuotaNodeBytes = QuotaKind(protocol.QuotaNodeBytes)
	// QuotaShardObjects bounds the semaphores of a shard over all nodes. The quota is a setting of the hosts.
	QuotaShardObjects = QuotaKind(protocol.QuotaShardObjects)
	// QuotaShardBytes bounds the bytes of a shard over all nodes. The quota is a setting of the hosts.
	QuotaShardBytes = QuotaKind(protocol.QuotaShardBytes)
)

// String returns the kind in words.
func (k QuotaKind) String() string {
	switch k {
	case QuotaNodeObjects:
		return "objects of the node"
	case QuotaNodeBytes:
		return "bytes of the node"
	case QuotaShardObjects:
		return "objects of the shard"
	case QuotaShardBytes:
		return "bytes of the shard"
	}
	return "quota " + strconv.Itoa(int(k))
}

// checkLater checks whether a host has set the fields that came after the first level. A host that does not know a
// field passes over the field.
func (c *NodeConfig) checkLater(n *NodeInfo) error {
	if c.QuotaObjects != 0 && n.Config.QuotaObjects != c.QuotaObjects ||
		c.QuotaBytes != 0 && n.Config.QuotaBytes != c.QuotaBytes ||
		c.LongWaitThreshold != 0 && n.Config.LongWaitThreshold != unlessForever(orForever(c.LongWaitThreshold)) {
		return &protocol.Error{
			Status:  protocol.StatusUnsupported,
			Message: "the host does not support node quotas and the longest wait, and has set all other fields",
		}
	}
	return nil
}
