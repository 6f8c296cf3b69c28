package meta

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/plan"
)

// planConfig is one config for all machines, so equal plans are equal even when compared by pointer.
var planConfig = governor.Config()

// topology is the cluster's hosts and the changes in progress. A machine has no topology until hosts-bootstrap has
// built one from the list of registered hosts; the list is empty from then on.
type topology struct {
	records *hosts.Records
	plan    *plan.Plan[governor.Action]
	// seen has the counting hosts that have reported which machine version they have applied.
	seen index[shard.HostID, HostObservation]
}

// HostObservation is the newest machine version a host has reported as applied.
type HostObservation struct {
	ID      shard.HostID
	Version uint64
}

func newTopology(cluster string, data []ShardID) *topology {
	return &topology{records: hosts.New(cluster, data), plan: plan.New(planConfig), seen: newSeen()}
}

// dataShards are the data shards in the records, without those whose replicas are only left to be deleted.
func (t *topology) dataShards() (list []ShardID) {
	for _, s := range t.records.Shards()[1:] {
		if s.Phase != hosts.ShardRetired {
			list = append(list, s.ID)
		}
	}
	return list
}

func newSeen() index[shard.HostID, HostObservation] {
	return index[shard.HostID, HostObservation]{key: func(s *HostObservation) shard.HostID { return s.ID }}
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

// counts reports whether the level and every period change must wait for a host. A host counts until its expulsion is
// final, because until then it may still act on an old state.
func (t *topology) counts(h *hosts.Host) bool {
	return h != nil && h.Current.Variant != protocol.HostExpelled
}

// forgetSeen drops reports from hosts that do not count any more.
func (t *topology) forgetSeen() {
	for i := 0; i < len(t.seen.entries); {
		if id := t.seen.entries[i].ID; t.counts(t.records.Host(id)) {
			i++
		} else {
			t.seen.remove(id)
		}
	}
}

// host is a host's record for readers.
func (t *topology) host(h *hosts.Host) Host {
	shown := Host{ID: h.ID, Name: h.Name, RaftAddress: h.Addresses.Raft, ClientAddress: h.Addresses.Client,
		AdminAddress: h.Addresses.Admin, Version: h.Version, Level: h.Level, Current: h.Current.Variant,
		Target: h.Target.Variant, Changed: h.Changed}
	if s := t.seen.get(h.ID); s != nil {
		shown.Seen = s.Version
	}
	return shown
}

// Topology is the hosts, their replicas and the steps at one point in time, and never changes.
type Topology struct {
	Records *hosts.Records
	Plan    *plan.Plan[governor.Action]
	Clock   clock.Clock
	Version uint64 // the machine's version
}

// Topology returns the present hosts, their replicas and the steps; ok is false before the hosts are bootstrapped. It
// copies the lists of hosts, shards and steps, but not the records in them.
func (m *Machine) Topology() (t Topology, ok bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.topology == nil {
		return t, false
	}
	return Topology{Records: m.topology.records.Clone(), Plan: m.topology.plan.Clone(), Clock: m.clock,
		Version: m.version}, true
}

// Bootstrapped reports whether the hosts have records: from then on all hosts have records, and hosts no longer
// register.
func (m *Machine) Bootstrapped() bool {
	return look(m, func(c *content) bool { return c.topology != nil })
}

// recorded returns what at finds in the host records, or nothing before the hosts are bootstrapped.
func recorded[T any](m *Machine, at func(*hosts.Records) T) (none T) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if m.topology == nil {
		return none
	}
	return at(m.topology.records)
}

// HostRecord returns a host's record, which never changes; nil before the hosts are bootstrapped, or for an unknown id.
func (m *Machine) HostRecord(id shard.HostID) *hosts.Host {
	return recorded(m, func(r *hosts.Records) *hosts.Host { return r.Host(id) })
}

// ShardRecord returns a shard's record, which never changes; nil before the hosts are bootstrapped, or for an unknown
// id.
func (m *Machine) ShardRecord(id ShardID) *hosts.Shard {
	return recorded(m, func(r *hosts.Records) *hosts.Shard { return r.Shard(id) })
}

// LongestTimeout returns the session with the longest timeout in any shard, by the bounds the leaders have set.
func (m *Machine) LongestTimeout() shard.Longest {
	return recorded(m, func(r *hosts.Records) shard.Longest { return r.Longest(m.clock.Now) })
}

// RecordsRevision returns the host records' revision, 0 before the hosts are bootstrapped.
func (m *Machine) RecordsRevision() uint64 { return recorded(m, (*hosts.Records).Revision) }

// Generation returns the cluster's generation, all zero before the hosts are bootstrapped.
func (m *Machine) Generation() hosts.Generation { return recorded(m, (*hosts.Records).Generation) }

// MovesInProgress returns the number of slot moves in progress.
func (m *Machine) MovesInProgress() int { return recorded(m, (*hosts.Records).MovesInProgress) }

// HostsOf returns the hosts with a replica in a shard's membership, ordered by replica. The list is nil before the
// hosts are bootstrapped.
func (m *Machine) HostsOf(id ShardID) []shard.HostID { return m.hostsOf(id, (*hosts.Replica).Member) }

// ReadersOf is HostsOf without the hosts whose replica is still being built.
func (m *Machine) ReadersOf(id ShardID) []shard.HostID { return m.hostsOf(id, (*hosts.Replica).Reads) }

func (m *Machine) hostsOf(id ShardID, wanted func(*hosts.Replica) bool) []shard.HostID {
	return recorded(m, func(r *hosts.Records) (list []shard.HostID) {
		if s := r.Shard(id); s != nil {
			for i := range s.Replicas {
				if p := &s.Replicas[i]; wanted(p) && p.Host != 0 {
					list = append(list, p.Host)
				}
			}
		}
		return list
	})
}

// mark is how far the topology's parts and the slot table have advanced.
type mark struct{ records, plan, audit, routing uint64 }

func (m *Machine) mark() mark {
	t := m.topology
	if t == nil {
		return mark{routing: m.routing.Version}
	}
	return mark{t.records.Revision(), t.plan.Revision(), t.records.LastAudit(), m.routing.Version}
}
