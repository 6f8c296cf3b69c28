package server

import (
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
)

// Led is a shard under the lead of a host.
type Led struct {
	Shard uint64 `json:"shard"`
	// Group numbers the groups of replicas of a shard; the first group is 0. Announcements of further groups are
	// ignored.
	Group uint64 `json:"group,omitempty"`
	Term  uint64 `json:"term"`
}

// Led returns the shards under the lead of this host.
func (h *Host) Led() (led []Led) {
	leads := func(id uint64, l shard.Leadership) {
		if l.Leader == h.config.ID {
			led = append(led, Led{Shard: id, Term: l.Term})
		}
	}
	leads(replica.MetaShard, h.meta.Leader())
	for _, r := range h.replicas {
		leads(r.ID, r.Leader())
	}
	return led
}

// NoteLed notes the shards of another host by the announcement of that host. Announcements are a second source beside
// the replicas of this host, for messages to clients only: no safety rests on announcements.
func (h *Host) NoteLed(from shard.HostID, led []Led) {
	if from == 0 || from == h.config.ID {
		return
	}
	for _, l := range led {
		if l.Group == 0 {
			h.set.NoteLeader(l.Shard, shard.Leadership{Leader: from, Term: l.Term})
		}
	}
}
