package replica

import (
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// sweep is a walk over all remote sessions. The walk advances one step per loop round, so that the loop is never busy
// for long: otherwise clients would see the host as stalled.
type sweep struct {
	at      shard.Cursor
	running bool
	again   bool // something appeared that the walk may have passed
}

// start starts a walk, after the current walk if one is in progress.
func (s *sweep) start() {
	if s.running {
		s.again = true
		return
	}
	*s = sweep{running: true}
}

// reconcile releases what dead sessions from other shards, and dropped nodes, have left here. The leader asks about
// the suspects. reconcile asks about all remote sessions when a session is first seen here, and periodically.
func (t *leaderTasks) reconcile(now time.Time) {
	r := t.r
	t.mu.Lock()
	suspects, dead := t.suspects, t.ended
	t.suspects, t.ended = nil, nil
	again := t.again || now.Sub(t.sweptAt) > sweepEvery
	t.again = false
	if again {
		t.sweptAt = now
	}
	t.mu.Unlock()
	dead = t.known(dead)
	for _, id := range suspects {
		if v, known := r.Machine.Session(id); known && !v.Home && r.set.Liveness(id) == shard.Dead {
			dead = append(dead, id)
		}
	}
	t.forgetDead(dead)
	if again {
		t.sweep.start()
		t.checkQuotas()
		t.findDropped()
	}
	if t.sweep.running {
		t.sweepStep()
	}
	t.dropNodes()
	t.reportCleared(now)
}

// SweepAge returns the time since the local host, as the shard's leader, last started to ask about all remote
// sessions. ok is false on remote hosts, and before the first time.
func (r *Replica) SweepAge(now time.Time) (age time.Duration, ok bool) {
	t := &r.leader
	t.mu.Lock()
	defer t.mu.Unlock()
	return now.Sub(t.sweptAt), t.term != 0 && !t.sweptAt.IsZero()
}

// sweepStep asks about the walk's next remote sessions, and makes the loop continue at once if there are more.
func (t *leaderTasks) sweepStep() {
	s, over := &t.sweep, false
	for page := 0; page < sweepPages && !over; page++ {
		var dead []shard.SessionID
		swept := sweptSessions{set: t.r.set}
		dead, s.at, over = t.r.Machine.DeadRemoteSessions(s.at, &swept, nil)
		t.forgetDead(dead)
		t.sweepLosses(swept.ids)
	}
	if over {
		*s = sweep{running: s.again}
	}
	if s.running {
		t.r.set.Wake()
	}
}

// forgetDead proposes to release everything that dead sessions have here.
func (t *leaderTasks) forgetDead(dead []shard.SessionID) {
	for len(dead) > 0 {
		batch := dead[:min(len(dead), expireBatch)]
		dead = dead[len(batch):]
		done := func(e *shard.Effect, _ protocol.Status) {
			switch {
			case e == nil:
				t.recheckLater()
			case e.Flags&shard.FlagMore != 0:
				t.forgetDead(t.known(batch))
			}
		}
		if !t.r.propose(&shard.Command{Kind: shard.CmdSessionsForget, Sessions: batch}, nil, done) {
			return
		}
	}
}

// known returns the listed sessions that are still remote sessions here.
func (t *leaderTasks) known(ids []shard.SessionID) (known []shard.SessionID) {
	for _, id := range ids {
		if _, there := t.r.Machine.Session(id); there {
			known = append(known, id)
		}
	}
	return known
}
