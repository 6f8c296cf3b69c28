package shard_test

import (
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
)

// TestSessionsOfTheGroupBeforeEndByTheirTimeAlone: clients get SESSION_EXPIRED, other shards hear that the session
// lives, until the new leader ends the session.
func TestSessionsOfTheGroupBeforeEndByTheirTimeAlone(t *testing.T) {
	s := newSurvivor(t, level.Newest)
	id := s.session()
	s.must(s.acquire(id, 1))
	next := s.renewed()
	key := []byte("key")
	for _, c := range []shard.Command{
		{Kind: shard.CmdSessionUpdate, Session: id, Key: key, Timeout: 9},
		{Kind: shard.CmdSessionNumbers, Session: id, Key: key},
		{Kind: shard.CmdSessionEnd, Session: id},
		{Kind: shard.CmdSessionEnd, Session: id, Flags: shard.FlagOperator},
		next.acquire(id, 1), next.acquire(id, 2), next.write(id, 2, 0, "x"),
		{Kind: shard.CmdRelease, Node: 1, Name: s.lock, Session: id, Number: 2},
	} {
		next.want(next.do(c), protocol.StatusSessionExpired)
	}
	if _, known := next.Session(id); known || next.KeyMatches(id, key) || next.Liveness(id) != shard.Alive {
		t.Errorf("known: %v, liveness %d", known, next.Liveness(id))
	}
	restored := 0
	next.WalkSessions(0, func(v shard.SessionView) {
		if v.Home && v.ID == id && v.Timeout == 5_000 {
			restored++
		}
	})
	if restored != 1 {
		t.Error("a leader gives the session no lease")
	}
	next.must(shard.Command{Kind: shard.CmdSessionsExpire, Term: next.term, Sessions: []shard.SessionID{id}})
	if next.Liveness(id) != shard.Dead {
		t.Errorf("liveness %d after the end", next.Liveness(id))
	}
	again := next.session()
	if again.Counter() <= next.Group().LastBefore || next.Liveness(again) != shard.Alive {
		t.Errorf("session %v of the new group is %d", again, next.Liveness(again))
	}
	if _, known := next.Session(again); !known {
		t.Error("a session of the new group is not shown")
	}
}

// TestWhatMayHaveBeenLostIsUnknownForAWhile: the time of the shard goes on to then though nothing else happens.
func TestWhatMayHaveBeenLostIsUnknownForAWhile(t *testing.T) {
	s := newSurvivor(t, level.Newest)
	ended := s.session()
	s.must(shard.Command{Kind: shard.CmdSessionEnd, Session: ended})
	next := s.renewed()
	lost := shard.NewSessionID(7, ended.Counter()+1)
	if next.Liveness(ended) != shard.Dead || next.Liveness(lost) != shard.Unknown {
		t.Errorf("ended: %d, lost: %d", next.Liveness(ended), next.Liveness(lost))
	}
	next.want(next.do(next.acquire(lost, 1)), protocol.StatusSessionExpired)
	if at, ok := next.NextAlarm(); !ok || at != next.Group().UnknownUntil || at != next.Group().Began+unknown {
		t.Errorf("the next alarm is at %d: %v", at, ok)
	}
	next.elapsed = unknown
	next.must(shard.Command{Kind: shard.CmdDue, Term: next.term})
	if next.Liveness(lost) != shard.Dead {
		t.Errorf("liveness %d after the time", next.Liveness(lost))
	}
	if _, ok := next.NextAlarm(); ok {
		t.Error("the alarm stays")
	}
}

// TestASessionThatEndedByWhatMayBeUndoneIsAlive: the survivor has applied an end of which no replica is known to know.
func TestASessionThatEndedByWhatMayBeUndoneIsAlive(t *testing.T) {
	s := newSurvivor(t, level.Newest)
	id := s.session()
	committed := *s
	committed.Machine = reloaded(t, s.Machine)
	s.must(shard.Command{Kind: shard.CmdSessionsExpire, Term: s.term, Sessions: []shard.SessionID{id}})
	later := s.session()
	s.must(shard.Command{Kind: shard.CmdSessionEnd, Session: later})
	next := s.renewed(func(r *shard.Renewal) { r.Committed = committed.Machine })
	if next.Liveness(id) != shard.Alive || next.Liveness(later) != shard.Unknown {
		t.Errorf("liveness %d and %d", next.Liveness(id), next.Liveness(later))
	}
	next = s.renewed(func(r *shard.Renewal) { r.Committed = nil })
	if next.Liveness(id) != shard.Unknown || next.Liveness(later) != shard.Unknown {
		t.Errorf("without anything known: %d and %d", next.Liveness(id), next.Liveness(later))
	}
}
