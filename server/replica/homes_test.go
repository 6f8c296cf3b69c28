package replica

import (
	"testing"

	"github.com/signalbox/signalbox/shard"
)

// TestWhatWaitsForOtherHostsIsCounted: questions, losses and ends, and the hosts that have not answered.
func TestWhatWaitsForOtherHostsIsCounted(t *testing.T) {
	s := &Set{}
	s.homes.init(s)
	defer s.homes.close()
	if got := s.HomeCounts(); got != (HomeCounts{}) {
		t.Errorf("of nothing: %+v", got)
	}
	home := &Replica{}
	s.homes.note(home, 1)
	s.homes.note(home, 2)
	s.homes.lost[home] = []lostHolding{{}}
	s.homes.peers = map[shard.HostID]*homePeer{2: {ended: make([]EndedSession, 3), failed: 4}, 3: {}}
	if got, want := s.HomeCounts(), (HomeCounts{Waiting: 6, Unanswered: 1}); got != want {
		t.Errorf("%+v, not %+v", got, want)
	}
}
