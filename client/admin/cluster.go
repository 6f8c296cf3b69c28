package admin

import (
	"context"

	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/client/internal/option"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/host"
)

// Cluster is everything that is known of the hosts of a cluster.
type Cluster struct {
	ID         string
	Generation uint64 // one more with each recovery
	// Governor is the id of the host that leads the meta shard, 0 for none.
	Governor uint64
	// Observed: the description is the governor's. Otherwise all observations are missing: who is alive, redundancy,
	// lags.
	Observed bool
	Hosts    []Host // by id
	Shards   []Shard
	Policy   Policy
	// HealthIssues are the issues of the hosts, the worst first. The method HealthIssues has the troubles of all kinds.
	HealthIssues []HealthIssue `name:"health_issues"`
}

// Host returns the host of an id, nil for none.
func (c *Cluster) Host(id uint64) *Host {
	for i := range c.Hosts {
		if c.Hosts[i].ID == id {
			return &c.Hosts[i]
		}
	}
	return nil
}

// HostByName returns the host of a name that was not expelled, nil for none.
func (c *Cluster) HostByName(name string) *Host {
	for i := range c.Hosts {
		if h := &c.Hosts[i]; h.Name == name && h.Target.State != Expelled {
			return h
		}
	}
	return nil
}

// Expelled returns the last expelled host of a name, nil for none.
func (c *Cluster) Expelled(name string) (last *Host) {
	for i := range c.Hosts {
		if h := &c.Hosts[i]; h.Name == name && h.Target.State == Expelled && (last == nil || h.ID > last.ID) {
			last = h
		}
	}
	return last
}

// The types below are aliases: package protocol/host declares them once, for hosts and clients.
type (
	// Host is a host as the cluster has it on record, and as the governor sees the host.
	Host = host.Host
	// Domain is the failure domain of a host.
	Domain = host.Domain
	// HostState is a state of a host, and how the host came to the state.
	HostState = host.Standing
	// Shard is a shard with its replicas. The meta shard has the id 0.
	Shard = host.Shard
	// Replica is a replica of a shard.
	Replica = host.Replica
	// Redundancy is what a shard can lose and go on.
	Redundancy = host.Redundancy
	// DomainLoss says whether a shard goes on without all hosts that share a label of their failure domains.
	DomainLoss = host.DomainLoss
)

// State is the present state of a host, or the state that the host is to reach.
type State = host.State

// The states of hosts.
const (
	Online   = host.Online
	Offline  = host.Offline
	Expelled = host.Expelled
)

// Role is the role of a replica in its shard.
type Role = host.Role

// The roles of replicas.
const (
	None    = host.None // the replica is to be added
	Learner = host.Learner
	Voter   = host.Voter
	Removed = host.Removed // the host has not deleted the data yet
)

// DescribeOption sets who describes a cluster.
type DescribeOption func(*protocol.ClusterDescribe)

// Relaxed lets any host answer from its memory, even if no majority is left. Then nothing is observed.
func Relaxed() DescribeOption {
	return func(m *protocol.ClusterDescribe) { m.Consistency = protocol.ConsistencyRelaxed }
}

// Describe returns everything that is known of the hosts of the cluster.
func (a *Admin) Describe(ctx context.Context, options ...DescribeOption) (*Cluster, error) {
	m, to := &protocol.ClusterDescribe{}, cluster.Target(cluster.MetaLeader)
	option.Apply(m, options)
	if m.Consistency == protocol.ConsistencyRelaxed {
		to = cluster.AnyHost
	}
	var c *Cluster
	err := a.read(ctx, OpDescribe, to, m, func(a *protocol.Answer) { c = clusterOf(&a.ClusterDescribe) })
	return c, err
}

func clusterOf(m *protocol.ClusterDescribeAnswer) *Cluster {
	c := &Cluster{ID: string(m.ClusterID), Generation: m.Generation.Number, Governor: m.GovernorHostID,
		Observed: m.Observed, Hosts: m.Hosts, Shards: m.Shards, Policy: m.Policy}
	for x := range m.HealthIssues.All() {
		c.HealthIssues = append(c.HealthIssues, x.Issue)
	}
	return c
}
