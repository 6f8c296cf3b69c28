package server

import (
	"fmt"

	"github.com/signalbox/signalbox/server/executor"
	"github.com/signalbox/signalbox/server/handle"
	"github.com/signalbox/signalbox/server/health/overview"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/hosts"
)

// errNotBootstrapped is returned while the hosts have no records.
var errNotBootstrapped = fmt.Errorf("server: %w", handle.ErrNotBootstrapped)

// Overview returns the host's knowledge about the cluster's hosts, with observations if the host is the governor and
// knows which hosts are alive.
func (h *Host) Overview() (overview.Cluster, error) {
	if v, err := h.view(); err == nil {
		shown := overview.Observed(v, h.leaderOf)
		shown.Wall = h.config.Clock()
		return shown, nil
	}
	t, ok := h.meta.Machine.Topology()
	if !ok {
		return overview.Cluster{}, errNotBootstrapped
	}
	return overview.Cluster{Records: t.Records, Now: t.Clock.Now, Wall: h.config.Clock(),
		Governor: h.meta.Leader().Leader, Leader: h.leaderOf}, nil
}

// leaderOf returns a shard's leader as far as the host knows, 0 for none.
func (h *Host) leaderOf(id hosts.ShardID) shard.HostID {
	if id == hosts.Meta {
		return h.meta.Leader().Leader
	}
	if r := h.set.Shard(uint64(id)); r != nil {
		return r.Known().Leader
	}
	return 0
}

// view returns the governor's view, if the host is the governor.
func (h *Host) view() (governor.View, error) {
	if h.governor != nil {
		return h.governor.View()
	}
	return governor.View{}, executor.ErrNotGoverning
}

// Governing answers questions about changes among the hosts; nil if the host has no governor.
func (h *Host) Governing() overview.Governor { return h.governor }

// Recovery returns the order to rebuild a shard, with any objection, if the host is the governor.
func (h *Host) Recovery(id hosts.ShardID, empty bool) (hosts.Recovery, error) {
	return h.member.Executor.Recovery(h.member.Context(), id, empty)
}

// Authority returns the hash of the certificate by which hosts recognise each other; nil without TLS.
func (h *Host) Authority() []byte {
	if h.config.Authority == nil {
		return nil
	}
	return h.config.Authority()
}
