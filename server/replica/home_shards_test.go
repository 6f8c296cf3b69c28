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
	s.HomeShards.asks.set(1, struct{}{})
	s.HomeShards.asks.set(2, struct{}{})
	s.HomeShards.lost = []lostHolding{{}}
	s.HomeShards.peers = map[shard.HostID]*homePeer{2: {ended: make([]EndedSession, 3), failed: 4}, 3: {}}
	if got, want := s.HomeShards.Counts(), (HomeShardCounts{Waiting: 6, Unanswered: 1}); got != want {
		t.Errorf("%+v, not %+v", got, want)
	}
}
