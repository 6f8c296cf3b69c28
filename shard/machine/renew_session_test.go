package machine_test

import (
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
)

// TestSessionsOfBeforeAreUnknownUntilTheWaitIsOver: clients of old sessions get SESSION_EXPIRED at once, but other
// shards get no answer, whether the survivor knows a session, knows its end, or does not know it. After the wait all of
// them are dead.
func TestSessionsOfBeforeAreUnknownUntilTheWaitIsOver(t *testing.T) {
	s := newSurvivor(t, level.Newest)
	alive, ended := s.session(), s.session()
	s.must(s.acquire(alive, 1))
	s.must(shard.Command{Kind: shard.CmdSessionEnd, Session: ended}) // the lost hosts may have undone it
	lost := shard.NewSessionID(7, ended.Counter()+1)
	before := []shard.SessionID{alive, ended, lost}
	next := s.renewed()
	key := []byte("key")
	are := func(want shard.Liveness) {
		t.Helper()
		for _, id := range before {
			if is := next.Liveness(id); is != want {
				t.Errorf("at %d session %v is %d, want %d", next.Time(), id, is, want)
			}
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
			if _, known := next.Session(id); known || next.KeyMatches(id, key) {
				t.Errorf("session %v is shown", id)
			}
		}
	}
	next.elapsed = 1 << 40
	are(shard.Unknown)
	if at, ok := next.NextAlarm(); ok {
		t.Errorf("the next alarm is at %d before the wait has begun", at)
	}
	next.beginWait(patience)
	if at, ok := next.NextAlarm(); !ok || at != next.Group().Until || at != next.Time()+patience {
		t.Errorf("the next alarm is at %d: %v", at, ok)
	}
	next.elapsed += patience - 1
	are(shard.Unknown)
	next.elapsed++
	next.must(shard.Command{Kind: shard.CmdDue, Term: next.term})
	are(shard.Dead)
	if _, ok := next.NextAlarm(); ok {
		t.Error("the alarm stays")
	}
	again := next.session()
	if again.Counter() <= next.Group().Before || next.Liveness(again) != shard.Alive {
		t.Errorf("session %v of the new group is %d", again, next.Liveness(again))
	}
}

// TestASecondRenewalDuringTheWait: sessions not yet called dead by the first group stay unknown.
func TestASecondRenewalDuringTheWait(t *testing.T) {
	s := newSurvivor(t, level.Newest)
	id := s.session()
	first := s.renewed()
	second := first.session()
	next := first.renewed()
	next.beginWait(patience)
	for _, id := range []shard.SessionID{id, second} {
		if is := next.Liveness(id); is != shard.Unknown {
			t.Errorf("session %v is %d", id, is)
		}
	}
}
