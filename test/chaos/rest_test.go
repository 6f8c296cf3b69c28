//go:build linux

package chaos

import (
	"strings"
	"testing"

	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/server/servertest/process"
)

// restedCluster is a two-host cluster at rest, modified by lie.
func restedCluster(lie func(*admin.Cluster)) *admin.Cluster {
	online := admin.HostState{State: admin.Online}
	left := admin.HostState{State: admin.Expelled}
	c := &admin.Cluster{
		Hosts: []admin.Host{
			{ID: 1, Name: "a", Current: online, Target: online}, {ID: 2, Name: "b", Current: online, Target: online},
			{ID: 3, Name: "c", Current: left, Target: left},
		},
		Shards: []admin.Shard{{
			ID: 1, Leader: 2, Redundancy: admin.Redundancy{Wanted: 1, Voters: 1},
			Replicas: []admin.Replica{
				{ID: 1, Host: 1, Role: admin.Learner}, {ID: 2, Host: 2, Role: admin.Voter},
				{ID: 3, Host: 3, Role: admin.Removed},
			},
		}},
	}
	lie(c)
	return c
}

func TestWhatIsNotAtRestIsFound(t *testing.T) {
	of := &trial{cluster: &cluster{places: []*process.Place{{Name: "a"}, {Name: "b"}, {Name: "c"}}}}
	for name, x := range map[string]struct {
		lie  func(*admin.Cluster)
		want string // substring of the result, empty if at rest
	}{
		"at rest":           {func(*admin.Cluster) {}, ""},
		"a host is drained": {func(c *admin.Cluster) { c.Hosts[0].Current.State = admin.Offline }, "host a is"},
		"a host is to be drained": {
			func(c *admin.Cluster) { c.Hosts[1].Target.State = admin.Offline }, "host b is",
		},
		"an expelled host is there still": {func(c *admin.Cluster) {
			c.Hosts[2].Current.State, c.Hosts[2].Target.State = admin.Online, admin.Online
		}, "has the hosts [0 1 2]"},
		"a host is not of the cluster": {func(c *admin.Cluster) { c.Hosts = c.Hosts[1:] }, "has the hosts [1]"},
		"a host has no replica": {
			func(c *admin.Cluster) { c.Shards[0].Replicas[0].Role = admin.None }, "replicas on the hosts [1]",
		},
		"an expelled host has a replica": {
			func(c *admin.Cluster) { c.Shards[0].Replicas[2].Role = admin.Learner }, "replicas on the hosts [-1 0 1]",
		},
		"too few vote":  {func(c *admin.Cluster) { c.Shards[0].Wanted = 3 }, "1 replicas vote, and 3"},
		"too many vote": {func(c *admin.Cluster) { c.Shards[0].Voters = 2 }, "2 replicas vote, and 1"},
		"nobody leads":  {func(c *admin.Cluster) { c.Shards[0].Leader = 0 }, "has no leader"},
	} {
		got := of.unrestOf(restedCluster(x.lie), []int{0, 1})
		if (got == "") != (x.want == "") || !strings.Contains(got, x.want) {
			t.Errorf("%s: it says %q, want %q", name, got, x.want)
		}
	}
}
