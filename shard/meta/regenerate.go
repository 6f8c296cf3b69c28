package meta

import (
	"bytes"
	"cmp"
	"fmt"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/hosts"
)

// nodeJump is by how much the counter of nodes jumps where a cluster is made of the state of another one.
const nodeJump = 1 << 20

// Regeneration says which cluster is made of the state of another one: of a backup, or of what was left of it.
type Regeneration struct {
	// Draw distinguishes it from all others that were made of that state.
	Draw [16]byte
	// Cluster is its id; empty keeps that of the old one.
	Cluster string
	// Shards is how many data shards it has; 0 keeps those of the old one, and which slots each serves.
	Shards int
	// First is its first host. The id is given to it here.
	First hosts.Founder
	// Jump is by how much counters grow: shard.JumpOver.
	Jump uint64
	// DropRights leaves all tokens and grants out: the rights of the new cluster allow nothing.
	DropRights bool
	// Wall, By and Why are for the audit history.
	Wall    uint64
	By, Why string
}

// Regenerate makes the machine of a new cluster from that of another one, which stays as it is. Nodes and their configs
// stay; of hosts there is one. No version, id or revision is given a second time. Dropped nodes are cleared:
// shard.Regenerate keeps none of them.
func (m *Machine) Regenerate(r Regeneration) (*Machine, error) {
	next, err := m.copied()
	if err != nil {
		return nil, err
	}
	if next.level < TopologyLevel {
		return nil, fmt.Errorf("meta: the state is of feature level %d, and a cluster can be made of one of %d and "+
			"above: finish the upgrade of its hosts first", next.level, TopologyLevel)
	}
	next.raise(r.Jump)
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
		next.routing.Ranges = BirthRanges(next.routing.Shards)
	}
	if err := next.renewTopology(&r); err != nil {
		return nil, err
	}
	if r.DropRights {
		if next.level < RightsLevel {
			return nil, fmt.Errorf("meta: the state is of feature level %d, which has no rights to drop", next.level)
		}
		if next.rights, err = next.rights.Closed(r.Wall, r.By); err != nil {
			return nil, fmt.Errorf("meta: drop the rights: %w", err)
		}
	}
	return next.copied() // a machine that is read is checked
}

// copied returns a machine of what this one saves.
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

// raise lets all numbers jump that are given once. What is kept of versions jumps with them, so that nothing is older
// than what anybody has seen. Answers to numbered commands are forgotten: commands that come again are refused.
func (m *Machine) raise(jump uint64) {
	m.version += jump
	m.lastNode += nodeJump
	m.answers = answers{next: m.answers.next + jump, places: make(map[numberOf]uint64)}
	m.routing.Version = m.version
	for _, n := range m.byPath.entries {
		n.Version += jump // a config of a version that was lost is not taken for the one of that version to come
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
		Cluster:    m.routing.Cluster, Data: m.routing.Shards, First: r.First, Jump: r.Jump,
	})
	if err != nil {
		return err
	}
	m.hosts = newHosts()
	m.topology = &topology{records: records, plan: old.plan.Renewed(r.Jump), seen: newSeen()}
	return nil
}

// knownTopology returns the topology, or one of the hosts that have registered where they are not founded yet.
func (m *Machine) knownTopology(at hosts.At) (*topology, error) {
	if m.topology != nil || len(m.hosts.entries) == 0 {
		return cmp.Or(m.topology, newTopology(m.routing.Cluster, m.routing.Shards)), nil
	}
	t := newTopology(m.routing.Cluster, m.routing.Shards)
	t.records.ContinueFrom(m.version)
	var founders []hosts.Founder
	for _, h := range m.hosts.entries {
		founders = append(founders, hosts.Founder{ID: h.ID, Name: h.Name, Version: h.Version, Level: h.Level,
			Addresses: hosts.Addresses{Raft: h.RaftAddress, Client: h.ClientAddress, Admin: h.AdminAddress}})
	}
	if a := t.records.Found(at, founders); a.Status != protocol.StatusSuccess {
		return nil, fmt.Errorf("meta: the hosts of the old cluster: %s", a.Text)
	}
	return t, nil
}
