package replica

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/meta"
)

// periodsStep is how many nodes one upkeep confirms.
const periodsStep = 1000

// confirmPeriods sees to changes of grace and self-check periods that have not reached every host: this host says
// how far it has come, and the leader of the meta shard ends the changes that all hosts go by. It is done at
// every upkeep, as anything said may be lost. DESIGN.md of shard/meta, section 4, says why it is safe.
func (m *Meta) confirmPeriods() {
	s := m.set
	seen := m.appliedVersion.Load() // first: what is relied on from now on is of this version or a later one
	s.timing.narrow(m.Machine)
	for _, r := range s.Replicas {
		r.RelyOnGrace()
	}
	var newest uint64
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
		m.forward(confirmed...)
	}
	if me, known := m.Machine.Host(s.config.Self.ID); known && me.Seen < newest && newest <= seen {
		m.forward(meta.Command{Kind: meta.CmdHostSeen, Host: meta.Host{ID: me.ID}, Expected: seen})
	}
}

// seenByAll returns the version that every host of the cluster has said it goes by, or a later one. A host
// that is not on record has said nothing; one that was expelled leads nothing. Once the hosts are founded, all of them
// have records.
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
		if !have[id] && !m.Machine.Founded() {
			return 0
		}
	}
	if len(have) == 0 {
		return 0
	}
	return least
}

// forward says something to the meta shard that may be lost, twice there, or refused as late: the
// caller checks whether it took effect.
func (m *Meta) forward(commands ...meta.Command) {
	data, err := m.encode(0, clock.Stamp{}, commands...)
	if err == nil {
		err = m.log.Forward(data)
	}
	if err != nil {
		m.set.log.Debug("a command to the meta shard was lost", "command", commands[0].Kind, "err", err)
	}
}
