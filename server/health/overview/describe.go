package overview

import (
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/hosts"
)

// Cluster is the input of all views.
type Cluster struct {
	Records *hosts.Records
	// Seen is what the governor observes, nil if the answering host does not govern.
	Seen *governor.Seen
	// Now is the time of the meta shard; Wall is the wall clock of the host, zero if unknown.
	Now  uint64
	Wall time.Time
	// Governor is the leader of the meta shard, 0 for an unknown leader.
	Governor shard.HostID
	// Leader returns the leader of a shard as far as this host knows. Leader counts only while Seen is nil.
	Leader func(hosts.ShardID) shard.HostID
}

// Observed returns the governor's view in the form of a Cluster.
func Observed(v governor.View) Cluster {
	return Cluster{Records: v.State, Seen: v.Seen, Now: v.Now, Governor: v.Seen.Self}
}

// view is the input of the governor's functions, if the cluster is observed.
func (c *Cluster) view() governor.View {
	return governor.View{State: c.Records, Seen: c.Seen, Now: c.Now}
}

// age is how long a state has lasted that began at a moment.
func (c *Cluster) age(moment uint64) uint64 { return c.Now - min(moment, c.Now) }

// Age is how long a state has lasted that began at a moment.
func (c *Cluster) Age(moment uint64) time.Duration { return left(moment, c.Now) }

// left is the time from one moment to another, 0 if the latter has passed.
func left(from, to uint64) time.Duration { return field.Duration(to - min(from, to)) }

// Describe returns the whole description of a cluster.
func (c *Cluster) Describe() *protocol.ClusterDescribeAnswer {
	r := c.Records
	g := r.Generation()
	a := &protocol.ClusterDescribeAnswer{
		ClusterID: []byte(r.Cluster()), GovernorHostID: uint64(c.Governor), Observed: c.Seen != nil,
		Policy: r.Policy(), LastAudit: r.LastAudit(),
	}
	if g != (hosts.Generation{}) {
		a.Generation = protocol.Generation{Number: g.Number, Nonce: g.Draw[:]}
	}
	a.Shards = c.Shards()
	for _, x := range c.Issues() {
		a.HealthIssues.Append(protocol.HealthIssue{Issue: x})
	}
	c.addHosts(a)
	return a
}
