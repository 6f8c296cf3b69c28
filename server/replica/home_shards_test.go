package replica

import (
	"testing"

	"github.com/signalbox/signalbox/shard"
)

// TestWhatWaitsForOtherHostsIsCounted: questions, losses and ends, and hosts without an answer.
func TestWhatWaitsForOtherHostsIsCounted(t *testing.T) {
	s := &Set{}
	s.HomeShards.init(s)
	defer s.HomeShards.close()
	if got := s.HomeShards.Counts(); got != (HomeShardCounts{}) {
		t.Errorf("of nothing: %+v", got)
	}
	home := &Replica{}
	s.HomeShards.note(home, 1)
	s.HomeShards.note(home, 2)
	s.HomeShards.lost[home] = []lostHolding{{}}
	s.HomeShards.peers = map[shard.HostID]*homePeer{2: {ended: make([]EndedSession, 3), failed: 4}, 3: {}}
	if got, want := s.HomeShards.Counts(), (HomeShardCounts{Waiting: 6, Unanswered: 1}); got != want {
		t.Errorf("%+v, not %+v", got, want)
	}
}
