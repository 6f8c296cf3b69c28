package meta

import (
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/internal/form"
)

// The requests of hosts about themselves.

// HostsFound makes the records of the registered hosts. The founders must be exactly the registered hosts.
type HostsFound struct {
	Founders   []Founder
	Generation hosts.Generation
}

// Founder is a host of the birth. The incarnation is zero if it is not known: the record then takes the incarnation
// of the host's first boot.
type Founder struct {
	ID          shard.HostID
	Incarnation hosts.Incarnation
}

func (hf *HostsFound) code(c *form.Coder) {
	c.Number(&hf.Generation.Number)
	c.Fixed(hf.Generation.Draw[:])
	form.List(c, &hf.Founders, anyLength, func(f *Founder) { codeAll(c, &f.ID, &f.Incarnation) })
}

func (hf *HostsFound) apply(m *Machine, at hosts.At) hosts.Answer {
	if m.topology != nil {
		return hosts.Answer{Existed: true}
	}
	if m.routing.Version == 0 {
		return forbidden("the cluster has no slot table yet")
	}
	founders, a := hf.founders(m.hosts.entries)
	if a.Status != protocol.StatusSuccess {
		return a
	}
	t := newTopology(m.routing.Cluster, m.routing.Shards)
	t.records.ContinueFrom(m.version)
	t.records.BeginGeneration(hf.Generation)
	if a := t.records.Found(at, founders); a.Status != protocol.StatusSuccess {
		return a
	}
	for _, h := range m.hosts.entries {
		if h.Seen > 0 {
			t.seen.put(&HostSeen{ID: h.ID, Version: h.Seen})
		}
	}
	m.topology, m.hosts = t, newHosts()
	return hosts.Answer{}
}

// founders returns the registered hosts with the incarnations of the request. The request must name all of them, and
// no other host.
func (hf *HostsFound) founders(registered []*Host) ([]hosts.Founder, hosts.Answer) {
	var list []hosts.Founder
	for _, h := range registered {
		i := slices.IndexFunc(hf.Founders, func(f Founder) bool { return f.ID == h.ID })
		if i < 0 {
			return nil, forbidden("host %s has registered and is not named", h.Name)
		}
		list = append(list, hosts.Founder{ID: h.ID, Name: h.Name, Incarnation: hf.Founders[i].Incarnation,
			Addresses: hosts.Addresses{Raft: h.RaftAddress, Client: h.ClientAddress, Admin: h.AdminAddress},
			Version:   h.Version, Level: h.Level})
	}
	if len(list) != len(hf.Founders) {
		return nil, forbidden("%d hosts are named, and %d have registered", len(hf.Founders), len(list))
	}
	return list, hosts.Answer{}
}

// HostJoin is a host's question to belong to the cluster. The answer has its id. The machine fills in Grace.
type HostJoin struct{ hosts.Join }

func (hj *HostJoin) code(c *form.Coder) {
	codeAll(c, &hj.Cluster, &hj.Name, &hj.Incarnation, &hj.Addresses, &hj.Domain, &hj.Version, &hj.Level, &hj.Replace,
		&hj.Token, &hj.Trusted, &hj.Heard)
}

func (hj *HostJoin) apply(m *Machine, at hosts.At) hosts.Answer {
	j := hj.Join
	j.Grace = MaxSessionGracePeriodMillis
	a := m.topology.records.Join(at, j)
	if a.Status == protocol.StatusSuccess && !a.Existed {
		// The host goes by no older version: it waits for a barrier after its join before it serves, leads or ends
		// anything.
		m.topology.seen.put(&HostSeen{ID: a.Host, Version: m.version})
	}
	return a
}

// HostBoot is the report of a host whose process has started.
type HostBoot struct{ hosts.Boot }

func (hb *HostBoot) code(c *form.Coder) {
	codeAll(c, &hb.Host, &hb.Incarnation, &hb.Start, &hb.Addresses, &hb.Version, &hb.Level, &hb.Domain)
}

func (hb *HostBoot) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.topology.records.Boot(at, hb.Boot)
}

// HostReturn is the report of a host that finds itself taken for failed, although it is not.
type HostReturn struct {
	Host        shard.HostID
	Incarnation hosts.Incarnation
	Epoch       uint64 // of the target in the host's view
}

func (r *HostReturn) code(c *form.Coder) { codeAll(c, &r.Host, &r.Incarnation, &r.Epoch) }

func (r *HostReturn) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.topology.records.Return(at, r.Host, r.Incarnation, r.Epoch)
}

// HostShutdown is the report of a host whose process is about to stop.
type HostShutdown struct {
	Host        shard.HostID
	Incarnation hosts.Incarnation
	Start       hosts.Start
}

func (hs *HostShutdown) code(c *form.Coder) { codeAll(c, &hs.Host, &hs.Incarnation, &hs.Start) }

func (hs *HostShutdown) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.topology.records.Shutdown(at, hs.Host, hs.Incarnation, hs.Start)
}

// HostRename is the report of a host with new addresses.
type HostRename struct {
	Host        shard.HostID
	Incarnation hosts.Incarnation
	Start       hosts.Start
	Addresses   hosts.Addresses
}

func (r *HostRename) code(c *form.Coder) { codeAll(c, &r.Host, &r.Incarnation, &r.Start, &r.Addresses) }

func (r *HostRename) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.topology.records.Rename(at, r.Host, r.Incarnation, r.Start, r.Addresses)
}
