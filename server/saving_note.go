package server

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/replica"
)

// What there is to know of backups later: counters of the host, and the history of the cluster.

// savedStates counts the states that clients have read to their end.
type savedStates struct {
	states atomic.Int64
	last   atomic.Int64 // when that of the meta shard was, which a backup ends with; 0 for never
}

func (s *savedStates) add(shard uint64, at time.Time) {
	s.states.Add(1)
	if shard == replica.MetaShard {
		s.last.Store(at.Unix())
	}
}

// noteWithin is for how long a host tries to have it in the history of the cluster who saves a state from it.
const noteWithin = 5 * time.Second

// noted is a word for the history about the state that is saved.
type noted struct {
	what  protocol.HostWord
	bytes uint64
}

// keepNotes has the history of the cluster say who saves the state and what became of it, in that order, for as long as
// words come. Saving waits for none of them: the meta shard may have no leader. Then the log of the host alone says it.
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
