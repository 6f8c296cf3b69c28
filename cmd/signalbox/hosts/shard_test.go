package hosts

import (
	"testing"
	"time"

	"github.com/signalbox/signalbox/client/admin"
)

// TestTheStateOfAShardIsInOneWord: the shard's worst state.
func TestTheStateOfAShardIsInOneWord(t *testing.T) {
	whole := admin.Redundancy{Wanted: 3, Voters: 3, Live: 3, Tolerated: 1}
	short := admin.Redundancy{Wanted: 3, Voters: 2, Live: 2}
	lost := admin.Redundancy{Wanted: 3, Voters: 3, Live: 1, Tolerated: -1}
	learner := func(observed bool, behind time.Duration) []admin.Replica {
		return []admin.Replica{{Role: admin.Voter}, {Role: admin.Learner, Observed: observed, Behind: behind}}
	}
	for want, s := range map[string]admin.Shard{
		"complete":    {Leader: 1, Redundancy: whole, Replicas: learner(true, time.Second)},
		"filling":     {Leader: 1, Redundancy: whole, Replicas: learner(true, 2*time.Second)},
		"short by 1":  {Leader: 1, Redundancy: short, Replicas: learner(false, 0)},
		"no leader":   {Redundancy: whole},
		"no majority": {Redundancy: lost},
	} {
		if got := stateText(&s); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
