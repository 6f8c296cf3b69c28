package governor

import (
	"slices"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard/hosts"
)

// parts is a scene whose data shard has replicas on the first hosts; the further hosts have learners for the meta shard
// only.
func parts(t *testing.T, replicas int, first []string, further ...string) *scene {
	t.Helper()
	s := newScene(t, first...)
	from := s.State.Policy()
	to := from
	to.Replicas = replicas
	s.done(s.State.SetPolicy(s.at(), from, to))
	for _, name := range further {
		name, domain, _ := strings.Cut(name, " ")
		s.join(name, domain, "")
		id := s.id(name)
		s.done(s.State.Reach(s.at(), 0, id, protocol.HostOnline, 1))
		a := Action{Host: id, Replica: s.State.NextReplica(), Change: s.State.Shard(hosts.Meta).Change}
		model(s.at(), s.State, s.Seen, KindAdd, &a)
		*s.Seen.host(id) = upToDate(id)
	}
	return s
}

// placeCases are governor actions for a data shard on a subset of hosts.
var placeCases = []struct {
	name  string
	given func(t *testing.T) *scene
	want  string
}{
	{"rebalance-cooldown: three of four hosts", func(t *testing.T) *scene { return parts(t, 3, []string{"a", "b", "c"}, "d") }, ``},
	{"a drain moves the replica before the host is offline", func(t *testing.T) *scene {
		s := parts(t, 3, []string{"a", "b", "c"}, "d")
		s.done(s.State.Drain(s.at(), "c"))
		return s
	}, `
		0 leaving: shard 0: making d a voter
		0 leaving: shard 0: removing c, replica 3
		0 clear: shard 0: deleting replica 3 on c
		0 places: shard 1: adding d as a learner, replica 1025
		0 leaving: shard 1: making d a voter
		0 leaving: shard 1: removing c, replica 3
		0 leaving: host c becomes OFFLINE
		0 clear: shard 1: deleting replica 3 on c
		then: host-offline`},
	{"the host that is to take the replica of a drained one is cordoned while it is filled", func(t *testing.T) *scene {
		s := parts(t, 3, []string{"a", "b", "c"}, "d", "e")
		s.done(s.State.Drain(s.at(), "c"))
		a := Action{Shard: 1, Host: s.id("d"), Replica: s.State.NextReplica(), Change: s.State.Shard(1).Change}
		model(s.at(), s.State, s.Seen, KindAdd, &a)
		s.done(s.State.Cordon(s.at(), "d", true))
		return s
	}, `
		0 leaving: shard 0: making e a voter
		0 places: shard 1: removing d, replica 1026
		0 clear: shard 1: deleting replica 1026 on d
		0 places: shard 1: adding e as a learner, replica 1027
		0 leaving: shard 1: making e a voter
		0 leaving: shard 1: removing c, replica 3
		0 leaving: host c becomes OFFLINE
		0 clear: shard 1: deleting replica 3 on c
		then: cordoned host-offline no-eligible-learner too-few-voters`},
	{"rebalance-cooldown: three replicas are wanted of two hosts", func(t *testing.T) *scene {
		s := parts(t, 3, []string{"a"}, "b")
		a := Action{Shard: 1, Host: s.id("b"), Replica: s.State.NextReplica(), Change: s.State.Shard(1).Change}
		model(s.at(), s.State, s.Seen, KindAdd, &a)
		return s
	}, ``},
	{"three replicas are wanted of two hosts, and one has none", func(t *testing.T) *scene {
		return parts(t, 3, []string{"a"}, "b")
	}, `
		0 places: shard 1: adding b as a learner, replica 1025`},
	{"40: one replica, and a drain", func(t *testing.T) *scene {
		s := parts(t, 1, []string{"a"}, "b", "c")
		s.done(s.State.Drain(s.at(), "a"))
		return s
	}, `
		0 few: shard 0: making b a voter
		0 few: shard 0: making c a voter
		0 places: shard 1: adding b as a learner, replica 1026
		0 leaving: shard 1: making b a voter
		0 leaving: shard 1: handing the leadership from a to b
		0 leaving: shard 1: removing a, replica 1
		0 leaving: shard 0: handing the leadership from a to b
		0 leaving: host a becomes OFFLINE
		0 clear: shard 1: deleting replica 1 on a
		then: host-offline no-eligible-learner`},
	{"a voter is dead for too long", func(t *testing.T) *scene {
		s := parts(t, 3, []string{"a", "b", "c"}, "d", "e")
		s.dies("c", 10_000, 0)
		s.offline("c", 700_000)
		return s
	}, `
		0 dead: shard 0: removing c, replica 3
		0 few: shard 0: making d a voter
		0 places: shard 1: adding d as a learner, replica 1026
		0 dead: shard 1: removing c, replica 3
		0 few: shard 1: making d a voter
		then: host-offline too-few-voters`},
	{"a host farther away takes the place of one", func(t *testing.T) *scene {
		return parts(t, 3, []string{"a dc=x", "b dc=y", "c dc=y"}, "d dc=z")
	}, `
		0 domains: shard 0: making d a voter
		0 excess: shard 0: removing c, replica 3
		0 clear: shard 0: deleting replica 3 on c
		0 copies: shard 0: adding c as a learner, replica 1025
		0 spread: shard 1: adding d as a learner, replica 1026
		0 domains: shard 1: making d a voter
		0 excess: shard 1: removing c, replica 3
		0 clear: shard 1: deleting replica 3 on c`},
	{"one replica becomes three", func(t *testing.T) *scene {
		return parts(t, 3, []string{"a"}, "b", "c")
	}, `
		0 few: shard 0: making b a voter
		0 few: shard 0: making c a voter
		0 places: shard 1: adding b as a learner, replica 1026
		0 places: shard 1: adding c as a learner, replica 1027
		0 few: shard 1: making b a voter
		0 few: shard 1: making c a voter
		0 leaders: shard 1: handing the leadership from a to b`},
	{"a host of the weight 0 gives its replica away", func(t *testing.T) *scene {
		s := parts(t, 3, []string{"a", "b", "c"}, "d")
		s.done(s.State.Weigh(s.at(), "c", 0))
		return s
	}, `
		0 places: shard 1: adding d as a learner, replica 1025
		0 domains: shard 1: making d a voter
		0 excess: shard 1: removing c, replica 3
		0 clear: shard 1: deleting replica 3 on c`},
	{"the meta shard goes to the hosts of its tier", func(t *testing.T) *scene {
		s := parts(t, 3, []string{"a role=data", "b role=data", "c role=data"}, "d role=control", "e role=control",
			"f role=control")
		for _, name := range []string{"d", "e", "f"} {
			s.done(s.State.Weigh(s.at(), name, 0))
		}
		s.tier("role=control")
		return s
	}, `
		0 domains: shard 0: making d a voter
		0 excess: shard 0: removing c, replica 3
		0 clear: shard 0: deleting replica 3 on c
		0 copies: shard 0: adding c as a learner, replica 1027
		0 domains: shard 0: making e a voter
		0 excess: shard 0: removing b, replica 2
		0 clear: shard 0: deleting replica 2 on b
		0 copies: shard 0: adding b as a learner, replica 1028
		0 domains: shard 0: making f a voter
		0 excess: shard 0: handing the leadership from a to d
		0 excess: shard 0: removing a, replica 1
		0 clear: shard 0: deleting replica 1 on a
		0 copies: shard 0: adding a as a learner, replica 1029`},
	{"no host takes a further replica", func(t *testing.T) *scene {
		s := parts(t, 3, []string{"a", "b"}, "c")
		s.done(s.State.Cordon(s.at(), "c", true))
		return s
	}, `
		then: cordoned no-eligible-host too-few-voters`},
}

func TestPlaces(t *testing.T) {
	for _, x := range placeCases {
		t.Run(x.name, func(t *testing.T) {
			got := x.given(t).play()
			want := strings.Fields(x.want)
			if !slices.Equal(strings.Fields(strings.Join(got, " ")), want) {
				t.Errorf("got\n\t\t%s", strings.Join(got, "\n\t\t"))
			}
		})
	}
}

// tier puts a tier in force.
func (s *scene) tier(label string) {
	from := s.State.Policy()
	to := from
	to.Tier = label
	s.done(s.State.SetPolicy(s.at(), from, to))
}

// TestWhyNamesWhatHasNoPlace: the shard, its replica count, and why no host takes another replica.
func TestWhyNamesWhatHasNoPlace(t *testing.T) {
	s := parts(t, 3, []string{"a", "b", "c"}, "d", "e")
	s.done(s.State.Drain(s.at(), "c"))
	s.done(s.State.Cordon(s.at(), "d", true))
	s.Seen.host(s.id("e")).Full = true
	texts, _ := s.reasons()
	for _, want := range []string{
		"no-eligible-host: shard 1: 2 of 3 replicas, and no host takes another: c is not online, d is cordoned, " +
			"e has a nearly full disk",
		"no-eligible-learner: shard 1: c keeps its vote while it is away, as no learner can have it",
	} {
		if !slices.ContainsFunc(texts, func(text string) bool { return strings.HasPrefix(text, want) }) {
			t.Errorf("%q is not among\n%s", want, strings.Join(texts, "\n"))
		}
	}
}

// TestALostShardDoesNotHoldTheOthersBack: two hosts in nine die permanently. Each shard with a majority gets new
// replicas.
func TestALostShardDoesNotHoldTheOthersBack(t *testing.T) {
	l := newLarge(t, 9, 24, 1)
	l.rests("born", 0)
	l.machines[7].up, l.machines[8].up = false, false
	for range 1500 {
		l.round()
	}
	lost := 0
	for _, id := range l.shards()[1:] {
		e := l.engines[id]
		dead := 0
		for h := range e.voters() {
			if !l.up(h) {
				dead++
			}
		}
		if e.leader == 0 {
			lost++
		} else if dead > 0 || len(e.members) != 3 {
			t.Errorf("shard %d has %d dead voters, and %d members", id, dead, len(e.members))
		}
	}
	if lost == 0 {
		t.Error("no shard is lost: the test shows nothing")
	}
}

// TestRedundanciesNeedNoPlan: the wanted number of replicas comes from the policy.
func TestRedundanciesNeedNoPlan(t *testing.T) {
	s := parts(t, 1, []string{"a", "b", "c"})
	s.Plan = nil
	if list := Redundancies(s.View); list[0].Wanted != 3 || list[1].Wanted != 1 {
		t.Errorf("%+v", list)
	}
}

// TestNoLeadershipGoesWhereTheNodesAreUnknown: a host whose meta replica was removed, or is outdated, cannot attach
// sessions, although the host's last report is fresh. Without another host, this host leads nevertheless.
func TestNoLeadershipGoesWhereTheNodesAreUnknown(t *testing.T) {
	remove := func(s *scene, name string) {
		p := s.State.Shard(hosts.Meta).On(s.id(name))
		a := Action{Shard: hosts.Meta, Host: s.id(name), Replica: p.ID, Change: s.State.Shard(hosts.Meta).Change}
		model(s.at(), s.State, s.Seen, KindRemove, &a)
	}
	for name, c := range map[string]struct {
		change func(s *scene)
		want   string
	}{
		"all know them":  {func(*scene) {}, "a"},
		"one is without": {func(s *scene) { remove(s, "a") }, "c"},
		"one is without and one behind": {func(s *scene) {
			remove(s, "a")
			s.Seen.shard(hosts.Meta).replica(3).BehindFor = 5000
		}, "d"},
		"all are without": {func(s *scene) {
			for _, name := range []string{"a", "c", "d"} {
				remove(s, name)
			}
		}, "a"},
	} {
		s := newScene(t, "a", "b", "c", "d")
		c.change(s)
		if to := newGroup(s.View, s.State.Shard(1)).successor(2); to == nil || to.name() != c.want {
			t.Errorf("%s: %+v follows b, want %s", name, to, c.want)
		}
	}
}
