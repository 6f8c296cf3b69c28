package meta

import (
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// Requests from hosts about themselves.

// HostsBootstrap creates the records for the registered hosts. The initial members must be exactly the registered
// hosts.
type HostsBootstrap struct {
	InitialMembers []InitialMember
	Generation     hosts.Generation
}

// InitialMember is a bootstrap host. The incarnation is zero if unknown: the record then takes the incarnation from the
// host's first boot.
type InitialMember struct {
	ID          shard.HostID
	Incarnation hosts.Incarnation
}

func (hb *HostsBootstrap) code(c *codec.Coder) {
	c.Number(&hb.Generation.Number)
	c.Fixed(hb.Generation.Draw[:])
	codec.List(c, &hb.InitialMembers, anyLength, func(f *InitialMember) { codeAll(c, &f.ID, &f.Incarnation) })
}

func (hb *HostsBootstrap) apply(m *Machine, at hosts.At) hosts.Answer {
	if m.topology != nil {
		return hosts.Answer{Existed: true}
	}
	if m.routing.Version == 0 {
		return forbidden("the cluster has no slot table yet")
	}
	initialMembers, a := hb.initialMembers(m.hosts.entries)
	if a.Status != protocol.StatusSuccess {
		return a
	}
	t := newTopology(m.routing.Cluster, m.routing.Shards)
	t.records.ContinueFrom(m.version)
	t.records.BeginGeneration(hb.Generation)
	if a := t.records.Bootstrap(at, initialMembers); a.Status != protocol.StatusSuccess {
		return a
	}
	for _, h := range m.hosts.entries {
		if h.Seen > 0 {
			t.seen.put(&HostObservation{ID: h.ID, Version: h.Seen})
		}
	}
	m.topology, m.hosts = t, newHosts()
	return hosts.Answer{}
}

// initialMembers returns the registered hosts with the request's incarnations. The request must name exactly these
// hosts.
func (hb *HostsBootstrap) initialMembers(registered []*Host) ([]hosts.InitialMember, hosts.Answer) {
	var list []hosts.InitialMember
	for _, h := range registered {
		i := slices.IndexFunc(hb.InitialMembers, func(f InitialMember) bool { return f.ID == h.ID })
		if i < 0 {
			return nil, forbidden("host %s has registered and is not named", h.Name)
		}
		list = append(list, hosts.InitialMember{ID: h.ID, Name: h.Name, Incarnation: hb.InitialMembers[i].Incarnation,
			Addresses: hosts.Addresses{Raft: h.RaftAddress, Client: h.ClientAddress, Admin: h.AdminAddress},
			Version:   h.Version, Level: h.Level})
	}
	if len(list) != len(hb.InitialMembers) {
		return nil, forbidden("%d hosts are named, and %d have registered", len(hb.InitialMembers), len(list))
	}
	return list, hosts.Answer{}
}

// HostJoin is a host's request to join the cluster. The answer has its id. The machine fills in Grace.
type HostJoin struct{ hosts.Join }

func (hj *HostJoin) code(c *codec.Coder) {
	codeAll(c, &hj.Cluster, &hj.Name, &hj.Incarnation, &hj.Addresses, &hj.Domain, &hj.Version, &hj.Level, &hj.Replace,
		&hj.Token, &hj.Trusted, &hj.Heard)
}

func (hj *HostJoin) apply(m *Machine, at hosts.At) hosts.Answer {
	j := hj.Join
	j.Grace = MaxSessionGracePeriodMillis
	a := m.topology.records.Join(at, j)
	if a.Status == protocol.StatusSuccess && !a.Existed {
		// The host acts on no older version: it waits for a barrier after its join before it serves, leads or ends
		// anything.
		m.topology.seen.put(&HostObservation{ID: a.Host, Version: m.version})
	}
	return a
}

// HostBoot is a host's report that its process has started.
type HostBoot struct{ hosts.Boot }

func (hb *HostBoot) code(c *codec.Coder) {
	codeAll(c, &hb.Host, &hb.Incarnation, &hb.Start, &hb.Addresses, &hb.Version, &hb.Level, &hb.Domain)
}

func (hb *HostBoot) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.topology.records.Boot(at, hb.Boot)
}

// HostReturn is a report from a host that is wrongly considered failed.
type HostReturn struct {
	Host        shard.HostID
	Incarnation hosts.Incarnation
	Epoch       uint64 // epoch of the target, as the host knows it
}

func (r *HostReturn) code(c *codec.Coder) { codeAll(c, &r.Host, &r.Incarnation, &r.Epoch) }

func (r *HostReturn) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.topology.records.Return(at, r.Host, r.Incarnation, r.Epoch)
}

// HostShutdown is a host's report that its process is about to stop.
type HostShutdown struct {
	Host        shard.HostID
	Incarnation hosts.Incarnation
	Start       hosts.Start
}

func (hs *HostShutdown) code(c *codec.Coder) { codeAll(c, &hs.Host, &hs.Incarnation, &hs.Start) }

func (hs *HostShutdown) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.topology.records.Shutdown(at, hs.Host, hs.Incarnation, hs.Start)
}

// HostRename is a host's report about new addresses.
type HostRename struct {
	Host        shard.HostID
	Incarnation hosts.Incarnation
	Start       hosts.Start
	Addresses   hosts.Addresses
}

func (r *HostRename) code(c *codec.Coder) {
	codeAll(c, &r.Host, &r.Incarnation, &r.Start, &r.Addresses)
}

func (r *HostRename) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.topology.records.Rename(at, r.Host, r.Incarnation, r.Start, r.Addresses)
}
