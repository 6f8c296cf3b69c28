//go:build linux

package chaos

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/test/workload"
)

const (
	// leaderless is how long a shard may have no leader while a majority of its voters lives and is connected.
	leaderless = 10 * time.Second
	// lookPause is the pause between two looks at that. Of the time between two looks no more than mostCounted counts:
	// this process may have stood still.
	lookPause   = 300 * time.Millisecond
	mostCounted = 500 * time.Millisecond
)

// leaderWatch is for how long shards have been without a leader though they could have one.
type leaderWatch map[uint64]time.Duration

// look adds what a look at a shard has shown, and reports whether it has been too long. It begins anew then.
func (w leaderWatch) look(shard uint64, excused bool, passed time.Duration) (tooLong bool) {
	if excused {
		delete(w, shard)
		return false
	}
	w[shard] += min(passed, mostCounted)
	if w[shard] <= leaderless {
		return false
	}
	delete(w, shard)
	return true
}

// watchLeaders notes shards without a leader, until the context ends.
func (t *trial) watchLeaders(ctx context.Context) {
	watch := make(leaderWatch)
	voters := make(map[uint64][]int)
	for last := machineTime(); workload.Sleep(ctx, lookPause); {
		t.readVoters(ctx, voters)
		calm := t.calmHosts()
		statuses := t.cluster.statuses(t.cluster.members())
		led := leaders(statuses)
		now := machineTime()
		living := slices.DeleteFunc(t.stillCalm(calm), func(i int) bool { _, answers := statuses[i]; return !answers })
		for shard, list := range voters {
			_, is := led[shard]
			if watch.look(shard, is || !t.hasMajority(list, living), now-last) {
				t.record.Note("shard %d has had no leader for %v, though of its voters %v the hosts %v live",
					shard, leaderless, list, living)
			}
		}
		last = now
	}
}

// readVoters reads on which places the voters of the shards are. What cannot be read stays as it was.
func (t *trial) readVoters(ctx context.Context, voters map[uint64][]int) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	c, err := admin.New(t.direct).Describe(ctx, admin.Relaxed())
	if err != nil {
		return
	}
	for _, s := range c.Shards {
		voters[s.ID] = t.placesOf(c, &s, func(r *admin.Replica) bool { return r.Role == admin.Voter })
	}
}

// placesOf are the places of the hosts that have some replicas of a shard. One that has none, as its host was expelled,
// is -1.
func (t *trial) placesOf(c *admin.Cluster, s *admin.Shard, is func(*admin.Replica) bool) (list []int) {
	for i := range s.Replicas {
		if is(&s.Replicas[i]) {
			list = append(list, t.placeOf(c.Host(s.Replicas[i].Host)))
		}
	}
	slices.Sort(list)
	return list
}

// placeOf is the place of a host, -1 where it is another one's by now.
func (t *trial) placeOf(h *admin.Host) int {
	if h == nil || h.Target.State == admin.Expelled {
		return -1
	}
	for i, p := range t.cluster.places {
		if p.Name == h.Name {
			return i
		}
	}
	panic(fmt.Sprintf("chaos: the cluster has a host %s", h.Name))
}

// calmHosts are those that run and that no fault has claimed.
func (t *trial) calmHosts() []int { return t.cluster.unclaimed(t.cluster.members()) }

// stillCalm are those of a list that are calm now too.
func (t *trial) stillCalm(list []int) []int { return t.cluster.unclaimed(t.cluster.present(list)) }

// hasMajority reports whether a majority of voters is among the living, and none of them is disturbed in reaching
// another one.
func (t *trial) hasMajority(voters, living []int) bool {
	for _, i := range voters {
		var together []int
		for _, k := range voters {
			if slices.Contains(living, k) && (k == i || slices.Contains(living, i) && t.network.undisturbed(i, k)) {
				together = append(together, k)
			}
		}
		if 2*len(together) > len(voters) && t.allUndisturbed(together) {
			return true
		}
	}
	return false
}

func (t *trial) allUndisturbed(list []int) bool {
	for n, i := range list {
		for _, k := range list[:n] {
			if !t.network.undisturbed(i, k) {
				return false
			}
		}
	}
	return true
}
