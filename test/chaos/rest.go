//go:build linux

package chaos

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/signalbox/signalbox/client/admin"
)

// restTimeout is how long the governor may take, once all faults are over, until the hosts and their replicas are as
// they are to be.
const restTimeout = 2 * time.Minute

// patience is the maximum time for which a host considered failed may be kept offline before it is restarted.
const patience = 10 * time.Second

// awaitRest waits until the governor has brought all about.
func (t *trial) awaitRest(ctx context.Context) {
	t.restartHeldBack(ctx)
	ctx, cancel := withRunningTime(ctx, restTimeout)
	defer cancel()
	t.expect(ctx, t.unrest)
}

// restartHeldBack acts like an operator on hosts that were repeatedly considered failed and are kept offline for
// minutes: a restart brings them online at once.
func (t *trial) restartHeldBack(ctx context.Context) {
	c, err := admin.New(t.direct).Describe(ctx)
	if err != nil {
		return // the wait for rest reports the reason
	}
	for i := range c.Hosts {
		if h := &c.Hosts[i]; h.Returns > patience && t.placeOf(h) >= 0 {
			t.restart(t.placeOf(h))
		}
	}
}

// unrest describes the first deviation from a cluster at rest, empty if there is none.
func (t *trial) unrest(ctx context.Context) string {
	c, err := admin.New(t.direct).Describe(ctx)
	if err != nil {
		return fmt.Sprintf("the hosts cannot be described: %v", err)
	}
	return t.unrestOf(c, t.cluster.members())
}

// unrestOf is unrest for the given members.
func (t *trial) unrestOf(c *admin.Cluster, members []int) string {
	var living []int
	for i := range c.Hosts {
		h := &c.Hosts[i]
		place := t.placeOf(h)
		switch {
		case place < 0:
			continue
		case h.Current.State != admin.Online || !h.AtTarget():
			return fmt.Sprintf("host %s is %v, and is to be %v", h.Name, h.Current.State, h.Target.State)
		}
		living = append(living, place)
	}
	if slices.Sort(living); !slices.Equal(living, members) {
		return fmt.Sprintf("the cluster has the hosts %v, and %v are there", living, members)
	}
	for i := range c.Shards {
		s := &c.Shards[i]
		on := t.placesOf(c, s, func(r *admin.Replica) bool { return r.Role == admin.Learner || r.Role == admin.Voter })
		placed := replicas != 0 && s.ID != 0
		switch {
		case placed && len(on) != replicas || !placed && !slices.Equal(on, members):
			return fmt.Sprintf("shard %d has replicas on the hosts %v, and %v are there", s.ID, on, members)
		case s.Voters != s.Wanted:
			return fmt.Sprintf("of shard %d %d replicas vote, and %d are to", s.ID, s.Voters, s.Wanted)
		case s.Leader == 0:
			return fmt.Sprintf("shard %d has no leader", s.ID)
		}
	}
	return ""
}
