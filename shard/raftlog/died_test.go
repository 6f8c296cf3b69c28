package raftlog

import (
	"testing"

	"github.com/signalbox/signalbox/shard/raftlog/transport"
)

// TestFollowersStandForElectionAfterTheirLeaderDied: followers start elections in turn. A follower with a nearly full
// disk does not, because it could accept no log entries as leader.
func TestFollowersStandForElectionAfterTheirLeaderDied(t *testing.T) {
	d, m := openThreeWithDisks(t, nil)
	leader, first, second := m[0], m[1], m[2]
	applied := leader.mustPropose(0, 1)
	for _, follower := range m[1:] {
		follower.machine.awaitBatches(t, applied) // the follower knows the voters then
	}
	stands := func(m *member, who string) []transport.Stand {
		t.Helper()
		eventually(t, who+" knows the leader", func() bool {
			return m.log.Leadership().Leader == leader.config.Host
		})
		return m.host.Died(leader.config.Host)
	}
	a, b := stands(first, "the first follower"), stands(second, "the second follower")
	gap := standGap(first.config.Tick)
	if len(a) != 1 || len(b) != 1 || min(a[0].After, b[0].After) != 0 || max(a[0].After, b[0].After) != gap {
		t.Errorf("the followers stand after %v and %v, want one at once and one after %v", a, b, gap)
	}
	if list := first.host.Died(second.config.Host); len(list) != 0 {
		t.Errorf("a follower stands for election after the death of a host that does not lead: %v", list)
	}
	d.of(first).full.Store(true)
	if list := stands(first, "the first follower"); len(list) != 0 {
		t.Errorf("a follower with a nearly full disk stands for election: %v", list)
	}
	if list := stands(second, "the second follower"); len(list) != 1 {
		t.Errorf("%d stands of the follower whose disk has room, want 1", len(list))
	}
}
