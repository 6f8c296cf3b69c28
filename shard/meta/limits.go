package meta

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/health"
	"github.com/signalbox/signalbox/shard"
)

// Machine limits. They are constants because all replicas must agree on them; a host may be configured to refuse
// earlier, never later.
const (
	// MaxNodes is the maximum number of nodes in a cluster.
	MaxNodes = 100_000
	// MaxDropping is how many dropped nodes may wait for the data shards to clear them. Further drops are refused until
	// some are cleared.
	MaxDropping = 10_000
	// MaxPath is the maximum path length as displayed, in bytes; MaxParts is the maximum number of path parts, MaxPart
	// the maximum part length, in bytes.
	MaxPath  = 1024
	MaxParts = 32
	MaxPart  = 255
	// MaxHosts is how many hosts may register; once they are bootstrapped, package hosts has the limits.
	MaxHosts = 1024
	// MaxHostName, MaxAddress and MaxHostVersion are the maximum lengths of a host's name, address and version, in
	// bytes.
	MaxHostName    = 256
	MaxAddress     = 512
	MaxHostVersion = 64
	// MaxClusterID is the maximum cluster id length, in bytes.
	MaxClusterID = 64
	// MaxDataShards is the maximum number of data shards in a cluster.
	MaxDataShards = 256
	// MaxAnswers is the maximum number of kept answers to numbered commands, over all clients.
	MaxAnswers = 10_000
	// MaxMessage is the maximum message length for a refused command, in bytes.
	MaxMessage = 1024
)

// Bounds and defaults for a node's config.
const (
	MinSelfCheckPeriodMillis     = 500
	MaxSelfCheckPeriodMillis     = 10_000
	DefaultSelfCheckPeriodMillis = 1_000

	MinSessionGracePeriodMillis     = 1_000
	MaxSessionGracePeriodMillis     = 30_000
	DefaultSessionGracePeriodMillis = 10_000

	DefaultReadConsistency         = protocol.ConsistencyRelaxed
	DefaultAttachConsistency       = protocol.ConsistencyStrict
	DefaultRateLimiterCountersMode = protocol.CountersAggregated

	MinQuotaObjects     = 1
	MaxQuotaObjects     = shard.MaxSemaphoresPerNode
	DefaultQuotaObjects = shard.DefaultNodeObjects

	MinQuotaBytes     = 1 << 20
	MaxQuotaBytes     = 1 << 40
	DefaultQuotaBytes = shard.DefaultNodeBytes

	MaxLongestWaitMillis     = 30 * 24 * 3600 * 1000
	DefaultLongestWaitMillis = health.DefaultLongWaitMinutes * 60 * 1000
)
