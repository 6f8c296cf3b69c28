package server

import (
	"context"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/meta"
)

// What package join needs of a host: *Host is a join.Cluster.

// Leader returns the host that leads the meta shard, as far as this one knows; zero: none.
func (h *Host) Leader() shard.HostID { return h.meta.Leader().Leader }

// Records returns the records of the hosts as this host has applied them, with the shard time that a command would have
// which is proposed now. It is not ok where the cluster has none yet.
func (h *Host) Records() (records *hosts.Records, now uint64, ok bool) {
	t, now, ok := h.meta.Topology()
	return t.Records, now, ok
}

// Hears reports whether a host has answered this one, which leads the meta shard, within the last two seconds.
func (h *Host) Hears(id shard.HostID) bool { return h.meta.Hears(id) }

// Join proposes that a host belongs to the cluster, and returns the answer once this host has applied it.
func (h *Host) Join(ctx context.Context, j hosts.Join) (hosts.Answer, error) {
	e, err := h.Do(ctx, &meta.HostJoin{Join: j}, "host "+j.Name, "")
	return hosts.Answer{Status: e.Status, Text: e.Message, Host: e.Host, Existed: e.Flags&meta.FlagExisted != 0}, err
}
