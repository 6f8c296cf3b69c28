package client

import (
	"errors"
	"strconv"

	"github.com/signalbox/signalbox/protocol"
)

// ErrQuotaExceeded: the change would exceed a node or shard quota. Nothing was changed. QuotaOf returns the quota and
// its current use.
var ErrQuotaExceeded = protocol.ErrQuotaExceeded

// Quota is the quota that a change would have exceeded.
type Quota struct {
	Kind QuotaKind
	// Limit is the quota, Used the amount at the time of the rejection: objects or bytes, depending on Kind.
	Limit uint64
	Used  uint64
}

// QuotaOf returns the quota in an ErrQuotaExceeded error. It returns false for other errors and if the host did not
// name the quota.
func QuotaOf(err error) (Quota, bool) {
	answer, ok := errors.AsType[*protocol.Error](err)
	if !ok || answer.Quota == (protocol.Quota{}) {
		return Quota{}, false
	}
	return Quota{Kind: QuotaKind(answer.Quota.Kind), Limit: answer.Quota.Limit, Used: answer.Quota.Used}, true
}

// QuotaKind is what a quota limits.
type QuotaKind int

const (
	// QuotaNodeObjects limits a node's semaphores in one shard: NodeConfig.QuotaObjects.
	QuotaNodeObjects = QuotaKind(protocol.QuotaNodeObjects)
	// QuotaNodeBytes limits a node's bytes in one shard: NodeConfig.QuotaBytes.
	QuotaNodeBytes = QuotaKind(protocol.QuotaNodeBytes)
	// QuotaShardObjects limits a shard's semaphores over all nodes. It is a host setting.
	QuotaShardObjects = QuotaKind(protocol.QuotaShardObjects)
	// QuotaShardBytes limits a shard's bytes over all nodes. It is a host setting.
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

// checkLater checks whether a host has set the fields added after the first feature level. A host that does not know a
// field ignores it.
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
