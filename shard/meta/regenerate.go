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

// nodeJump is how far the node counter jumps when a cluster is created from an old cluster's state.
const nodeJump = 1 << 20

// Regeneration describes how to create a new cluster from an old cluster's state: from a backup, or from the hosts that
// survive the loss of a majority.
type Regeneration struct {
	// Draw distinguishes the new cluster from all other clusters created from the same state.
	Draw [16]byte
	// Cluster is the new id; an empty id keeps the old id.
	Cluster string
	// Shards is the new number of data shards; 0 keeps the old data shards with their slots. In both cases all slots
	// have generation zero.
	Shards int
	// First is the new cluster's first host. Regenerate assigns its id.
	First hosts.InitialMember
	// Jump is how far counters grow.
	Jump machine.Jump
	// DropRights leaves out all tokens and grants: in the new cluster the rights allow nothing.
	DropRights bool
	// Wall, By and Why are for the audit log.
	Wall    uint64
	By, Why string
}

// Regenerate creates a new cluster's machine from an old cluster's machine, which is unchanged. Nodes and their configs
// stay; the new cluster has one host. No version, id or revision is issued twice. Dropped nodes count as cleared,
// because machine.Regenerate keeps nothing for them.
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
	shards := cmp.Or(r.Shards, len(next.routing.Shards))
	next.routing.Shards = nil
	for id := range shards { // a new cluster's shards have no gaps, also if shards were removed from the old cluster
		next.routing.Shards = append(next.routing.Shards, ShardID(id+1))
	}
	if err := next.renewTopology(&r); err != nil {
		return nil, err
	}
	if r.DropRights {
		next.rights = next.rights.Closed()
	}
	return next.copied() // a restored machine is checked
}

// copied returns a copy of the machine, made through a snapshot.
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

// raise lets all unique numbers jump. Kept versions jump too, so they never fall behind a version a client has seen.
// Answers to numbered commands are discarded: retries are refused.
func (m *Machine) raise(jump uint64) {
	m.version += jump
	m.lastNode += nodeJump
	m.answers = answers{next: m.answers.next + jump, places: make(map[numberOf]uint64)}
	m.routing.Version = m.version
	for _, n := range m.byPath.entries {
		n.Version += jump // so that a lost config version cannot be mistaken for a new version with the same number
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

// knownTopology returns the topology. If the hosts are not bootstrapped yet, it builds a topology from the registered
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
