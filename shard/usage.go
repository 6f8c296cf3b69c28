package shard

import "strconv"

// Limits are the quotas of a node in this shard, or of the shard itself: how many objects it may hold, and how many
// bytes. A zero stands for the default.
type Limits struct {
	Objects, Bytes uint64
}

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

// NodeLimits are the quotas of a node as set.
type NodeLimits struct {
	Node NodeID
	Limits
}

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
