package admin

import (
	"context"

	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/client/internal/option"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/host"
)

// Cluster describes all hosts in the cluster.
type Cluster struct {
	ID         string
	Generation uint64 // incremented by each recovery
	// Governor is the id of the host that leads the meta shard, or 0 if unknown.
	Governor uint64
	// Observed reports whether the description comes from the governor. Otherwise all observations are missing: live
	// hosts, redundancy, and lags.
	Observed bool
	Hosts    []Host // by id
	Shards   []Shard
	Policy   Policy `omit:"never"`
	// HealthIssues lists host issues, worst first. The method HealthIssues returns issues from all categories.
	HealthIssues []HealthIssue `name:"health_issues"`
}

// Host returns the host with the given id, or nil.
func (c *Cluster) Host(id uint64) *Host {
	for i := range c.Hosts {
		if c.Hosts[i].ID == id {
			return &c.Hosts[i]
		}
	}
	return nil
}

// HostByName returns the host with the given name unless it was expelled, or nil.
func (c *Cluster) HostByName(name string) *Host {
	for i := range c.Hosts {
		if h := &c.Hosts[i]; h.Name == name && h.Target.State != Expelled {
			return h
		}
	}
	return nil
}

// Expelled returns the most recently expelled host with the given name, or nil.
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
	// Host is a host's recorded state together with the governor's observations.
	Host = host.Host
	// Domain is a host's failure domain.
	Domain = host.Domain
	// HostState is a host's state and how the host reached it.
	HostState = host.Standing
	// Shard is a shard with its replicas. The meta shard has id 0.
	Shard = host.Shard
	// Replica is one replica in a shard.
	Replica = host.Replica
	// Redundancy describes which failures a shard tolerates.
	Redundancy = host.Redundancy
	// DomainLoss reports whether a shard survives losing all hosts that share a failure domain label.
	DomainLoss = host.DomainLoss
)

// State is a host's current or target state.
type State = host.State

// Host states.
const (
	Online   = host.Online
	Offline  = host.Offline
	Expelled = host.Expelled
)

// Role is a replica's role in its shard.
type Role = host.Role

// Replica roles.
const (
	None    = host.None // the replica is to be added
	Learner = host.Learner
	Voter   = host.Voter
	Removed = host.Removed // the host has not deleted the data yet
)

// DescribeOption sets how Describe reads the cluster.
type DescribeOption func(*protocol.ClusterDescribe)

// Relaxed lets any host answer from memory, even without a quorum. The answer then has no observations.
func Relaxed() DescribeOption {
	return func(m *protocol.ClusterDescribe) { m.Consistency = protocol.ConsistencyRelaxed }
}

// Describe returns a description of all hosts in the cluster.
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
