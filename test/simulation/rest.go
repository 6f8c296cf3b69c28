package simulation

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/meta"
	"github.com/signalbox/signalbox/test/workload"
)

// Requirements for the hosts of a cluster, in addition to the rules of package history.

const (
	// leaderless is the maximum time for a shard without a leader while a majority of its voters is alive and
	// connected.
	leaderless = 10 * time.Second
	// lookEvery is the interval of leader checks.
	lookEvery = 200 * time.Millisecond
	// restWithin is the maximum time for the governor to finish its work after all faults.
	restWithin = 5 * time.Minute
	// restFor is the time without work that counts as rest.
	restFor = 3 * time.Second
)

// watchLeaders notes shards without a leader, until the context ends.
func (w *world) watchLeaders(ctx context.Context) {
	since := make(map[int]time.Time)
	for workload.Sleep(ctx, lookEvery) {
		for n := range w.shards() + 1 {
			if w.isLed(n) || w.isLost(uint64(n)) {
				delete(since, n)
				continue
			}
			at, before := since[n]
			switch {
			case !before:
				since[n] = time.Now()
			case time.Since(at) > leaderless:
				w.record.Note("shard %d has had no leader for %v, though a majority of its voters lives: %v", n,
					leaderless, w.cluster.Describe(uint64(n)))
				since[n] = time.Now()
			}
		}
	}
}

// isLed reports whether a shard has a leader, or cannot have one: no majority of its voters is alive and connected.
func (w *world) isLed(n int) bool {
	leads := make(map[shard.HostID]bool)
	var voters []shard.HostID
	for _, r := range w.cluster.Replicas(uint64(n)) {
		leads[r.Host] = r.Leads
		if r.Voter {
			voters = append(voters, r.Host)
		}
	}
	return hasLeader(voters, leads, func(a, b shard.HostID) bool {
		return w.cluster.Host(a) != nil && w.cluster.Host(b) != nil && w.cluster.Net().Connected(a, b)
	})
}

// hasLeader reports whether a fully connected majority of voters contains a leader, or no such majority exists. With
// partial connectivity, several majorities are possible.
func hasLeader(voters []shard.HostID, leads map[shard.HostID]bool, connected func(a, b shard.HostID) bool) bool {
	majorities := 0
	for _, id := range voters {
		reached := slices.DeleteFunc(slices.Clone(voters), func(o shard.HostID) bool { return !connected(id, o) })
		if 2*len(reached) <= len(voters) || !allConnected(reached, connected) {
			continue
		}
		if slices.ContainsFunc(reached, func(o shard.HostID) bool { return leads[o] }) {
			return true
		}
		majorities++
	}
	return majorities == 0
}

func allConnected(list []shard.HostID, connected func(a, b shard.HostID) bool) bool {
	for i, a := range list {
		for _, b := range list[:i] {
			if !connected(a, b) {
				return false
			}
		}
	}
	return true
}

// comeToRest undoes operators' requests, starts stopped hosts, and waits until the governor has finished. Remaining
// deviations are noted.
func (w *world) comeToRest() {
	for _, id := range w.livingHosts() {
		if w.cluster.Host(id) == nil {
			w.start(id)
		}
	}
	for _, id := range w.livingHosts() {
		w.takeBack(fmt.Sprint(id))
	}
	if w.plan.Moves {
		w.cancelMoves()
	}
	var rested time.Time
	for end := time.Now().Add(restWithin); ; time.Sleep(lookEvery) {
		why := w.unrest()
		switch {
		case why != "":
			rested = time.Time{}
		case rested.IsZero():
			rested = time.Now()
		case time.Since(rested) >= restFor:
			return
		}
		if time.Now().After(end) {
			w.record.Note("in the end the hosts do not come to rest: %s\n%s", why, w.groups())
			return
		}
	}
}

// groups describes the logs of all shards.
func (w *world) groups() (text string) {
	for n := range w.shards() + 1 {
		text += w.cluster.Describe(uint64(n))
	}
	return text
}

// takeBack undoes operators' requests for a host.
func (w *world) takeBack(host string) {
	for _, r := range []meta.Request{&meta.HostUndrain{Host: host}, &meta.HostCordon{Host: host}} {
		if _, err := w.cluster.Do(r); err != nil {
			w.record.Note("in the end the cluster does not take back what was done with host %s: %v", host, err)
		}
	}
}

// unrest describes the first deviation from rest, empty if there is none.
func (w *world) unrest() string {
	leader := w.cluster.Host(w.cluster.Leader(0))
	records := w.cluster.Records()
	if leader == nil || records == nil {
		return "the meta shard has no leader"
	}
	w.switchOff(records)
	if reasons, err := leader.Governor().Why(); err != nil || len(reasons) > 0 {
		return fmt.Sprintf("the governor waits: %v %v", reasons, err)
	}
	var living []shard.HostID
	for _, h := range records.Hosts() {
		switch {
		case h.Living() && !h.Online():
			return fmt.Sprintf("host %d is %v and not online", h.ID, h.Current)
		case h.Living():
			living = append(living, h.ID)
		case h.Current.Variant != protocol.HostExpelled:
			return fmt.Sprintf("host %d is not expelled yet", h.ID)
		}
	}
	if want := w.livingHosts(); !slices.Equal(living, want) {
		return fmt.Sprintf("hosts %v are of the cluster, and %v should be", living, want)
	}
	for n := range w.shards() + 1 {
		if why := w.shardUnrest(n, living, records); why != "" {
			return fmt.Sprintf("shard %d: %s", n, why)
		}
	}
	return ""
}

// shardUnrest describes a deviation in a shard's replicas, based on its log alone.
func (w *world) shardUnrest(n int, living []shard.HostID, records *hosts.Records) string {
	var on []shard.HostID
	voters := 0
	for _, m := range w.cluster.Replicas(uint64(n)) {
		on = append(on, m.Host)
		if m.Voter {
			voters++
		}
	}
	slices.Sort(on)
	policy := records.Policy()
	least := hosts.WantedVoters(policy.Voters, len(living))
	most := least
	if len(living) == 2 {
		most = 2 // three voters do not become one by themselves
	}
	if spread := records.Spread() && n != 0; spread {
		least = min(policy.Replicas, len(living)-(len(living)+1)%2)
		most = max(least, 2-len(living)%2)
		if slices.ContainsFunc(on, func(id shard.HostID) bool { return !slices.Contains(living, id) }) ||
			len(on) != voters {
			return fmt.Sprintf("it has replicas on %v, of which %d vote, and hosts %v are there", on, voters, living)
		}
		on = living
	}
	switch {
	case !slices.Equal(on, living):
		return fmt.Sprintf("it has replicas on %v, and hosts %v are there", on, living)
	case voters < least || voters > most:
		return fmt.Sprintf("%d of its replicas vote, and %d should", voters, least)
	case !w.isLed(n):
		return "it has no leader"
	}
	return ""
}
