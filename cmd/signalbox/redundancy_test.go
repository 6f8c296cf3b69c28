package main

import (
	"testing"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
)

// members is a cluster of three hosts with one data shard, of which so many voters are alive.
func members(live int, concerns ...admin.Concern) *admin.Cluster {
	r := admin.Redundancy{Wanted: 3, Voters: 3, Live: live, Tolerated: max(-1, live-2)}
	return &admin.Cluster{Observed: true, Concerns: concerns,
		Hosts: []admin.Host{{ID: 1, Name: "a"}, {ID: 2, Name: "b"}},
		Shards: []admin.Shard{
			{ID: 0, Redundancy: admin.Redundancy{Wanted: 3, Voters: 3, Live: 3, Tolerated: 1}}, {ID: 1, Redundancy: r},
		}}
}

// TestCheckJudgesWhatMayFail by what the governor says, the least redundant shard first.
func TestCheckJudgesWhatMayFail(t *testing.T) {
	silent := admin.Concern{Severity: admin.Warning, Text: "host b is not heard", Mend: "start it again", Host: 2}
	alone := &admin.Cluster{Observed: true, Shards: []admin.Shard{
		{ID: 1, Redundancy: admin.Redundancy{Wanted: 1, Voters: 1, Live: 1}},
	}, Concerns: []admin.Concern{{Severity: admin.Note, Text: "one host"}}}
	const bringBack = "bring back the hosts that are away, or replace them"
	for what, c := range map[string]struct {
		whole   *admin.Cluster
		subject string
		want    level
		found   string
		advice  string
	}{
		"all is well": {members(3), "redundancy", levelOK,
			"of the voters of shard meta 3 of 3 are alive; 1 more may fail", ""},
		"one voter is away": {members(2), "redundancy", levelWarn,
			"of the voters of shard 1 2 of 3 are alive; 0 more may fail", bringBack},
		"no majority": {members(1), "redundancy", levelFail,
			"of the voters of shard 1 1 of 3 are alive; 0 more may fail", bringBack},
		"a host is named with what mends it": {members(3, silent), "state of b", levelWarn, silent.Text, silent.Mend},
		"a shard has no leader": {members(3, admin.Concern{Severity: admin.Failure, Text: "no leader is known",
			Shards: []uint64{0, 1}}), "shards meta,1", levelFail, "no leader is known", ""},
		"a host alone": {alone, "cluster", levelOK, "one host", ""},
		"nothing is observed": {&admin.Cluster{Shards: members(3).Shards}, "redundancy", levelWarn,
			"what may fail is not known: no host governs the cluster, or it has not heard from the others",
			"the leader of the meta shard governs: look at its log, and at the leaders above"},
	} {
		var x findings
		judgeMembers(c.whole, &x)
		met := false
		for _, f := range x.list {
			if f.Subject == c.subject {
				met = f.Level == c.want && f.Found == c.found && f.Advice == c.advice
			}
		}
		if !met || x.worst() != c.want {
			t.Errorf("%s: %+v", what, x.list)
		}
	}
}

// TestStatusShowsWhatMayFail with each shard, and for all.
func TestStatusShowsWhatMayFail(t *testing.T) {
	hosts := []client.HostStatus{{ID: 1, Name: "a", Meta: client.ShardStatus{Leader: 1, Term: 2},
		Shards: []client.ShardStatus{{ID: 1, Leader: 1, Term: 3}}}}
	s := newStatusObject(hosts)
	s.addCluster(members(2, admin.Concern{Severity: admin.Warning, Code: "silent", Host: 2}))
	if s.Tolerated == nil || *s.Tolerated != 0 || s.Meta.Redundancy.Tolerated != 1 ||
		*s.Shards[0].Redundancy != (shardRedundancyObject{3, 3, 2, 0}) || len(s.Concerns) != 1 ||
		s.Concerns[0].Code != "silent" {
		t.Errorf("%+v", s)
	}
	s = newStatusObject(hosts)
	s.addCluster(&admin.Cluster{Shards: members(3).Shards})
	if s.Tolerated != nil || s.Meta.Redundancy != nil || s.Shards[0].Redundancy != nil {
		t.Errorf("where nothing is observed: %+v", s)
	}
	s.addCluster(nil)
}
