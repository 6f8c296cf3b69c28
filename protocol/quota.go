package protocol

import "strconv"

// Quota says which quota a request would have passed. Its zero value says nothing.
type Quota struct {
	Kind QuotaKind
	// Limit is how much there may be, Used how much there was when the request was refused: objects or bytes, as Kind
	// says.
	Limit uint64
	Used  uint64
}

func (q *Quota) fields(c *codec) {
	enum(c, "kind", &q.Kind)
	c.uint("limit", &q.Limit)
	c.uint("used", &q.Used)
}

// QuotaKind says what a quota bounds: objects or bytes, of a node in one shard or of a shard. The numbers are part of
// the protocol: they never change their meaning and are never used again.
type QuotaKind uint8

const (
	// QuotaUnknown: the host does not say.
	QuotaUnknown QuotaKind = 0
	// QuotaNodeObjects: objects of the node, in the shard that the request was for.
	QuotaNodeObjects QuotaKind = 1
	// QuotaNodeBytes: bytes of the node, in the shard that the request was for.
	QuotaNodeBytes QuotaKind = 2
	// QuotaShardObjects: objects of the shard, over all nodes.
	QuotaShardObjects QuotaKind = 3
	// QuotaShardBytes: bytes of the shard, over all nodes.
	QuotaShardBytes QuotaKind = 4
)

var quotaKindNames = [...]string{
	QuotaUnknown:      "UNKNOWN",
	QuotaNodeObjects:  "NODE_OBJECTS",
	QuotaNodeBytes:    "NODE_BYTES",
	QuotaShardObjects: "SHARD_OBJECTS",
	QuotaShardBytes:   "SHARD_BYTES",
}

// String returns the kind as the docs write it.
func (k QuotaKind) String() string {
	if int(k) < len(quotaKindNames) {
		return quotaKindNames[k]
	}
	return "QUOTA_" + strconv.Itoa(int(k))
}
