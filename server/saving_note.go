package server

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/replica"
)

// The records of backups: counters of the host, and the history of the cluster.

// savedStates counts the states that clients have read to their end.
type savedStates struct {
	states atomic.Int64
	last   atomic.Int64 // when the meta shard's state was read, the last of a backup; 0 for never
}

func (s *savedStates) add(shard uint64, at time.Time) {
	s.states.Add(1)
	if shard == replica.MetaShard {
		s.last.Store(at.Unix())
	}
}

// noteWithin is how long a host tries to add an entry about a saved state to the history of the cluster.
const noteWithin = 5 * time.Second

// noted is an entry for the history about the state that is saved.
type noted struct {
	what  protocol.HostWord
	bytes uint64
}

// keepNotes adds to the history of the cluster who saves the state and the outcome, in the order of words, until
// words is closed. Saving does not wait for the history: the meta shard may have no leader. Then only the host's own
// log has the entry.
func (s *saving) keepNotes(words <-chan noted) {
	h := s.c.host
	for w := range words {
		if !h.governing.attendance.founded() {
			continue // there is no history yet
		}
		ctx, cancel := context.WithTimeout(h.governing.ctx, noteWithin)
		err := h.governing.attendance.say(ctx, protocol.HostSay{
			What: w.what, ShardID: s.shard, Bytes: w.bytes, Asked: protocol.HostAsked{By: []byte(s.by)},
		})
		cancel()
		if err != nil {
			h.log.Warn("the history of the cluster has no entry of a backup", "shard", s.shard, "what", w.what.String(),
				"by", s.by, "err", err)
		}
	}
}
