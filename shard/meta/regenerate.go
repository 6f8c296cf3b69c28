package meta

import (
	"bytes"
	"cmp"
	"fmt"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/machine"
)

// nodeJump is by how much the counter of nodes jumps when a cluster is made from the state of an old cluster.
const nodeJump = 1 << 20

// Regeneration says how a new cluster is made from the state of an old cluster: from a backup, or from the hosts that
// are left after the loss of a majority.
type Regeneration struct {
	// Draw distinguishes the new cluster from all other clusters made from the same state.
	Draw [16]byte
	// Cluster is the new id; an empty id keeps the old id.
	Cluster string
	// Shards is the new number of data shards; 0 keeps the old data shards with their slots.
	Shards int
	// First is the first host of the new cluster. Regenerate gives the host its id.
	First hosts.InitialMember
	// Jump is by how much counters grow.
	Jump machine.Jump
	// DropRights leaves all tokens and grants out: the rights of the new cluster allow nothing.
	DropRights bool
	// Wall, By and Why are for the audit history.
	Wall    uint64
	By, Why string
}

// Regenerate makes the machine of a new cluster from the machine of an old cluster, which stays as it is. Nodes and
// their configs stay; the new cluster has one host. No version, id or revision is given a second time. Dropped nodes
// count as cleared, because machine.Regenerate keeps nothing of them.
func (m *Machine) Regenerate(r Regeneration) (*Machine, error) {
	next, err := m.copied()
	if err != nil {
		return nil, err
	}
	next.raise(r.Jump.Others)
	next.dropping.entries = nil
	next.clock = clock.Clock{Now: next.clock.Now, Base: next.clock.Now}
	if r.Cluster != "" {
		next.routing.Cluster = r.Cluster
	}
	if r.Shards != 0 && r.Shards != len(next.routing.Shards) {
		next.routing.Shards = nil
		for id := range r.Shards {
			next.routing.Shards = append(next.routing.Shards, ShardID(id+1))
		}
		next.routing.Ranges = InitialRanges(next.routing.Shards)
	}
	if err := next.renewTopology(&r); err != nil {
		return nil, err
	}
	if r.DropRights {
		next.rights = next.rights.Closed()
	}
	return next.copied() // a restored machine is checked
}

// copied returns a copy of the machine, by way of a snapshot.
func (m *Machine) copied() (*Machine, error) {
	var file bytes.Buffer
	s, err := m.PrepareSnapshot()
	if err == nil {
		err = s.Save(&file, nil)
	}
	next := New()
	if err == nil {
		err = next.Restore(&file)
	}
	return next, err
}

// raise lets all numbers jump that may be given only once. Kept versions jump too, so that no version is older than a
// version that a client has seen. Answers to numbered commands are forgotten: repetitions are refused.
func (m *Machine) raise(jump uint64) {
	m.version += jump
	m.lastNode += nodeJump
	m.answers = answers{next: m.answers.next + jump, places: make(map[numberOf]uint64)}
	m.routing.Version = m.version
	for _, n := range m.byPath.entries {
		n.Version += jump // so that a lost version of a config cannot be taken for a new version of the same number
		n.Timing.Since += jump
		n.Timed += jump
	}
}

func (m *Machine) renewTopology(r *Regeneration) error {
	at := hosts.At{Now: m.clock.Now, Wall: r.Wall, Level: m.level, By: r.By, Why: r.Why}
	old, err := m.knownTopology(at)
	if err != nil {
		return err
	}
	records, err := old.records.Renewed(at, hosts.Renewal{
		Generation: hosts.Generation{Number: old.records.Generation().Number + 1, Draw: r.Draw},
		Cluster:    m.routing.Cluster, Data: m.routing.Shards, First: r.First, Jump: r.Jump.Others,
	})
	if err != nil {
		return err
	}
	m.hosts = newHosts()
	m.topology = &topology{records: records, plan: old.plan.Renewed(r.Jump.Others), seen: newSeen()}
	return nil
}

// knownTopology returns the topology. If the hosts are not bootstrapped yet, it makes a topology of the registered
// hosts.
func (m *Machine) knownTopology(at hosts.At) (*topology, error) {
	if m.topology != nil || len(m.hosts.entries) == 0 {
		return cmp.Or(m.topology, newTopology(m.routing.Cluster, m.routing.Shards)), nil
	}
	t := newTopology(m.routing.Cluster, m.routing.Shards)
	t.records.ContinueFrom(m.version)
	var initialMembers []hosts.InitialMember
	for _, h := range m.hosts.entries {
		initialMembers = append(initialMembers, hosts.InitialMember{ID: h.ID, Name: h.Name, Version: h.Version,
			Level: h.Level, Addresses: hosts.Addresses{Raft: h.RaftAddress, Client: h.ClientAddress,
				Admin: h.AdminAddress}})
	}
	if a := t.records.Bootstrap(at, initialMembers); a.Status != protocol.StatusSuccess {
		return nil, fmt.Errorf("meta: the hosts of the old cluster: %s", a.Text)
	}
	return t, nil
}
