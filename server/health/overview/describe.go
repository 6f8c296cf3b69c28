package overview

import (
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/hosts"
)

// Cluster is the input for all views.
type Cluster struct {
	Records *hosts.Records
	// Seen contains the governor's observations, nil if the answering host is not the governor, or if the governor does
	// not know yet which hosts are alive. Governs is set in the second case.
	Seen    *governor.Seen
	Governs bool
	// Now is the meta shard's time. Wall is the host's wall clock, zero if unknown.
	Now  uint64
	Wall time.Time
	// Governor is the meta shard leader, 0 if unknown.
	Governor shard.HostID
	// Leader returns a shard's leader as far as the host knows. Leader is used only while Seen is nil.
	Leader func(hosts.ShardID) shard.HostID
}

// Observed converts the governor's view to a Cluster, without observations until the governor knows which hosts are
// alive. leader becomes the cluster's Leader.
func Observed(v governor.View, leader func(hosts.ShardID) shard.HostID) Cluster {
	c := Cluster{Records: v.State, Governs: true, Now: v.Now, Governor: v.Seen.Self, Leader: leader}
	if governor.Judged(v) {
		c.Seen = v.Seen
	}
	return c
}

// view returns the input for the governor's functions, if observations are available.
func (c *Cluster) view() governor.View {
	return governor.View{State: c.Records, Seen: c.Seen, Now: c.Now}
}

// age returns the time since a timestamp.
func (c *Cluster) age(moment uint64) uint64 { return c.Now - min(moment, c.Now) }

// Age returns the time since a timestamp.
func (c *Cluster) Age(moment uint64) time.Duration { return left(moment, c.Now) }

// left returns the time between two timestamps, 0 if from is later than to.
func left(from, to uint64) time.Duration { return field.Duration(to - min(from, to)) }

// Describe returns the complete cluster description.
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
