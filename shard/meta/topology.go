package meta

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/plan"
)

// TopologyLevel is the level from which the machine has the records of hosts and their plan, and the commands on them.
var TopologyLevel = max(level.Of(level.MetaRecord, "State.Records"), level.Of(level.MetaRecord, "State.Plan"),
	level.Of(level.MetaRecord, "State.Seen"))

// planConfig is one for all machines, so that equal plans are equal to the last pointer.
var planConfig = governor.Config()

// topology is who belongs to the cluster and what is being changed about it. A machine has none until hosts-found has
// made it from the list of registered hosts, which is empty from then on.
type topology struct {
	records *hosts.Records
	plan    *plan.Plan[governor.Action]
	// seen has the hosts that count and have said which version of the machine they go by.
	seen index[shard.HostID, HostSeen]
}

// HostSeen is the newest version of the machine that a host has said it goes by.
type HostSeen struct {
	ID      shard.HostID
	Version uint64
}

func newTopology(cluster string, data []ShardID) *topology {
	return &topology{records: hosts.New(cluster, data), plan: plan.New(planConfig), seen: newSeen()}
}

func newSeen() index[shard.HostID, HostSeen] {
	return index[shard.HostID, HostSeen]{key: func(s *HostSeen) shard.HostID { return s.ID }}
}

// clone returns a copy that never changes.
func (t *topology) clone() *topology {
	if t == nil {
		return nil
	}
	c := &topology{records: t.records.Clone(), plan: t.plan.Clone(), seen: newSeen()}
	c.seen.entries = t.seen.freeze()
	return c
}

// counts reports whether a host counts among those that must follow the level and go by a change of periods: until its
// expulsion is final it may still believe something.
func (t *topology) counts(h *hosts.Host) bool {
	return h != nil && h.Current.Variant != protocol.HostExpelled
}

// forgetSeen drops what hosts have said that do not count any more.
func (t *topology) forgetSeen() {
	for i := 0; i < len(t.seen.entries); {
		if id := t.seen.entries[i].ID; t.counts(t.records.Host(id)) {
			i++
		} else {
			t.seen.remove(id)
		}
	}
}

// host is what readers see of a host that has a record.
func (t *topology) host(h *hosts.Host) Host {
	shown := Host{ID: h.ID, Name: h.Name, RaftAddress: h.Addresses.Raft, ClientAddress: h.Addresses.Client,
		AdminAddress: h.Addresses.Admin, Version: h.Version, Level: h.Level, Current: h.Current.Variant,
		Target: h.Target.Variant, Changed: h.Changed}
	if s := t.seen.get(h.ID); s != nil {
		shown.Seen = s.Version
	}
	return shown
}

// Topology is the hosts, their replicas and the steps at one moment. It never changes.
type Topology struct {
	Records *hosts.Records
	Plan    *plan.Plan[governor.Action]
	Clock   clock.Clock
	Version uint64 // of the machine
}

// Topology returns the hosts, their replicas and the steps as they are now; ok is false where the hosts are not
// founded. It costs the lists of hosts, shards and steps, not what is in them.
func (m *Machine) Topology() (t Topology, ok bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.topology == nil {
		return t, false
	}
	return Topology{Records: m.topology.records.Clone(), Plan: m.topology.plan.Clone(), Clock: m.clock,
		Version: m.version}, true
}

// Founded reports whether the hosts have records: then those are all there are, and none registers any more.
func (m *Machine) Founded() bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.topology != nil
}

// HostRecord returns the record of a host, which never changes; nil where hosts are not founded, or none has the id.
func (m *Machine) HostRecord(id shard.HostID) *hosts.Host {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.topology == nil {
		return nil
	}
	return m.topology.records.Host(id)
}

// RecordsRevision returns that of the records of hosts, 0 where the hosts are not founded.
func (m *Machine) RecordsRevision() uint64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.topology == nil {
		return 0
	}
	return m.topology.records.Revision()
}

// Generation returns the one that the cluster is in, all zero where the hosts are not founded.
func (m *Machine) Generation() hosts.Generation {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.topology == nil {
		return hosts.Generation{}
	}
	return m.topology.records.Generation()
}

// HostsOf returns the hosts that have a replica of a shard by its membership, in the order of the replicas. It is nil
// where the hosts are not founded.
func (m *Machine) HostsOf(id ShardID) []shard.HostID {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.topology == nil {
		return nil
	}
	var list []shard.HostID
	if s := m.topology.records.Shard(id); s != nil {
		for i := range s.Replicas {
			if p := &s.Replicas[i]; p.Member() && p.Host != 0 {
				list = append(list, p.Host)
			}
		}
	}
	return list
}

// mark is how far the parts of a topology have come.
type mark struct{ records, plan, audit uint64 }

func (t *topology) mark() mark {
	if t == nil {
		return mark{}
	}
	return mark{t.records.Revision(), t.plan.Revision(), t.records.LastAudit()}
}
