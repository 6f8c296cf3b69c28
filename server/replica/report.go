package replica

import (
	"fmt"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/meta"
)

// A host reports to the meta shard which of its changes the host follows, and what the data shards led by the host
// need. The meta shard leader proposes a report's commands, stamped with its term. A report may be lost, or take
// effect late or twice; section 3 in shard/meta's DESIGN.md explains for every command why this is harmless.

// request proposes meta shard commands that may be lost: the caller checks whether they took effect. A host that does
// not lead the meta shard reports the commands to the leader.
func (m *Meta) request(commands ...meta.Command) {
	if m.leads() {
		m.propose(func(e *meta.Effect, _ protocol.Status) {
			if e != nil && e.Status != protocol.StatusSuccess {
				m.set.log.Warn("the meta shard rejected a report from the host", "command", commands[0].Kind,
					"status", e.Status, "why", e.Message)
			}
		}, commands...)
		return
	}
	data, err := m.encode(0, clock.Stamp{}, commands)
	if err != nil {
		m.set.log.Error("a report to the meta shard does not fit into a batch", "error", err)
	} else if report := m.set.config.Report; report != nil {
		report(data)
	}
}

// Reported returns the commands in a remote host's report. Reported refuses an expelled host, a replaced data
// directory, and commands the host may not report.
func (m *Meta) Reported(from shard.HostID, i hosts.Incarnation, report []byte) ([]meta.Command, error) {
	h := m.Machine.HostRecord(from)
	if m.Machine.Bootstrapped() && (h == nil || h.Refused() || h.Incarnation != i) {
		return nil, fmt.Errorf("host %d with this data directory does not belong to the cluster", from)
	}
	var b meta.Batch
	if err := meta.DecodeBatch(report, &b, m.Machine.Level()); err != nil {
		return nil, err
	}
	if len(b.Commands) == 0 {
		return nil, fmt.Errorf("a report from host %d is empty", from)
	}
	for k := range b.Commands {
		if c := &b.Commands[k]; !mayReport(from, c) {
			return nil, fmt.Errorf("host %d may not report %v", from, c.Kind)
		}
	}
	return b.Commands, nil
}

// mayReport reports whether a host may report a command: the command is about the host itself, or about a data shard,
// whose leader may be any host.
func mayReport(from shard.HostID, c *meta.Command) bool {
	switch r := c.Request.(type) {
	case *meta.ShardBound:
		return r.Host == from
	case *meta.ShardGrants:
		return true
	}
	switch c.Kind {
	case meta.CmdHostRegister, meta.CmdHostObservation:
		return c.Host.ID == from
	case meta.CmdNodeCleared:
		return true
	}
	return false
}
