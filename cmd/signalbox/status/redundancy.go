package status

import (
	"context"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/health"
)

// askGovernor returns the governor's view of all hosts. If no governor answers, it returns a host's records, which
// contain less. The cluster is nil if the hosts have no records, because some host does not support the feature level
// for records.
func askGovernor(ctx context.Context, box *client.Client, hosts []client.HostStatus) *admin.Cluster {
	ctx, cancel := health.Patience(ctx)
	defer cancel()
	if s := newStatusReport(hosts, nil); s.Meta != nil && s.Meta.Leader != 0 {
		for try := 1; ; try++ {
			c, err := admin.New(box).Describe(ctx)
			if err != nil {
				break
			}
			if c.Observed || try == governorTries || !cli.SleepFor(ctx, health.StartPause) {
				return c
			}
		}
	}
	if c, err := admin.New(box).Describe(ctx, admin.Relaxed()); err == nil {
		return c
	}
	return nil
}

// governorTries is the number of times the governor is asked until it has received reports from all hosts.
const governorTries = 3

// addCluster adds what is known about the hosts as a whole.
func (s *Status) addCluster(c *admin.Cluster) {
	if s.whole = c; c == nil || !c.Observed {
		return
	}
	for i := range c.Shards {
		x := &c.Shards[i]
		if s.Tolerated == nil || x.Tolerated < *s.Tolerated {
			s.Tolerated = &x.Tolerated
		}
		of := s.shard(x.ID)
		if x.ID == 0 {
			of = s.Meta
		}
		if of != nil {
			of.Redundancy = &x.Redundancy
		}
	}
}
