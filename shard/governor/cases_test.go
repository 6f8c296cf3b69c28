package governor

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// cases are events in a cluster with one data shard, and all resulting governor actions: seconds from now, rule and
// step.
var cases = []struct {
	name  string
	given func(t *testing.T) *scene
	want  string
}{
	{"rebalance-cooldown: three voters", func(t *testing.T) *scene { return newScene(t, "a", "b", "c") }, ``},
	{"1: one host becomes three", func(t *testing.T) *scene {
		s := newScene(t, "a")
		s.join("b", "", "")
		s.join("c", "", "")
		return s
	}, `
		0 copies: shard 0: adding b as a learner, replica 1024
		0 copies: shard 0: adding c as a learner, replica 1025
		0 online: host b becomes ONLINE
		0 online: host c becomes ONLINE
		0 few: shard 0: making b a voter
		0 few: shard 0: making c a voter
		0 copies: shard 1: adding b as a learner, replica 1026
		0 copies: shard 1: adding c as a learner, replica 1027
		0 few: shard 1: making b a voter
		0 few: shard 1: making c a voter
		0 leaders: shard 1: handing the leadership from a to b`},
	{"two hosts: one voter and one learner", func(t *testing.T) *scene {
		s := newScene(t, "a")
		s.join("b", "", "")
		return s
	}, `
		0 copies: shard 0: adding b as a learner, replica 1024
		0 online: host b becomes ONLINE
		0 copies: shard 1: adding b as a learner, replica 1025`},
	{"4: the leader of all stops", func(t *testing.T) *scene {
		s := newScene(t, "a", "b", "c")
		s.Seen.Shards[1].Leader = 1
		s.stops("a")
		return s
	}, `
		0 leaving: shard 1: handing the leadership from a to b
		0 leaving: shard 0: handing the leadership from a to b
		0 leaving: host a becomes OFFLINE
		300 leaders: shard 1: handing the leadership from b to c
		then: host-offline no-eligible-learner`},
	{"5: a voter stops beside a learner", func(t *testing.T) *scene {
		s := newScene(t, "a", "b", "c")
		s.learner("d", "")
		s.stops("c")
		return s
	}, `
		0 leaving: shard 0: making d a voter
		0 leaving: shard 0: removing c, replica 3
		0 leaving: shard 1: making d a voter
		0 leaving: shard 1: removing c, replica 3
		0 leaving: host c becomes OFFLINE
		0 clear: shard 0: deleting replica 3 on c
		0 clear: shard 1: deleting replica 3 on c
		then: host-offline`},
	{"7: a voter dies beside a learner", func(t *testing.T) *scene {
		s := newScene(t, "a", "b", "c")
		s.learner("d", "")
		s.dies("c", 3000, 0)
		return s
	}, `
		2 failed: host c is to be offline: no contact with the host for 5.0 s
		2 leaving: host c becomes OFFLINE
		602 dead: shard 0: removing c, replica 3
		602 dead: shard 1: removing c, replica 3
		602 few: shard 0: making d a voter
		602 few: shard 1: making d a voter
		then: host-offline`},
	{"8: a voter dies, and none can vote in its place", func(t *testing.T) *scene {
		s := newScene(t, "a", "b", "c")
		s.dies("c", 6000, 0)
		return s
	}, `
		0 failed: host c is to be offline: no contact with the host for 6.0 s
		0 leaving: host c becomes OFFLINE
		then: host-offline no-eligible-learner`},
	{"10: a host is replaced whose directory was wiped", func(t *testing.T) *scene {
		s := newScene(t, "a", "b", "c")
		s.dies("b", 3000, 1)
		s.join("b", "", "b")
		return s
	}, `
		0 dead: shard 0: removing b, replica 2
		0 dead: shard 1: removing b, replica 2
		0 copies: shard 0: adding b as a learner, replica 1024
		0 leaders: shard 1: handing the leadership from a to c
		0 online: host b becomes ONLINE
		0 few: shard 0: making b a voter
		0 copies: shard 1: adding b as a learner, replica 1025
		0 few: shard 1: making b a voter
		0 expelled: host b becomes EXPELLED`},
	{"two of three die", func(t *testing.T) *scene {
		s := newScene(t, "a", "b", "c")
		s.dies("b", 6000, 1)
		s.dies("c", 6000, 0)
		s.Seen.Shards[1].Leader = 0
		return s
	}, `
		0 failed: host b is to be offline: no contact with the host for 6.0 s
		0 failed: host c is to be offline: no contact with the host for 6.0 s
		0 leaving: host b becomes OFFLINE
		0 leaving: host c becomes OFFLINE
		then: host-offline no-quorum`},
	{"a host is expelled by force: two are left", func(t *testing.T) *scene {
		s := newScene(t, "a", "b", "c")
		s.done(s.State.Expel(s.at(), "a", true, 1000))
		return s
	}, `
		0 governor: shard 0: handing the leadership from a to b
		0 dead: shard 0: removing a, replica 1
		0 dead: shard 1: removing a, replica 1
		0 leaders: shard 1: handing the leadership from b to c
		1 expelled: host a becomes EXPELLED`},
	{"the only voter of two hosts is drained", func(t *testing.T) *scene {
		s := newScene(t, "a")
		s.learner("b", "")
		s.done(s.State.Drain(s.at(), "a"))
		return s
	}, `
		0 leaving: shard 1: making b a voter
		0 leaving: shard 1: handing the leadership from a to b
		0 leaving: shard 1: removing a, replica 1
		0 leaving: shard 0: making b a voter
		0 leaving: shard 0: handing the leadership from a to b
		0 leaving: shard 0: removing a, replica 1
		0 leaving: host a becomes OFFLINE
		0 clear: shard 0: deleting replica 1 on a
		0 clear: shard 1: deleting replica 1 on a
		then: host-offline`},
	{"22: one host leads everything", func(t *testing.T) *scene {
		s := newScene(t, "a", "b", "c")
		addShards(s, 2, 3)
		s.Seen.Shards[1].Leader, s.Seen.Shards[2].Leader, s.Seen.Shards[3].Leader = 1, 1, 1
		return s
	}, `
		0 leaders: shard 1: handing the leadership from a to b
		0 leaders: shard 2: handing the leadership from a to c`},
	{"22: a cordoned host gets no leadership", func(t *testing.T) *scene {
		s := newScene(t, "a", "b", "c")
		addShards(s, 2, 3)
		s.Seen.Shards[1].Leader, s.Seen.Shards[2].Leader, s.Seen.Shards[3].Leader = 1, 1, 1
		s.done(s.State.Cordon(s.at(), "c", true))
		return s
	}, `
		0 leaders: shard 1: handing the leadership from a to b
		0 leaders: shard 2: handing the leadership from a to b`},
	{"22: a host whose disk is nearly full gets no leadership", func(t *testing.T) *scene {
		s := newScene(t, "a", "b", "c")
		addShards(s, 2, 3)
		s.Seen.Shards[1].Leader, s.Seen.Shards[2].Leader, s.Seen.Shards[3].Leader = 1, 1, 1
		s.Seen.host(3).Full = true
		return s
	}, `
		0 leaders: shard 1: handing the leadership from a to b
		0 leaders: shard 2: handing the leadership from a to b
		then: disk-full`},
	{"a voter that lags because its disk is nearly full is reported once", func(t *testing.T) *scene {
		s := newScene(t, "a", "b", "c")
		s.Seen.host(3).Full = true
		s.Seen.shard(1).replica(3).BehindFor = 9000
		return s
	}, `
		then: disk-full`},
	{"a host stops beside one whose disk is nearly full", func(t *testing.T) *scene {
		s := newScene(t, "a", "b", "c")
		s.Seen.Shards[1].Leader = 1
		s.Seen.host(2).Full = true
		s.stops("a")
		return s
	}, `
		0 leaving: shard 1: handing the leadership from a to c
		0 leaving: shard 0: handing the leadership from a to c
		0 leaving: host a becomes OFFLINE
		then: disk-full host-offline no-eligible-learner`},
	{"a full disk keeps no other host from its replicas", func(t *testing.T) *scene {
		s := newScene(t, "a", "b", "c")
		s.learner("d", "")
		s.learner("e", "")
		s.Seen.host(4).Full = true
		s.Seen.shard(1).replica(1025).BehindFor = 9000
		p := s.State.Policy()
		to := p
		to.Copies = 1
		s.done(s.State.SetPolicy(s.at(), p, to))
		s.join("f", "", "")
		return s
	}, `
		0 copies: shard 0: adding f as a learner, replica 1028
		0 online: host f becomes ONLINE
		0 few: shard 0: making e a voter
		0 few: shard 0: making f a voter
		0 copies: shard 1: adding f as a learner, replica 1029
		0 few: shard 1: making e a voter
		0 few: shard 1: making f a voter
		then: disk-full`},
	{"voters spread over domains", func(t *testing.T) *scene {
		s := newScene(t, "a dc=x", "b dc=x", "c dc=y")
		s.learner("d", "dc=z")
		return s
	}, `
		0 domains: shard 0: making d a voter
		0 excess: shard 0: removing b, replica 2
		0 clear: shard 0: deleting replica 2 on b
		0 copies: shard 0: adding b as a learner, replica 1026
		0 domains: shard 1: making d a voter
		0 excess: shard 1: removing a, replica 1
		0 clear: shard 1: deleting replica 1 on a
		0 copies: shard 1: adding a as a learner, replica 1027`},
	{"a leadership is wished for", func(t *testing.T) *scene {
		s := newScene(t, "a", "b", "c")
		s.done(s.State.Transfer(s.at(), 1, "c"))
		return s
	}, `
		0 wish: shard 1: handing the leadership from b to c`},
	{"four voters and one of them away for good", func(t *testing.T) *scene {
		s := newScene(t, "a", "b", "c", "d", "e")
		s.dies("e", 9000, 0)
		s.dies("d", 9000, 0)
		s.done(s.State.Expel(s.at(), "e", true, 1000))
		s.offline("d", 700_000)
		return s
	}, `
		0 dead: shard 0: removing e, replica 5
		0 dead: shard 0: removing d, replica 4
		0 dead: shard 1: removing e, replica 5
		0 dead: shard 1: removing d, replica 4
		1 expelled: host e becomes EXPELLED
		then: host-offline`},
	{"a restart that was not noticed", func(t *testing.T) *scene {
		s := newScene(t, "a", "b", "c")
		s.done(s.State.Boot(s.at(), hosts.Boot{Host: 2, Incarnation: hosts.Incarnation{2},
			Start:     hosts.Start{Number: 1},
			Addresses: addressesOf("b"), Level: level.Newest}))
		s.Now += 1000
		return s
	}, `
		0 online: host b becomes ONLINE`},
	{"a learner that never catches up", func(t *testing.T) *scene {
		s := newScene(t, "a", "b", "c")
		s.learner("d", "")
		s.Seen.shard(1).replica(1025).BehindFor = lostMillis
		return s
	}, `
		0 lagging: shard 1: removing d, replica 1025
		0 clear: shard 1: deleting replica 1025 on d
		0 copies: shard 1: adding d as a learner, replica 1026`},
	{"a learner whose snapshot takes longer than that", func(t *testing.T) *scene {
		s := newScene(t, "a", "b", "c")
		s.learner("d", "")
		seen := s.Seen.shard(1).replica(1025)
		seen.BehindFor, seen.Percent = lostMillis, 80
		return s
	}, `
		then: snapshot`},
}

// addShards adds data shards like shard 1.
func addShards(s *scene, ids ...hosts.ShardID) {
	for _, id := range ids {
		next := s.Seen.shard(1)
		report := *next
		report.Shard = id
		s.Seen.Shards = append(s.Seen.Shards, report)
	}
	records := hosts.New("c", append([]hosts.ShardID{1}, ids...))
	var initialMembers []hosts.InitialMember
	for _, h := range s.State.Hosts() {
		initialMembers = append(initialMembers, hosts.InitialMember{ID: h.ID, Name: h.Name, Incarnation: h.Incarnation,
			Addresses: h.Addresses, Level: h.Level})
	}
	records.Bootstrap(hosts.At{Now: 1000}, initialMembers)
	s.State = records
}

func TestCases(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := strings.Join(c.given(t).play(), "\n")
			if want := strings.ReplaceAll(strings.TrimSpace(c.want), "\t", ""); got != want {
				t.Errorf("it does\n%s\n\nand should do\n%s", got, want)
			}
		})
	}
}

// TestVotes: membership changes after host changes. The result is the voters of shard 1 at rest.
func TestVotes(t *testing.T) {
	for _, x := range []struct {
		name         string
		bootstrapped string
		change       func(s *scene)
		want         string
	}{
		{"one", "a", func(*scene) {}, "a"},
		{"two learners", "a", func(s *scene) { s.learner("b", ""); s.learner("c", "") }, "abc"},
		{"one learner", "a", func(s *scene) { s.learner("b", "") }, "a"},
		{"a fourth", "abc", func(s *scene) { s.learner("d", "") }, "abc"},
		{"a fourth and a fifth", "abc", func(s *scene) { s.learner("d", ""); s.learner("e", "") }, "abcde"},
		{"a sixth", "abcde", func(s *scene) { s.learner("f", "") }, "abcde"},
		{"four of a bootstrap", "abcd", func(*scene) {}, "abc"},
		{"an excess where one is away", "abcd", func(s *scene) { s.dies("b", 9000, 1); s.offline("b", 1) }, "acd"},
		{"offline without a replacement", "abc", func(s *scene) { s.dies("b", 9000, 1); s.offline("b", 900_000) },
			"abc"},
		{"offline with one", "abc", func(s *scene) {
			s.learner("d", "")
			s.dies("b", 9000, 1)
			s.offline("b", 900_000)
		}, "acd"},
		{"offline with a cordoned one", "abc", func(s *scene) {
			s.learner("d", "")
			s.done(s.State.Cordon(s.at(), "d", true))
			s.dies("b", 9000, 1)
			s.offline("b", 900_000)
		}, "abc"},
		{"expelled without a replacement", "abc", func(s *scene) {
			s.dies("b", 9000, 1)
			s.offline("b", 1)
			s.done(s.State.Expel(s.at(), "b", false, 10))
		}, "ac"},
		{"drained with a replacement", "abc", func(s *scene) {
			s.learner("d", "")
			s.done(s.State.Drain(s.at(), "b"))
		}, "acd"},
		{"drained without one", "abc", func(s *scene) { s.done(s.State.Drain(s.at(), "b")) }, "abc"},
		{"a dead one beside a spare with a full disk", "abc", func(s *scene) {
			s.learner("d", "")
			s.Seen.host(4).Full = true
			s.dies("b", 9000, 1)
			s.offline("b", 900_000)
		}, "abc"},
		{"a tie of domains keeps", "abc", func(s *scene) { s.learner("d", "") }, "abc"},
		{"the policy asks for one", "abc", func(s *scene) { s.voters(1) }, "b"},
		{"the policy asks for three", "abcde", func(s *scene) { s.voters(3) }, "abc"},
		{"two are left of three", "abc", func(s *scene) {
			s.dies("b", 9000, 1)
			s.offline("b", 1)
			s.done(s.State.Expel(s.at(), "b", false, 10))
		}, "ac"},
		{"no quorum", "abc", func(s *scene) {
			s.learner("d", "")
			s.dies("b", 9000, 1)
			s.dies("c", 9000, 0)
			s.offline("b", 900_000)
		}, "abc"},
		{"a replica of no record", "abc", func(s *scene) {
			s.State.Known(s.at(), 0, 1, 1, []hosts.Member{{Replica: 1, Role: hosts.RoleVoter}, {Replica: 2,
				Role: hosts.RoleVoter},
				{Replica: 3, Role: hosts.RoleVoter}, {Replica: 900, Role: hosts.RoleVoter}})
			s.Seen.shard(1).Change = 1
		}, "abc"},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := newScene(t, strings.Split(x.bootstrapped, "")...)
			x.change(s)
			if got := s.votersAtRest(); got != x.want {
				t.Errorf("%s vote, and %s should", got, x.want)
			}
		})
	}
}

func (s *scene) voters(n int) {
	p := s.State.Policy()
	to := p
	to.Voters = n
	s.done(s.State.SetPolicy(s.at(), p, to))
}

// votersAtRest runs the governor for a minute, and returns the voters of shard 1.
func (s *scene) votersAtRest() string {
	pl := Planner()
	for range 100 {
		d := pl.Next(s.View)
		if d.Step == nil {
			break
		}
		model(s.at(), s.State, s.Seen, d.Step.Kind, &d.Step.Payload)
	}
	var names []string
	for _, p := range s.State.Shard(1).Replicas {
		if p.Role == hosts.RoleVoter {
			names = append(names, nameOf(s.State, p.Host))
		}
	}
	slices.Sort(names)
	return strings.Join(names, "")
}

// TestWhy: blocked changes have a reason, with names.
func TestWhy(t *testing.T) {
	for _, x := range []struct {
		name   string
		change func(s *scene)
		want   string
	}{
		{"20: a snapshot", func(s *scene) {
			s.learner("d", "")
			*s.Seen.shard(1).replica(1025) = ReplicaSeen{ID: 1025, BehindFor: 9000, Percent: 41, Rate: 12_000_000}
		}, "snapshot: shard 1: d waits for its snapshot, 41 %, 12000000 bytes/s; for 0 ms"},
		{"a learner behind", func(s *scene) {
			s.learner("d", "")
			s.Seen.shard(1).replica(1025).BehindFor = 9000
		}, "lagging: shard 1: d lags by 9.0 s"},
		{"a learner with a full disk", func(s *scene) {
			s.learner("d", "")
			s.Seen.host(4).Full = true
			s.dies("c", 9000, 0)
			s.done(s.State.Expel(s.at(), "c", true, 10))
			s.State.Known(s.at(), 0, 1, 9, []hosts.Member{{Replica: 1, Role: hosts.RoleVoter}, {Replica: 2,
				Role: hosts.RoleVoter}, {Replica: 1025, Role: hosts.RoleLearner}})
			s.Seen.Shards[1].Change, s.Seen.Shards[0].Leader = 9, 0
		}, "disk-full: shard 1: the disk of d is nearly full"},
		{"a newcomer with a full disk", func(s *scene) {
			s.join("d", "", "")
			s.Seen.Hosts = append(s.Seen.Hosts, HostObservation{Host: 4, Tried: true, Full: true})
		}, "disk-full: shard 0: d gets no replica: its disk is nearly full"},
		{"silence", func(s *scene) { s.dies("c", 3000, 0) },
			"no-contact: no contact with host c; considered failed after 5.0 s; for 3000 ms; until in 2000 ms"},
		{"a dead voter", func(s *scene) { s.dies("c", 9000, 0); s.offline("c", 60_000) },
			"dead-voter: shard 1: c is away and is replaced, where another can vote; for 60000 ms; until in 540000 ms"},
		{"a voter that failed for the fourth time in a row", func(s *scene) {
			for range 3 {
				s.Now += 60_000
				s.offline("c", 0)
				s.Now += 2_000
				s.done(s.State.Return(s.at(), 3, s.State.Host(3).Incarnation, s.State.Host(3).Target.Epoch))
				s.reach("c")
			}
			s.offline("c", 0)
		}, "host-offline: host c: considered failed (no-contact) until the host returns or is expelled; for " +
			"0 ms; until in 2400 ms"},
		{"a host that is back and falls silent before it is online", func(s *scene) {
			s.offline("c", 0)
			s.Now += 2_000
			s.done(s.State.Return(s.at(), 3, s.State.Host(3).Incarnation, s.State.Host(3).Target.Epoch))
			s.dies("c", 3000, 0)
		}, "no-contact: no contact with host c; considered failed after 5.0 s; for 3000 ms; until in 5000 ms"},
		{"a dead voter without a spare", func(s *scene) { s.dies("c", 9000, 0); s.offline("c", 900_000) },
			"no-eligible-learner: shard 1: c keeps its vote while it is away, as no learner can have it; for " +
				"900000 ms"},
		{"no leader", func(s *scene) { s.Seen.Shards[1].Leader = 0 }, "no-leader: shard 1: it has no leader"},
		{"no report", func(s *scene) { s.Seen.Shards[1].Age = 6000 }, "no-report: shard 1: no report from its leader"},
		{"a dead voter, and who governs has heard of nobody yet", func(s *scene) {
			s.Seen.Shards[1].Leader = 1
			s.learner("d", "")
			s.Seen.host(4).FreshFor = 1
			s.offline("c", 1000)
			*s.Seen.host(3) = HostObservation{Host: 3, Tried: true, SilentFor: 300, Unheard: true}
			s.done(s.State.Expel(s.at(), "b", true, 1000))
		}, "no-report: shard 0: nothing was heard of c yet"},
		{"a host that stops, and who governs has not heard of another yet", func(s *scene) {
			s.stops("b")
			*s.Seen.host(3) = HostObservation{Host: 3, Tried: true, SilentFor: 300, Unheard: true}
		}, "no-report: shard 1: nothing was heard of c yet"},
		{"a host that stops, of which nothing was heard yet", func(s *scene) {
			s.stops("b")
			*s.Seen.host(2) = HostObservation{Host: 2, Tried: true, SilentFor: 300, Unheard: true}
		}, "no-report: shard 1: nothing was heard of b yet"},
		{"a membership of others", func(s *scene) { s.Seen.Shards[1].Change = 9 },
			"membership: shard 1: its membership has changed and is not on record yet"},
		{"a drain that would cost the quorum", func(s *scene) {
			s.done(s.State.Drain(s.at(), "b"))
			s.Seen.Shards[1].Leader = 1
			s.dies("c", 3000, 0)
		}, "no-quorum: shard 1: without b that would leave 1 of 3 voters"},
		{"an expulsion of one of three while another has been silent for a second", func(s *scene) {
			s.Seen.Shards[0].Leader, s.Seen.Shards[1].Leader = 1, 1
			s.dies("c", 1000, 0)
			s.done(s.State.Expel(s.at(), "b", true, 1000))
		}, "no-report: shard 1: no contact for a second with c, needed for a majority without b"},
		{"an expulsion", func(s *scene) {
			s.dies("c", 9000, 0)
			s.offline("c", 1)
			s.done(s.State.Expel(s.at(), "c", false, 64_000))
			s.State.Known(s.at(), 0, 0, 1, []hosts.Member{{Replica: 1, Role: hosts.RoleVoter}, {Replica: 2,
				Role: hosts.RoleVoter}})
			s.State.Known(s.at(), 0, 1, 1, []hosts.Member{{Replica: 1, Role: hosts.RoleVoter}, {Replica: 2,
				Role: hosts.RoleVoter}})
			s.Seen.Shards[0].Change, s.Seen.Shards[1].Change = 1, 1
		}, "expelling: host c is expelled once the grace period has passed; for 0 ms; until in 65001 ms"},
		{"a wish for a host whose disk is nearly full", func(s *scene) {
			s.done(s.State.Transfer(s.at(), 1, "c"))
			s.Seen.host(3).Full = true
		}, "no-successor: shard 1: c cannot lead it now, as was asked for; until in 60000 ms"},
		{"a learner that was stopped", func(s *scene) {
			s.learner("d", "")
			s.stops("d")
			s.dies("d", 9000, 0)
			s.reach("d")
			s.Now += 20_000
		}, "host-offline: host d: stopped until the host is started again or expelled; for 20000 ms"},
		{"a drained host beside a cordoned spare", func(s *scene) {
			s.learner("d", "")
			s.done(s.State.Cordon(s.at(), "d", true))
			s.done(s.State.Drain(s.at(), "c"))
			s.reach("c")
		}, "no-eligible-learner: shard 0: c keeps its vote while it is away, as no learner can have it; for 0 ms"},
		{"the cordoned spare", func(s *scene) {
			s.learner("d", "")
			s.done(s.State.Cordon(s.at(), "d", true))
			s.done(s.State.Drain(s.at(), "c"))
			s.reach("c")
		}, "cordoned: shard 0: d is cordoned"},
		{"a drained host without votes", func(s *scene) {
			s.learner("d", "")
			s.done(s.State.Drain(s.at(), "d"))
			s.reach("d")
		}, "host-offline: host d: drained until the host is started again or undrained; for 0 ms"},
		{"a host that was never started", func(s *scene) { s.enter("d", "", "") },
			"host-offline: host d: joined, but not started since; for 0 ms"},
		{"a host that takes nothing", func(s *scene) { s.Seen.host(3).StuckFor = 3000 },
			"no-contact: host c answers, but accepts no log entry; considered failed after 5.0 s; " +
				"for 3000 ms; until in 2000 ms"},
		{"a host that was not heard yet",
			func(s *scene) { s.learner("d", ""); *s.Seen.host(4) = HostObservation{Host: 4} },
			"no-contact: the governor has had no contact with host d yet; for 0 ms"},
		{"a host that does not confirm", func(s *scene) { s.Seen.host(3).FreshFor = 0 },
			"not-up-to-date: host c: the host does not confirm being up to date"},
		{"a full disk", func(s *scene) { s.Seen.host(3).Full = true },
			"disk-full: host c: the disk is nearly full, so the host accepts no more log entries"},
		{"a voter that lags", func(s *scene) { s.Seen.shard(1).replica(3).BehindFor = 4000 },
			"lagging: shard 1: c lags by 4.0 s"},
		{"a wish", func(s *scene) {
			s.done(s.State.Transfer(s.at(), 1, "c"))
			s.Seen.shard(1).replica(3).BehindFor = 5000
		}, "no-successor: shard 1: c cannot lead it now, as was asked for; until in 60000 ms"},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := newScene(t, "a", "b", "c")
			x.change(s)
			s.Now++ // shard time is rounded: the change is recorded with the next timestamp
			texts, step := s.reasons()
			if step != nil || !strings.Contains(strings.Join(texts, "\n")+"\n", x.want+"\n") {
				t.Errorf("the step is %+v, the reasons are\n%s\nand should have\n%s", step, strings.Join(texts, "\n"),
					x.want)
			}
		})
	}
}

// TestDue: changes that only wait for time, or for the next round, have a due time; finished work has none.
func TestDue(t *testing.T) {
	for _, x := range []struct {
		name  string
		given func(t *testing.T) *scene
		want  string
	}{
		{"rest", func(t *testing.T) *scene { return newScene(t, "a", "b", "c") }, ""},
		{"a swap ten seconds ahead", func(t *testing.T) *scene {
			s := newScene(t, "a dc=x", "b dc=x", "c dc=y")
			s.learner("d", "dc=z")
			s.Seen.host(4).FreshFor = 500
			return s
		}, "domains: shard 0: making d a voter, in 9500 ms"},
		{"what was decided a moment ago", func(t *testing.T) *scene {
			s := newScene(t, "a", "b", "c")
			s.stops("a")
			return s
		}, "leaving: shard 0: handing the leadership from a to b, in 0 ms"},
		{"a silent voter", func(t *testing.T) *scene {
			s := newScene(t, "a", "b", "c")
			s.dies("c", 3000, 0)
			return s
		}, "failed: host c is to be offline: no contact with the host for 5.0 s, in 2000 ms"},
		{"a dead voter beside a spare", func(t *testing.T) *scene {
			s := newScene(t, "a", "b", "c")
			s.learner("d", "")
			s.dies("c", 9000, 0)
			s.offline("c", 60_000)
			return s
		}, "dead: shard 0: removing c, replica 3, in 540001 ms"},
		{"a drained host beside a cordoned spare, for which time does nothing", func(t *testing.T) *scene {
			s := newScene(t, "a", "b", "c")
			s.learner("d", "")
			s.done(s.State.Cordon(s.at(), "d", true))
			s.done(s.State.Drain(s.at(), "c"))
			s.reach("c")
			return s
		}, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := x.given(t)
			got := ""
			if d := Planner().Due(s.View, 10); d != nil {
				got = fmt.Sprintf("%s: %s, in %d ms", d.Rule, describe(s.View, &d.Proposal), d.At-s.Now)
			}
			if got != x.want {
				t.Errorf("due is %q, and should be %q", got, x.want)
			}
		})
	}
}

// TestAnIdleClusterLosesNoHost: an hour without traffic is no failure; only missing contact and ignored entries count.
func TestAnIdleClusterLosesNoHost(t *testing.T) {
	for name, x := range map[string]struct {
		change func(h *HostObservation)
		want   hosts.Reason
	}{
		"heard, idle":            {func(h *HostObservation) { h.FreshFor = 3600_000 }, 0},
		"never tried":            {func(h *HostObservation) { h.Tried, h.SilentFor = false, 3600_000 }, 0},
		"silent for too short":   {func(h *HostObservation) { h.SilentFor = 4999 }, 0},
		"silent":                 {func(h *HostObservation) { h.SilentFor = 5000 }, hosts.ReasonSilent},
		"stuck":                  {func(h *HostObservation) { h.StuckFor = 5000 }, hosts.ReasonStuck},
		"stuck for a short time": {func(h *HostObservation) { h.StuckFor = 1 }, 0},
	} {
		s := newScene(t, "a", "b", "c")
		x.change(s.Seen.host(2))
		if got := failure(s.View, s.State.Host(shard.HostID(2))); got != x.want {
			t.Errorf("%s: %d", name, got)
		}
	}
	s := newScene(t, "a", "b", "c")
	s.join("d", "", "")
	s.Now += 5001
	for silent, want := range map[uint64]hosts.Reason{4999: 0, 5000: hosts.ReasonSilent} {
		s.Seen.Hosts = append(s.Seen.Hosts[:3], HostObservation{Host: 4, Tried: true, SilentFor: silent, Unheard: true})
		if got := failure(s.View, s.State.Host(4)); got != want {
			t.Errorf("a host without replicas that is silent for %d ms: %d", silent, got)
		}
	}
	s = newScene(t, "a", "b", "c")
	s.Seen.host(1).SilentFor = 1 << 40
	if failure(s.View, s.State.Host(1)) != 0 {
		t.Error("the governor takes itself for failed")
	}
}

func TestNumberOfVotersFollowsThePolicyAndTheHosts(t *testing.T) {
	for _, x := range []struct{ voters, hosts, want int }{
		{0, 1, 1}, {0, 2, 1}, {0, 3, 3}, {0, 4, 3}, {0, 5, 5}, {0, 9, 5}, {1, 9, 1}, {3, 9, 3}, {5, 4, 3}, {3, 2, 1},
	} {
		if got := hosts.WantedVoters(x.voters, x.hosts); got != x.want {
			t.Errorf("policy %d, %d hosts: %d voters", x.voters, x.hosts, got)
		}
	}
}
