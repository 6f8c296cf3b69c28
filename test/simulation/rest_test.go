package simulation

import (
	"testing"

	"github.com/signalbox/signalbox/shard"
)

// TestLeadersAreAskedForWhereTheyCanBe: Connectivity decides whether a shard must have a leader. With two overlapping
// majorities, a leader in one of them is enough.
func TestLeadersAreAskedForWhereTheyCanBe(t *testing.T) {
	type pair [2]shard.HostID
	voters := []shard.HostID{1, 2, 3}
	for name, c := range map[string]struct {
		apart  []pair
		leader shard.HostID
		want   bool
	}{
		"all connected":                           {nil, 2, true},
		"all connected, and none leads":           {nil, 0, false},
		"the leader is cut off":                   {[]pair{{1, 3}, {2, 3}}, 3, false},
		"no two are connected":                    {[]pair{{1, 2}, {1, 3}, {2, 3}}, 0, true},
		"one reaches both, and one of them leads": {[]pair{{2, 3}}, 3, true},
		"one reaches both, and none leads":        {[]pair{{2, 3}}, 0, false},
	} {
		connected := func(a, b shard.HostID) bool {
			for _, p := range c.apart {
				if p == (pair{min(a, b), max(a, b)}) {
					return false
				}
			}
			return true
		}
		leads := map[shard.HostID]bool{c.leader: c.leader != 0}
		got := hasLeader(voters, leads, connected)
		if got != c.want {
			t.Errorf("%s: has a leader where there can be one: %t", name, got)
		}
	}
}
