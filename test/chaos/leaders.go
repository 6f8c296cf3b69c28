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
	// leaderless is a shard's maximum time without a leader while a majority of its voters is alive and connected.
	leaderless = 10 * time.Second
	// lookPause is the pause between two looks at leaders. At most mostCounted counts per pause, because this process
	// may have stalled.
	lookPause   = 300 * time.Millisecond
	mostCounted = 500 * time.Millisecond
)

// leaderWatch is each shard's accumulated time without a leader although a leader was possible.
type leaderWatch map[uint64]time.Duration

// look adds the result of a look at a shard, and reports whether the limit is exceeded. It then starts over.
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

// readVoters reads the places of shard voters. Unreadable entries stay unchanged.
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

// placesOf returns the places of hosts with a shard's matching replicas. An expelled host's replica has place -1.
func (t *trial) placesOf(c *admin.Cluster, s *admin.Shard, is func(*admin.Replica) bool) (list []int) {
	for i := range s.Replicas {
		if is(&s.Replicas[i]) {
			list = append(list, t.placeOf(c.Host(s.Replicas[i].Host)))
		}
	}
	slices.Sort(list)
	return list
}

// placeOf is a host's place, -1 if a different host has it by now.
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

// calmHosts are running hosts without a fault.
func (t *trial) calmHosts() []int { return t.cluster.unclaimed(t.cluster.members()) }

// stillCalm are the listed hosts that are still calm.
func (t *trial) stillCalm(list []int) []int { return t.cluster.unclaimed(t.cluster.present(list)) }

// hasMajority reports whether a majority of voters is alive, and undisturbed in reaching each other.
func (t *trial) hasMajority(voters, living []int) bool {
	for _, i := range voters {
		var together []int
		for _, k := range voters {
			if slices.Contains(living, k) && (k == i || slices.Contains(living, i) && t.network.Undisturbed(i, k)) {
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
			if !t.network.Undisturbed(i, k) {
				return false
			}
		}
	}
	return true
}
