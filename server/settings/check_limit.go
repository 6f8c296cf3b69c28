package settings

import (
	"strconv"
	"time"
)

func (n *notebook) checkLimits() {
	s := n.settings
	n.checkRange("data-limit", int64(s.DataLimit), minDataLimit, maxDataLimit, func(v int64) string { return Size(v).String() })
	if s.Connections != 0 {
		n.checkRange("connections", int64(s.Connections), 1, maxConnections, decimal)
	}
	n.checkRange("requests-in-flight", int64(s.RequestsInFlight), 1, maxRequestsInFlight, decimal)
	n.checkRange("watches", int64(s.Watches), 1, maxWatches, decimal)
	n.checkRange("pending-limit", int64(s.PendingLimit), minPendingLimit, maxPendingLimit, func(v int64) string { return Size(v).String() })
	n.checkRange("watch-memory", int64(s.WatchMemory), minWatchMemory, maxWatchMemory, func(v int64) string { return Size(v).String() })
	n.checkRange("partial-limit", int64(s.PartialLimit), minPartialLimit, maxPartialLimit, func(v int64) string { return Size(v).String() })
	n.checkRange("ping-interval", int64(s.PingInterval), int64(minPingInterval), int64(maxPingInterval), span)
	n.checkRange("raft-tick", int64(s.RaftTick), int64(minRaftTick), int64(maxRaftTick), span)
	if s.RaftTick%time.Millisecond != 0 && !n.blamed("raft-tick") {
		n.blame("raft-tick", "it is not a whole number of milliseconds", "round it, such as 20ms")
	}
	n.checkRange("raft-snapshot-batches", int64(s.RaftSnapshotBatches), minRaftSnapshotBatches, maxRaftSnapshotBatches, decimal)
}

func (n *notebook) checkRange(setting string, v, least, most int64, show func(int64) string) {
	if !n.blamed(setting) && (v < least || v > most) {
		n.blame(setting, n.it(setting, show(v))+" is out of bounds", "give "+show(least)+" to "+show(most))
	}
}

func decimal(v int64) string { return strconv.FormatInt(v, 10) }
func span(v int64) string    { return time.Duration(v).String() }
