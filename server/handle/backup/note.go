package backup

import (
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/replica"
)

// savedStates counts the states that clients have read completely.
type savedStates struct {
	states atomic.Int64
	last   atomic.Int64 // when the meta shard's state, the last in a backup, was read; 0 for never
}

// Saved returns the number of states that clients have read completely, and the completion time of the last backup in
// seconds; 0 for never.
func (b *Backups) Saved() (states, last int64) { return b.saved.states.Load(), b.saved.last.Load() }

func (s *savedStates) add(shard uint64, at time.Time) {
	s.states.Add(1)
	if shard == replica.MetaShard {
		s.last.Store(at.Unix())
	}
}

// noted is an audit entry about a saved state.
type noted struct {
	what  protocol.HostEvent
	bytes uint64
}

// keepNotes records in the cluster's audit log who saves the state, and the outcome, in the order received from
// words, until words is closed. Saving does not wait for the audit log, because the meta shard may have no leader. In
// that case only the host's own log has the entry.
func (e *export) keepNotes(words <-chan noted) {
	for w := range words {
		err := e.of.Note(protocol.HostNotify{
			Event: w.what, ShardID: e.shard, Bytes: w.bytes, Asked: protocol.ClientRequest{Author: []byte(e.by)},
		})
		if err != nil {
			e.of.Log.Warn("the audit log has no entry for a backup", "shard", e.shard, "what",
				w.what.String(), "by", e.by, "error", err)
		}
	}
}
