package settings

import (
	"fmt"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard/hosts"
)

// check records all mistakes in complete settings.
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

// Limits for settings.
const (
	// MaxShards is the maximum number of data shards at bootstrap.
	MaxShards = 64
	// MaxHosts limits the hosts in a cluster, at the bootstrap and later.
	MaxHosts = hosts.MaxHosts
	// MaxClusterName is the maximum cluster name length in bytes, because the cluster id begins with the name.
	MaxClusterName = 32
	// MaxHostName is the maximum host name length in bytes.
	MaxHostName = protocol.MaxHostNameBytes
	// MaxAddress is the maximum address length in bytes.
	MaxAddress = protocol.MaxAddressBytes
	// MaxFile is the maximum settings file size in bytes.
	MaxFile = 1 << 20
)

func (c *checker) checkLimits() {
	s := c.settings
	inRange(c, "max-data-size", s.MaxDataSize, 1<<10, protocol.MaxDataBytes)
	if s.MaxConnections != 0 {
		inRange(c, "max-connections", s.MaxConnections, 1, 10_000_000)
	}
	inRange(c, "max-requests-in-flight", s.MaxRequestsInFlight, 1, 1<<20)
	inRange(c, "max-watches", s.MaxWatches, 1, 1<<20)
	c.checkMemory()
	inRange(c, "shard-quota-objects", s.ShardQuotaObjects, 1, 1_000_000_000)
	inRange(c, "ping-interval", s.PingInterval, time.Second, 10*time.Minute)
	// With a longer tick, an election takes longer than session timeouts.
	inRange(c, "raft-heartbeat-interval", s.RaftHeartbeatInterval, time.Millisecond, 250*time.Millisecond)
	if s.RaftHeartbeatInterval%time.Millisecond != 0 && !c.rejected("raft-heartbeat-interval") {
		c.reject("raft-heartbeat-interval", "not a whole number of milliseconds", "use a value such as 20ms")
	}
	// Below the minimum, a shard does little else than save snapshots. Above the maximum, the log fills the disk, and
	// a restart must apply the whole log.
	if s.RaftSnapshotBytes != 0 {
		inRange(c, "raft-snapshot-bytes", s.RaftSnapshotBytes, 64<<10, 64<<30)
	}
}

// inRange rejects a value outside its limits.
func inRange[T int | Size | time.Duration](c *checker, setting string, v, least, most T) {
	if !c.rejected(setting) && (v < least || v > most) {
		c.reject(setting, c.subject(setting, fmt.Sprint(v))+" is out of range",
			fmt.Sprintf("give %v to %v", least, most))
	}
}
