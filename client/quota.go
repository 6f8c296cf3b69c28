package client

import (
	"errors"
	"strconv"

	"github.com/signalbox/signalbox/protocol"
)

// ErrQuotaExceeded: a node, or a shard of the cluster, would take more than its quota. Nothing was changed. QuotaOf
// says which quota it is, and how much of it is used.
var ErrQuotaExceeded = protocol.ErrQuotaExceeded

// Quota is the quota that a change would have passed.
type Quota struct {
	Kind QuotaKind
	// Limit is how much there may be, Used how much there was when the change was refused: objects or bytes, as Kind
	// says.
	Limit uint64
	Used  uint64
}

// QuotaOf returns the quota in an error that is ErrQuotaExceeded. It returns false for other errors, and where the host
// has not said which quota it is.
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
	// QuotaShardObjects bounds the semaphores of a shard over all nodes. It is a setting of the hosts.
	QuotaShardObjects = QuotaKind(protocol.QuotaShardObjects)
	// QuotaShardBytes bounds the bytes of a shard over all nodes. It is a setting of the hosts.
	QuotaShardBytes = QuotaKind(protocol.QuotaShardBytes)
)

// String says it in words.
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

// checkLater checks whether a host has set what came after the first level. A host that does not know a field passes
// over the field.
func (c *NodeConfig) checkLater(n *NodeInfo) error {
	if c.QuotaObjects != 0 && n.Config.QuotaObjects != c.QuotaObjects ||
		c.QuotaBytes != 0 && n.Config.QuotaBytes != c.QuotaBytes ||
		c.LongestWait != 0 && n.Config.LongestWait != unlessForever(orForever(c.LongestWait)) {
		return &protocol.Error{
			Status:  protocol.StatusUnsupported,
			Message: "the host does not know quotas of nodes, or the longest wait, and has set all but these",
		}
	}
	return nil
}
