package main

import (
	"context"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// askGovernor returns what the host that governs says of all hosts; where none can be asked, what some host has on
// record of them, which says less. It is nil where the hosts have no records: not all of them can follow the level of
// those.
func askGovernor(ctx context.Context, box *client.Client, hosts []client.HostStatus) *admin.Cluster {
	ctx, cancel := governorPatience(ctx)
	defer cancel()
	if s := newStatusReport(hosts); s.Meta != nil && s.Meta.Leader != 0 {
		for try := 1; ; try++ {
			c, err := admin.Of(box).Describe(ctx)
			if err != nil {
				break
			}
			if c.Observed || try == governorTries || !sleepFor(ctx, startPause) {
				return c
			}
		}
	}
	if c, err := admin.Of(box).Describe(ctx, admin.Relaxed()); err == nil {
		return c
	}
	return nil
}

// governorTries is how often the host that governs is asked until it has heard from the others.
const governorTries = 3

// governorPatience leaves half of the time that there is for what follows.
func governorPatience(ctx context.Context) (context.Context, context.CancelFunc) {
	if end, ok := ctx.Deadline(); ok {
		return cli.Patience(ctx, time.Until(end)/2)
	}
	return context.WithCancel(ctx)
}

// sleepFor waits, and returns whether the context lasts.
func sleepFor(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// addCluster adds what is known of the hosts as a whole.
func (s *statusReport) addCluster(c *admin.Cluster) {
	if s.whole = c; c == nil {
		return
	}
	if !c.Observed {
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
