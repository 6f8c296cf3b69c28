package server

import (
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
)

// Led is a shard a host leads.
type Led struct {
	Shard uint64 `json:"shard"`
	// Group numbers a shard's replica groups; the first group is 0. Announcements about later groups are ignored.
	Group uint64 `json:"group,omitempty"`
	Term  uint64 `json:"term"`
}

// Led returns the shards the host leads.
func (h *Host) Led() (led []Led) {
	leads := func(id uint64, l shard.Leadership) {
		if l.Leader == h.config.ID {
			led = append(led, Led{Shard: id, Term: l.Term})
		}
	}
	leads(replica.MetaShard, h.meta.Leader())
	for _, r := range h.set.All() {
		leads(r.ID, r.Leader())
	}
	return led
}

// NoteLed records the shards a remote host leads, as announced by that host. Announcements complement the local
// replicas, for messages to clients only: safety never depends on announcements.
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
