package backup

import (
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/replica"
)

// savedStates counts the states that clients have read to their end.
type savedStates struct {
	states atomic.Int64
	last   atomic.Int64 // when the meta shard's state was read, the last of a backup; 0 for never
}

// Saved returns how many states clients have read to their end, and when the last backup was complete, in seconds; 0
// for never.
func (b *Backups) Saved() (states, last int64) { return b.saved.states.Load(), b.saved.last.Load() }

func (s *savedStates) add(shard uint64, at time.Time) {
	s.states.Add(1)
	if shard == replica.MetaShard {
		s.last.Store(at.Unix())
	}
}

// noted is an entry for the history about the state that is saved.
type noted struct {
	what  protocol.HostEvent
	bytes uint64
}

// keepNotes adds to the history of the cluster who saves the state and the outcome, in the order of words, until
// words is closed. Saving does not wait for the history: the meta shard may have no leader. Then only the host's own
// log has the entry.
func (e *export) keepNotes(words <-chan noted) {
	for w := range words {
		err := e.of.Note(protocol.HostNotify{
			Event: w.what, ShardID: e.shard, Bytes: w.bytes, Asked: protocol.ClientRequest{Author: []byte(e.by)},
		})
		if err != nil {
			e.of.Log.Warn("the history of the cluster has no entry of a backup", "shard", e.shard, "what",
				w.what.String(), "by", e.by, "error", err)
		}
	}
}
