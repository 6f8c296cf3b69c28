package admin

import (
	"context"
	"encoding/hex"
	"time"

	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/client/internal/conn"
	"github.com/signalbox/signalbox/protocol"
)

// Cluster is all that is known of the hosts of a cluster.
type Cluster struct {
	ID         string
	Generation uint64 // one more with each recovery
	// Governor is the id of the host that leads the meta shard, 0 for none.
	Governor uint64
	// Observed: the governor says this. Otherwise all that it observes is missing: who is alive, redundancy, lags.
	Observed bool
	Hosts    []Host // by id
	Shards   []Shard
	Policy   Policy
	// Concerns is what is not as it should be, the worst first.
	Concerns []Concern
}

// Host returns the host of an id, nil where there is none.
func (c *Cluster) Host(id uint64) *Host {
	for i := range c.Hosts {
		if c.Hosts[i].ID == id {
			return &c.Hosts[i]
		}
	}
	return nil
}

// Named returns the host of a name that was not expelled, nil where there is none.
func (c *Cluster) Named(name string) *Host {
	for i := range c.Hosts {
		if h := &c.Hosts[i]; h.Name == name && h.Target.State != Expelled {
			return h
		}
	}
	return nil
}

// State is what a host is, or is to be.
type State uint8

// The states of hosts.
const (
	Online   = State(protocol.HostOnline)
	Offline  = State(protocol.HostOffline)
	Expelled = State(protocol.HostExpelled)
)

// String returns the state as the docs write it.
func (s State) String() string { return protocol.HostState(s).String() }

// Host is a host as the cluster has it on record, and as the governor sees it.
type Host struct {
	ID          uint64
	Name        string
	Incarnation string // of its data directory, 32 hexadecimal digits
	Starts      uint64 // how often its process was started on that
	// RaftAddress is where other hosts reach it. AdminAddress may be empty.
	RaftAddress, ClientAddress, AdminAddress string
	Domain                                   string // its failure domain, such as "dc=a,rack=1"
	Version                                  string
	Level                                    int // the highest feature level that it can follow
	// Target is what it is to be, Current that to which the governor has brought it.
	Current, Target Standing
	Cordoned        bool
	Replaces        uint64 // the host whose place it took, 0 for none
	// Alive: it was heard lately; SilentFor is how long it has not been. Fresh is for how long it has confirmed that
	// it is up to date, 0 where it does not. They are observed.
	Alive            bool
	SilentFor, Fresh time.Duration
}

// AtTarget reports whether the governor has brought the host to its target.
func (h *Host) AtTarget() bool {
	return h.Current.State == h.Target.State && h.Current.epoch == h.Target.epoch
}

// Standing is a state of a host, and how it came to it.
type Standing struct {
	State  State
	Reason string // a word, such as "drained"
	Text   string
	By     string        // who asked for it, where the history still has that
	Since  time.Duration // for how long it has been so
	epoch  uint64
}

// Shard is a shard with its replicas. The meta shard has the id 0.
type Shard struct {
	ID       uint64
	Leader   uint64 // the id of its host, 0 where none is known
	Replicas []Replica
	Redundancy
}

// Role is what a replica is in its shard.
type Role uint8

// The roles of replicas.
const (
	None    = Role(protocol.ReplicaNone) // it is to be added
	Learner = Role(protocol.ReplicaLearner)
	Voter   = Role(protocol.ReplicaVoter)
	Removed = Role(protocol.ReplicaRemoved) // its host has not deleted its data yet
)

// String returns the role as the docs write it.
func (r Role) String() string { return protocol.ReplicaRole(r).String() }

// Replica is a replica of a shard.
type Replica struct {
	ID   uint64
	Host uint64 // its id
	Role Role
	// Observed: the leader of the shard has said what follows. Behind is how long ago the leader had no more than this.
	Observed bool
	Behind   time.Duration
	// SnapshotPercent is how much of a snapshot it has got, 0 where it is sent none.
	SnapshotPercent int
}

// Redundancy is what a shard can lose and go on. It is observed.
type Redundancy struct {
	Wanted, Voters int // how many are to vote, and do
	Live           int // voters whose hosts are heard
	// Tolerated is how many more voters may fail, -1 where too few live already.
	Tolerated int
	Domains   []DomainLoss
}

// DomainLoss says whether a shard goes on without all hosts that share a label of their failure domains.
type DomainLoss struct {
	Label     string // such as "dc=a"
	Live      int
	Tolerated bool
}

// Severity is how bad a concern is.
type Severity uint8

// The severities.
const (
	Note    = Severity(protocol.SeverityNote)
	Warning = Severity(protocol.SeverityWarning)
	Failure = Severity(protocol.SeverityFailure)
)

// String returns the severity as the docs write it.
func (s Severity) String() string { return protocol.Severity(s).String() }

// Concern is something that is not as it should be.
type Concern struct {
	Severity Severity
	Code     string // for programs
	Text     string
	Mend     string   // what to do about it
	Host     uint64   // 0 for none
	Shards   []uint64 // none where it is about all or none
}

// DescribeOption sets who describes a cluster.
type DescribeOption func(*protocol.ClusterDescribe)

// Relaxed lets any host answer from its memory, also where no majority is left. Nothing is observed then.
func Relaxed() DescribeOption {
	return func(m *protocol.ClusterDescribe) { m.Consistency = protocol.ConsistencyRelaxed }
}

// Describe returns all that is known of the hosts of the cluster.
func (a *Admin) Describe(ctx context.Context, options ...DescribeOption) (*Cluster, error) {
	m, to := &protocol.ClusterDescribe{}, cluster.Target(cluster.MetaLeader)
	for _, o := range options {
		o(m)
	}
	if m.Consistency == protocol.ConsistencyRelaxed {
		to = cluster.AnyHost
	}
	var c *Cluster
	err := a.read(ctx, OpDescribe, to, m, func(a *protocol.Answer) { c = clusterOf(&a.ClusterDescribe) })
	return c, err
}

func clusterOf(m *protocol.ClusterDescribeAnswer) *Cluster {
	c := &Cluster{ID: string(m.ClusterID), Generation: m.Generation.Number, Governor: m.GovernorHostID,
		Observed: m.Observed, Policy: policyOf(&m.Policy)}
	for h := range m.Hosts.All() {
		c.Hosts = append(c.Hosts, hostOf(&h))
	}
	for s := range m.Shards.All() {
		c.Shards = append(c.Shards, shardOf(&s))
	}
	for x := range m.Concerns.All() {
		out := Concern{Severity: Severity(x.Severity), Code: string(x.Code), Text: string(x.Text), Mend: string(x.Mend),
			Host: x.HostID}
		for id := range x.Shards.All() {
			out.Shards = append(out.Shards, uint64(id))
		}
		c.Concerns = append(c.Concerns, out)
	}
	return c
}

func hostOf(m *protocol.ClusterHost) Host {
	return Host{
		ID: m.ID, Name: string(m.Name), Incarnation: hex.EncodeToString(m.Incarnation), Starts: m.Starts,
		RaftAddress: string(m.Addresses.Raft), ClientAddress: string(m.Addresses.Client),
		AdminAddress: string(m.Addresses.Admin), Domain: string(m.Domain), Version: string(m.Version),
		Level: int(m.Level), Current: standingOf(&m.Current), Target: standingOf(&m.Target), Cordoned: m.Cordoned,
		Replaces: m.Replaces, Alive: m.Seen.Alive, SilentFor: conn.Millis(m.Seen.SilentMillis),
		Fresh: conn.Millis(m.Seen.FreshMillis),
	}
}

func standingOf(m *protocol.HostStanding) Standing {
	return Standing{State: State(m.State), Reason: string(m.Reason), Text: string(m.Text), By: string(m.By),
		Since: conn.Millis(m.AgeMillis), epoch: m.Epoch}
}

func shardOf(m *protocol.ClusterShard) Shard {
	r := &m.Redundancy
	s := Shard{ID: m.ID, Leader: m.LeaderHostID, Redundancy: Redundancy{
		Wanted: int(r.Wanted), Voters: int(r.Voters), Live: int(r.Live), Tolerated: int(r.Tolerated),
	}}
	if r.Lost {
		s.Tolerated = -1
	}
	for d := range r.Domains.All() {
		s.Domains = append(s.Domains, DomainLoss{Label: string(d.Label), Live: int(d.Live), Tolerated: d.Tolerated})
	}
	for p := range m.Replicas.All() {
		s.Replicas = append(s.Replicas, Replica{ID: p.ID, Host: p.HostID, Role: Role(p.Role), Observed: p.Observed,
			Behind: conn.Millis(p.BehindMillis), SnapshotPercent: int(p.SnapshotPercent)})
	}
	return s
}
