package settings

import (
	"strconv"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard/hosts"
)

// check notes all mistakes in complete settings.
func (c *checker) check() {
	c.checkHost()
	c.checkHosts()
	c.checkListeners()
	c.checkJoin()
	c.checkClientTLS()
	c.checkRaftTLS()
	c.checkFiles()
	c.checkLimits()
	c.checkExposure()
}

// The bounds of the settings.
const (
	// MaxShards is the largest number of data shards of a cluster.
	MaxShards = 64
	// MaxHosts is the largest number of hosts of a cluster, at the birth and later.
	MaxHosts = hosts.MaxHosts
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
	minShardObjects     = 1
	maxShardObjects     = 1_000_000_000
	minShardBytes       = 1 << 20
	maxShardBytes       = 1 << 40
	minPingInterval     = time.Second
	maxPingInterval     = 10 * time.Minute
	minRaftTick         = time.Millisecond
	// With a longer tick an election takes longer than sessions last.
	maxRaftTick = 250 * time.Millisecond
	// Below the least values a shard does little else than saving. Above the largest values the log fills the disk,
	// and a restart has all of the log to apply.
	minRaftSnapshotBatches = 100
	maxRaftSnapshotBatches = 1_000_000
	minRaftSnapshotBytes   = 1 << 20
	maxRaftSnapshotBytes   = 64 << 30
)

func (c *checker) checkLimits() {
	s := c.settings
	c.checkRange("data-limit", int64(s.DataLimit), minDataLimit, maxDataLimit, inBytes)
	if s.Connections != 0 {
		c.checkRange("connections", int64(s.Connections), 1, maxConnections, decimal)
	}
	c.checkRange("requests-in-flight", int64(s.RequestsInFlight), 1, maxRequestsInFlight, decimal)
	c.checkRange("watches", int64(s.Watches), 1, maxWatches, decimal)
	c.checkRange("pending-limit", int64(s.PendingLimit), minPendingLimit, maxPendingLimit, inBytes)
	c.checkRange("shard-objects", int64(s.ShardObjects), minShardObjects, maxShardObjects, decimal)
	c.checkRange("shard-bytes", int64(s.ShardBytes), minShardBytes, maxShardBytes, inBytes)
	c.checkRange("watch-memory", int64(s.WatchMemory), minWatchMemory, maxWatchMemory, inBytes)
	c.checkRange("partial-limit", int64(s.PartialLimit), minPartialLimit, maxPartialLimit, inBytes)
	c.checkRange("ping-interval", int64(s.PingInterval), int64(minPingInterval), int64(maxPingInterval), span)
	c.checkRange("raft-tick", int64(s.RaftTick), int64(minRaftTick), int64(maxRaftTick), span)
	if s.RaftTick%time.Millisecond != 0 && !c.rejected("raft-tick") {
		c.reject("raft-tick", "it is not a whole number of milliseconds", "round it, such as 20ms")
	}
	c.checkRange("raft-snapshot-batches", int64(s.RaftSnapshotBatches), minRaftSnapshotBatches, maxRaftSnapshotBatches,
		decimal)
	c.checkRange("raft-snapshot-bytes", int64(s.RaftSnapshotBytes), minRaftSnapshotBytes, maxRaftSnapshotBytes, inBytes)
}

func (c *checker) checkRange(setting string, v, least, most int64, show func(int64) string) {
	if !c.rejected(setting) && (v < least || v > most) {
		c.reject(setting, c.subject(setting, show(v))+" is out of bounds", "give "+show(least)+" to "+show(most))
	}
}

func inBytes(v int64) string { return Size(v).String() }
func decimal(v int64) string { return strconv.FormatInt(v, 10) }
func span(v int64) string    { return time.Duration(v).String() }
