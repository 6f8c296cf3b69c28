package operation

import (
	"errors"
	"testing"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
)

// TestARecoveryNamesTheHostsThatItExpels: silent voters that are not being expelled already.
func TestARecoveryNamesTheHostsThatItExpels(t *testing.T) {
	gone := admin.HostState{State: admin.Expelled}
	c := &admin.Cluster{Observed: true,
		Hosts: []admin.Host{{ID: 1, Name: "a", Alive: true}, {ID: 2, Name: "b"}, {ID: 3, Name: "c"},
			{ID: 4, Name: "d", Target: gone}, {ID: 5, Name: "e"}},
		Shards: []admin.Shard{
			{ID: 1, Replicas: []admin.Replica{{Host: 1, Role: admin.Voter}, {Host: 2, Role: admin.Voter},
				{Host: 3, Role: admin.Voter}, {Host: 4, Role: admin.Voter}, {Host: 5, Role: admin.Learner}}},
			{ID: 2, Replicas: []admin.Replica{{Host: 1, Role: admin.Voter}, {Host: 4, Role: admin.Voter}}},
		}}
	for id, want := range map[uint64]string{
		1: "this expels host b and host c, which shard 1 has lost, and loses changes that only lost hosts had",
		2: "this rebuilds shard 2, and loses changes that only lost hosts had",
	} {
		if got, err := recoverQuestion(c, id); got != want || err != nil {
			t.Errorf("shard %d: %q, %v", id, got, err)
		}
	}
	if _, err := recoverQuestion(c, 3); !errors.Is(err, client.ErrNotFound) {
		t.Errorf("of no shard: %v", err)
	}
}
