package status

import (
	"testing"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
)

// members returns a cluster with three hosts and one data shard with the given number of live voters.
func members(live int) *admin.Cluster {
	r := admin.Redundancy{Wanted: 3, Voters: 3, Live: live, Tolerated: max(-1, live-2)}
	return &admin.Cluster{Observed: true,
		Hosts: []admin.Host{{ID: 1, Name: "a"}, {ID: 2, Name: "b"}},
		Shards: []admin.Shard{
			{ID: 0, Redundancy: admin.Redundancy{Wanted: 3, Voters: 3, Live: 3, Tolerated: 1}}, {ID: 1, Redundancy: r},
		}}
}

// TestStatusShowsWhatMayFail for each shard, and for all shards.
func TestStatusShowsWhatMayFail(t *testing.T) {
	hosts := []client.HostStatus{{ID: 1, Name: "a", Meta: client.ShardStatus{Leader: 1, Term: 2},
		Shards: []client.ShardStatus{{ID: 1, Leader: 1, Term: 3}}}}
	s := newStatusReport(hosts, nil)
	s.addCluster(members(2))
	if s.Tolerated == nil || *s.Tolerated != 0 || s.Meta.Redundancy.Tolerated != 1 ||
		s.Shards[0].Redundancy.Live != 2 {
		t.Errorf("%+v", s)
	}
	s = newStatusReport(hosts, nil)
	s.addCluster(&admin.Cluster{Shards: members(3).Shards})
	if s.Tolerated != nil || s.Meta.Redundancy != nil || s.Shards[0].Redundancy != nil {
		t.Errorf("where nothing is observed: %+v", s)
	}
	s.addCluster(nil)
}
