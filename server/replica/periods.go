package replica

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// periodsStep is the number of nodes confirmed per upkeep.
const periodsStep = 1000

// confirmPeriods advances changes to grace and self-check periods, and orders for new shard groups, on their way to
// all hosts: the host reports its progress, and the meta shard leader completes the changes that have reached all
// hosts. Every upkeep calls confirmPeriods, because every report may be lost. Section 4 in shard/meta's DESIGN.md
// explains why the procedure is safe.
func (m *Meta) confirmPeriods() {
	s := m.set
	seen := m.appliedVersion.Load() // read first: everything relied on from now on is from this version or a later one
	s.timing.narrow(m.Machine)
	for _, r := range s.All() {
		r.RelyOnGrace()
	}
	newest, heard := uint64(0), true
	// read after seen: the host acts on everything that it has seen
	if t, bootstrapped := m.Machine.Topology(); bootstrapped {
		newest, heard = s.hearGroups(t.Records)
	}
	var confirmed []meta.Command
	least := m.seenByAll()
	for _, id := range s.timing.changing() {
		n, ok := m.Machine.NodeByID(id)
		if !ok || n.Confirmed() {
			continue
		}
		newest = max(newest, n.Timed)
		if n.Timed <= least && len(confirmed) < periodsStep {
			confirmed = append(confirmed, meta.Command{Kind: meta.CmdGraceConfirmed, Node: id,
				Expected: n.Timing.Since})
		}
	}
	if m.leads() && len(confirmed) > 0 {
		m.request(confirmed...)
	}
	if me, known := m.Machine.Host(s.config.Self.ID); known && heard && me.Seen < newest && newest <= seen {
		m.request(meta.Command{Kind: meta.CmdHostObservation, Host: meta.Host{ID: me.ID}, Expected: seen})
	}
}

// seenByAll returns a version every host in the cluster has reported as seen. A host without a record has reported
// nothing; an expelled host leads nothing. After the hosts are bootstrapped, all hosts have records.
func (m *Meta) seenByAll() uint64 {
	least := ^uint64(0)
	have := make(map[shard.HostID]bool)
	for _, x := range m.Machine.Hosts() {
		have[x.ID] = true
		if x.Current != protocol.HostExpelled {
			least = min(least, x.Seen)
		}
	}
	for _, id := range m.set.config.Hosts {
		if !have[id] && !m.Machine.Bootstrapped() {
			return 0
		}
	}
	if len(have) == 0 {
		return 0
	}
	return least
}
