package shard

import "strconv"

// Limits are quotas for a node in this shard, or for the shard itself: the maximum number of objects, and of bytes.
// Zero means the default.
type Limits struct {
	Objects, Bytes uint64
}

// Quota names the limit that caused a refusal. The numbers are stored in snapshots.
type Quota uint8

const (
	// QuotaNone: no limit.
	QuotaNone Quota = 0
	// QuotaNodeObjects: the node's object quota in this shard.
	QuotaNodeObjects Quota = 1
	// QuotaNodeBytes: the node's byte quota in this shard.
	QuotaNodeBytes Quota = 2
	// QuotaShardObjects: the shard's object quota.
	QuotaShardObjects Quota = 3
	// QuotaShardBytes: the shard's byte quota.
	QuotaShardBytes Quota = 4
)

var quotaNames = [...]string{
	QuotaNone: "none", QuotaNodeObjects: "node-objects", QuotaNodeBytes: "node-bytes",
	QuotaShardObjects: "shard-objects", QuotaShardBytes: "shard-bytes",
}

// String returns the quota's name in logs and golden scripts.
func (q Quota) String() string {
	if int(q) < len(quotaNames) {
		return quotaNames[q]
	}
	return "quota-" + strconv.Itoa(int(q))
}

// NodeLimits are a node's quotas as set.
type NodeLimits struct {
	Node NodeID
	Limits
}

// Usage is how much of its quotas a node, or the whole shard, has used, and the limits in force.
type Usage struct {
	Objects, Bytes         uint64
	ObjectLimit, ByteLimit uint64
}

// Share returns the used share of the fuller quota: 1 if it is full. The share exceeds 1 after a limit was set below
// the present sum.
func (u Usage) Share() float64 {
	return max(float64(u.Objects)/float64(u.ObjectLimit), float64(u.Bytes)/float64(u.ByteLimit))
}

// NodeUsage is a node's Usage.
type NodeUsage struct {
	Node NodeID
	Usage
}
