package server

import (
	"context"
	"errors"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/meta"
)

// What package join needs of a host: *Host is a join.Cluster.

// Leader returns the host that leads the meta shard, as far as this one knows; zero: none.
func (h *Host) Leader() shard.HostID { return h.meta.Leader().Leader }

// Records returns the records of the hosts as this host has applied them, with the shard time of the last batch. It is
// not ok where the cluster has none yet.
func (h *Host) Records() (records *hosts.Records, now uint64, ok bool) {
	t, ok := h.meta.Machine.Topology()
	return t.Records, t.Clock.Now, ok
}

// Hears reports whether a host has answered this one, which leads the meta shard, within the last two seconds.
func (h *Host) Hears(id shard.HostID) bool { return h.meta.Hears(id) }

// errJoinUnknown is returned for a join whose outcome is not known here.
var errJoinUnknown = errors.New("it is not known yet whether the host has joined: the meta shard has no leader, or " +
	"another one, at the moment")

// Join proposes that a host belongs to the cluster, and returns the answer once this host has applied it.
func (h *Host) Join(ctx context.Context, j hosts.Join) (hosts.Answer, error) {
	origin := meta.Origin{Wall: uint64(time.Now().UnixMilli()), By: "host " + j.Name}
	answers := make(chan hosts.Answer, 1)
	h.meta.Propose(meta.NewCommand(&meta.HostJoin{Join: j}, origin), func(e *meta.Effect, failed protocol.Status) {
		if e == nil {
			answers <- hosts.Answer{Status: failed}
			return
		}
		answers <- hosts.Answer{Status: e.Status, Text: e.Message, Host: e.Host, Existed: e.Flags&meta.FlagExisted != 0}
	})
	select {
	case a := <-answers:
		if a.Status == protocol.StatusUnavailable {
			return a, errJoinUnknown
		}
		return a, nil
	case <-ctx.Done():
		return hosts.Answer{}, errJoinUnknown
	}
}
