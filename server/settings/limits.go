package settings

import (
	"time"

	"github.com/signalbox/signalbox/protocol"
)

// The bounds of what may be set.
const (
	// MaxShards is the most data shards that a cluster may have.
	MaxShards = 64
	// MaxHosts is the most hosts that a cluster may begin with.
	MaxHosts = 31
	// MaxClusterName is the longest name of a cluster, in bytes: the id of the cluster begins with it.
	MaxClusterName = 32
	// MaxHostName is the longest name of a host, in bytes.
	MaxHostName = protocol.MaxHostNameBytes
	// MaxAddress is the longest address, in bytes.
	MaxAddress = protocol.MaxAddressBytes
	// MaxFile is the largest file of settings, in bytes.
	MaxFile = 1 << 20

	minDataLimit        = 1 << 10
	maxDataLimit        = protocol.MaxDataBytes
	maxConnections      = 10_000_000
	maxRequestsInFlight = 1 << 20
	maxWatches          = 1 << 20
	minPendingLimit     = 64 << 20
	maxPendingLimit     = 1 << 40
	minPartialLimit     = 8 << 20
	maxPartialLimit     = 1 << 40
	minWatchMemory      = 1 << 20
	maxWatchMemory      = 1 << 40
	minPingInterval     = time.Second
	maxPingInterval     = 10 * time.Minute
	minRaftTick         = time.Millisecond
	// Beyond it an election takes longer than sessions last.
	maxRaftTick = 250 * time.Millisecond
	// Below it a shard does little else than saving, beyond it the log takes the disk, and a restart has all of it to apply.
	minRaftSnapshotBatches = 100
	maxRaftSnapshotBatches = 1_000_000
)
