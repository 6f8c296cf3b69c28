package executor

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/test/memlog"
)

// newParts is a fleet whose data shards have three replicas.
func newParts(t *testing.T, shards, count, most int) *fleet {
	t.Helper()
	f := newFleetOf(t, shards, most, "h1", "h2", "h3")
	f.policy(func(p *host.Policy) { p.Replicas, p.Copies = 3, 4 })
	for i := 3; i < count; i++ {
		f.join(fmt.Sprint("h", i+1), "")
	}
	return f
}

// wantPlaces checks that each data shard has the given number of voters, on distinct running hosts, and that hosts are
// evenly loaded. It returns the data shard count per host.
func (f *fleet) wantPlaces(voters int) map[string]int {
	f.Helper()
	load := map[string]int{}
	for _, m := range f.all() {
		if h := f.records().Host(m.id); h.Online() {
			load[m.name] = 0
		}
	}
	for _, id := range f.shards[1:] {
		on := map[shard.HostID]bool{}
		for _, m := range f.net.Group(memlog.GroupID(id)).Membership().Members {
			if on[m.Host] || !m.Voter || f.host(m.Host).on(id) == nil {
				f.Errorf("shard %d has a replica too many on %s, or one that does not vote or run", id,
					f.host(m.Host).name)
			}
			on[m.Host] = true
			load[f.host(m.Host).name]++
		}
		if len(on) != voters {
			f.Errorf("shard %d has %d replicas of %d", id, len(on), voters)
		}
	}
	fewest, most := 1<<20, 0
	for _, n := range load {
		fewest, most = min(fewest, n), max(most, n)
	}
	if most-fewest > max(1, most/10) {
		f.Errorf("hosts have %d to %d data shards: %v", fewest, most, load)
	}
	return load
}

// TestShardsLiveOnAPartOfTheHosts: shards spread over joining hosts, leave a drained host before the host goes offline,
// are repaired, and follow the policy.
func TestShardsLiveOnAPartOfTheHosts(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newParts(t, 8, 7, maxFleet)
		f.converge()
		f.wantPlaces(3)
		f.join("h8", "")
		f.converge()
		if load := f.wantPlaces(3); load["h8"] == 0 {
			t.Errorf("h8 has joined and has nothing: %v", load)
		}
		f.must("drain", func(at hosts.At, r *hosts.Records) hosts.Answer { return r.Drain(at, "h2") })
		f.until(5*time.Minute, "h2 is offline", func() bool {
			return f.records().Named("h2").Current.Variant == protocol.HostOffline
		})
		for _, id := range f.shards[1:] {
			if slices.ContainsFunc(f.net.Group(memlog.GroupID(id)).Membership().Members,
				func(m shard.Member) bool { return f.host(m.Host).name == "h2" }) {
				t.Errorf("h2 is offline and has a replica of shard %d", id)
			}
		}
		f.must("undrain", func(at hosts.At, r *hosts.Records) hosts.Answer { return r.Undrain(at, "h2") })
		f.converge()
		f.wantPlaces(3)
		dead := f.named("h5")
		dead.kill()
		f.until(20*time.Minute, "no shard has a replica on h5", func() bool {
			return !slices.ContainsFunc(f.shards[1:], func(id hosts.ShardID) bool {
				p := f.records().Shard(id).On(5)
				return p != nil && p.Member()
			})
		})
		dead.start()
		f.converge()
		for _, replicas := range []int{5, 1, 3} {
			f.policy(func(p *host.Policy) { p.Replicas = replicas })
			f.converge()
			f.wantPlaces(replicas)
		}
	})
}

var largest = flag.Bool("executor.large", false, "let a fleet of 30 hosts and 64 data shards come to rest too")

// TestAFleetOfPartsComesToRest: a new host among many gets its share, and nothing else moves.
func TestAFleetOfPartsComesToRest(t *testing.T) {
	if !*largest {
		t.Skip("it takes long: -executor.large")
	}
	inBubble(t, func(t *testing.T) {
		f := newParts(t, 64, 30, 31)
		f.converge()
		f.wantPlaces(3)
		began := len(f.changes)
		f.join("h31", "")
		f.converge()
		f.wantPlaces(3)
		added := 0
		for _, c := range f.changes[began:] {
			if strings.HasPrefix(c, "add ") {
				added++
			}
		}
		if least := 3 * 64 / 31; added > 1+least+least/5 {
			t.Errorf("%d replicas were added for a host, and one of the meta shard", added-1)
		}
	})
}

// TestFleetsOfPartsComeToRest is TestFleetsComeToRest for data shards on a subset of hosts.
func TestFleetsOfPartsComeToRest(t *testing.T) {
	tally := map[string]int{}
	for seed := range *seeds / 2 {
		broken := playStoryOn(t, 0, func(t *testing.T) *fleet { return newParts(t, 4, 5, maxFleet) }, func(f *fleet) {
			s := &simulation{fleet: f, Rand: rand.New(rand.NewPCG(*from+seed, 5)), tally: tally, part: true}
			s.play(25)
		})
		if broken != "" {
			t.Fatalf("seed %d: %s", *from+seed, broken)
		}
	}
	t.Log(tally)
}
