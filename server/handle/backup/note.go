package backup

import (
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard/hosts"
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

// renewEvery is how often a state being read renews the hold of slot moves.
const renewEvery = hosts.HoldMillis * time.Millisecond / 3

// note records in the meta shard who saves the state, and the progress. The beginning and the outcome get an audit
// entry, and hold slot moves or release them. A backup goes on without: the meta shard may have no leader. In that case
// only the host's own log has the entry.
func (e *export) note(what protocol.HostEvent) {
	m := protocol.HostNotify{Event: what, ShardID: e.shard, Asked: protocol.ClientRequest{Author: []byte(e.by)}}
	if what != protocol.HostBackupContinues {
		m.Bytes = e.bytes
	}
	if err := e.of.Note(m); err != nil {
		e.of.Log.Warn("the meta shard has no record of a backup", "shard", e.shard, "what", what.String(), "by", e.by,
			"error", err)
	}
}

// keepNotes renews the hold of slot moves until saving has ended, and records the outcome.
func (e *export) keepNotes(end <-chan protocol.HostEvent) {
	renew := time.NewTicker(renewEvery)
	defer renew.Stop()
	for {
		select {
		case <-renew.C:
			e.note(protocol.HostBackupContinues)
		case outcome := <-end:
			e.note(outcome)
			return
		}
	}
}
