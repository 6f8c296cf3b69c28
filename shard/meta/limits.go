package meta

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// The limits of the machine. All replicas must agree on them, so they are constants; a host may be configured to
// refuse earlier, never later.
const (
	// MaxNodes is how many nodes a cluster has at the most.
	MaxNodes = 100_000
	// MaxDropping is how many dropped nodes may wait for the data shards to clear them. Further drops are refused
	// until some are cleared.
	MaxDropping = 10_000
	// MaxPath is the longest path in its shown form, in bytes; MaxParts is the most parts of a path, MaxPart the
	// longest part, in bytes.
	MaxPath  = 1024
	MaxParts = 32
	MaxPart  = 255
	// MaxHosts is how many hosts may register; once they are bootstrapped, package hosts has the limits.
	MaxHosts = 1024
	// MaxHostName, MaxAddress and MaxHostVersion are the longest name, address and version of a host, in bytes.
	MaxHostName    = 256
	MaxAddress     = 512
	MaxHostVersion = 64
	// MaxClusterID is the longest id of a cluster, in bytes.
	MaxClusterID = 64
	// MaxDataShards is how many data shards a cluster has at the most.
	MaxDataShards = 256
	// MaxAnswers is how many answers to numbered commands are kept at the most, those of all clients together.
	MaxAnswers = 10_000
	// MaxMessage is the longest message of a refused command, in bytes.
	MaxMessage = 1024
)

// The bounds of a node's config, and the defaults of fields that are not set.
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

	MaxLongestWaitMillis = 30 * 24 * 3600 * 1000
)
