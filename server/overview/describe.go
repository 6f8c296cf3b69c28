package overview

import (
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/hosts"
)

// Cluster is what is shown.
type Cluster struct {
	Records *hosts.Records
	// Seen is what the governor observes, nil where the host that answers does not govern.
	Seen *governor.Seen
	// Now is the time of the meta shard.
	Now uint64
	// Governor is the leader of the meta shard, 0 where none is known.
	Governor shard.HostID
	// Leader is who leads a shard as far as this host knows: it counts where nothing is observed.
	Leader func(hosts.ShardID) shard.HostID
}

// Observed returns what the governor goes by, as a cluster that is shown.
func Observed(v governor.View) Cluster {
	return Cluster{Records: v.State, Seen: v.Seen, Now: v.Now, Governor: v.Seen.Self}
}

// view is what the governor's functions take, where something is observed.
func (c *Cluster) view() governor.View {
	return governor.View{State: c.Records, Seen: c.Seen, Now: c.Now}
}

// age is for how long something has been so that is so from a moment on.
func (c *Cluster) age(moment uint64) uint64 { return left(moment, c.Now) }

// Age is for how long something has been so that is so from a moment on.
func (c *Cluster) Age(moment uint64) time.Duration {
	return time.Duration(c.age(moment)) * time.Millisecond
}

// left is how long it is from one time to another, 0 where that is over.
func left(from, to uint64) uint64 {
	if to <= from {
		return 0
	}
	return to - from
}

// Describe returns all that is known of a cluster.
func (c *Cluster) Describe() *protocol.ClusterDescribeAnswer {
	r := c.Records
	g := r.Generation()
	a := &protocol.ClusterDescribeAnswer{
		ClusterID: []byte(r.Cluster()), GovernorHostID: uint64(c.Governor), Observed: c.Seen != nil,
		Policy: PolicyOf(r.Policy()), LastAudit: r.LastAudit(),
	}
	if g != (hosts.Generation{}) {
		a.Generation = protocol.Generation{Number: g.Number, Draw: g.Draw[:]}
	}
	c.addShards(a)
	for _, x := range c.Concerns() {
		a.Concerns.Append(x)
	}
	c.addHosts(a)
	return a
}

// PolicyOf returns a policy as messages have it.
func PolicyOf(p hosts.Policy) protocol.GovernorPolicy {
	return protocol.GovernorPolicy{
		Voters: p.Voters, OfflineAfterMillis: p.OfflineAfter, ReplaceAfterMillis: p.ReplaceAfter,
		StableForMillis: p.StableFor, BalanceEveryMillis: p.BalanceEvery, Copies: p.Copies,
	}
}

// PolicyFrom is the opposite of PolicyOf.
func PolicyFrom(p protocol.GovernorPolicy) hosts.Policy {
	return hosts.Policy{
		Voters: p.Voters, OfflineAfter: p.OfflineAfterMillis, ReplaceAfter: p.ReplaceAfterMillis,
		StableFor: p.StableForMillis, BalanceEvery: p.BalanceEveryMillis, Copies: p.Copies,
	}
}
