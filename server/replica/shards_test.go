package replica

import (
	"slices"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// TestShardsAreFoundByIDAndSlot: shard ids have gaps, and a shard may have no slot.
func TestShardsAreFoundByIDAndSlot(t *testing.T) {
	s := standalone(t, 1)
	lower, upper := shard.SlotSet{}, shard.SlotSet{}
	lower.Add(0, 99)
	upper.Add(100, shard.Slots-1)
	all := []*Replica{s.newReplica(3, upper), s.newReplica(17, shard.SlotSet{}), s.newReplica(shard.MaxShard, lower)}
	s.shards.Store(newShardTable(all))
	if !slices.Equal(s.All(), all) {
		t.Errorf("the replicas are %v", s.All())
	}
	for _, r := range all {
		if s.Shard(r.ID) != r {
			t.Errorf("shard %d is not found", r.ID)
		}
		if at, known := s.seatOf(r.ID); !known || at.data != r {
			t.Errorf("shard %d has no seat", r.ID)
		}
	}
	for _, id := range []uint64{MetaShard, 1, 4, 1 << 40} {
		if r := s.Shard(id); r != nil {
			t.Errorf("data shard %d is replica %d", id, r.ID)
		}
	}
	if at, known := s.seatOf(MetaShard); !known || at.data != nil {
		t.Error("the meta shard has no seat of its own")
	}
	if s.Of(99) != all[2] || s.Of(100) != all[0] || s.Of(shard.Slots) != all[2] {
		t.Error("a slot is found in another shard")
	}
	if id := shard.NewSessionID(100, 1); s.Home(id) != all[0] {
		t.Errorf("the home shard of session %v is %d", id, s.Home(id).ID)
	}
}

// TestWhatIsKnownAboutASessionFollowsItsSlot: if the slot is in another shard, nothing has to be transferred.
func TestWhatIsKnownAboutASessionFollowsItsSlot(t *testing.T) {
	s := standalone(t, 2)
	home, other := s.All()[0], s.All()[1]
	id, stays := laterSession(home), laterSession(other)
	for _, id := range []shard.SessionID{id, stays} {
		s.Sessions.bound.set(id, []Conn{&boundConn{}})
		s.Sessions.remote.note(id, 2)
		s.Sessions.remote.countLoss(id, 2, 1)
		s.HomeShards.ask(id)
		s.HomeShards.sendLoss(lostHolding{HoldingLost: protocol.HoldingLost{SessionID: uint64(id)}})
	}
	known := func(when string, of *Replica, want ...shard.SessionID) {
		t.Helper()
		sorted := func(ids []shard.SessionID) []shard.SessionID {
			slices.Sort(ids)
			return ids
		}
		if got := sorted(s.Sessions.boundOf(of)); !slices.Equal(got, want) {
			t.Errorf("%s: shard %d has the bound sessions %v, want %v", when, of.ID, got, want)
		}
		for _, id := range want {
			if _, noted := s.Sessions.remote.of(of)[id]; !noted {
				t.Errorf("%s: no host is to be notified when session %v in shard %d ends", when, id, of.ID)
			}
		}
		if got := sorted(slices.Collect(s.HomeShards.asks.of(of))); !slices.Equal(got, want) {
			t.Errorf("%s: shard %d is asked about the sessions %v, want %v", when, of.ID, got, want)
		}
		if _, waits := s.HomeShards.homes()[of]; waits != (len(want) > 0) {
			t.Errorf("%s: something waits for shard %d: %v", when, of.ID, waits)
		}
	}
	known("before", home, id)
	known("before", other, stays)

	home.slots, other.slots = shard.SlotSet{}, shard.EverySlot()
	s.shards.Store(newShardTable(s.All()))
	known("after", home)
	known("after", other, id, stays)

	s.Sessions.remote.forgetLosses(home)
	if n := s.Sessions.remote.lossesOf(id, 2); n != 1 {
		t.Errorf("a new leader of another shard left %d losses on record", n)
	}
	s.Sessions.remote.forgetLosses(other)
	if n := s.Sessions.remote.lossesOf(id, 2); n != 0 {
		t.Errorf("a new leader of the home shard left %d losses on record", n)
	}
	lost := s.HomeShards.takeLost(other, 1)
	if len(lost) != 1 || lost[0].session() != id || len(s.HomeShards.lost) != 1 {
		t.Errorf("the first loss for the shard is %+v, and %d are left", lost, len(s.HomeShards.lost))
	}
}

// TestASessionMapCountsItsSessions also if a session is set or removed twice.
func TestASessionMapCountsItsSessions(t *testing.T) {
	var m sessionMap[int]
	a, b := shard.NewSessionID(7, 1), shard.NewSessionID(7, 2)
	m.remove(a)
	m.set(a, 1)
	m.set(b, 2)
	m.set(a, 3)
	if m.len != 2 || m.get(a) != 3 || m.get(b) != 2 {
		t.Errorf("%d sessions: %d and %d", m.len, m.get(a), m.get(b))
	}
	m.remove(a)
	m.remove(a)
	if m.len != 1 || m.get(a) != 0 {
		t.Errorf("after a removal %d sessions are left, and the removed one has %d", m.len, m.get(a))
	}
}
