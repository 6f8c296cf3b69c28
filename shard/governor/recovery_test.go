package governor

import (
	"slices"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/plan"
)

// newLost is a scene of five hosts with shard 1 on a, b and c. Hosts b and c have been silent for a long time, and
// shard 1 has no leader; host a reports its replica's position.
func newLost(t *testing.T) *scene {
	t.Helper()
	s := newScene(t, "a", "b", "c", "d", "e")
	policy := s.State.Policy()
	policy.Replicas = 3
	s.done(s.State.SetPolicy(s.at(), s.State.Policy(), policy))
	s.done(s.State.Known(s.at(), 0, 1, 1, []hosts.Member{{Replica: 1, Role: hosts.RoleVoter},
		{Replica: 2, Role: hosts.RoleVoter}, {Replica: 3, Role: hosts.RoleVoter}}))
	for _, id := range []uint64{4, 5} {
		s.done(s.State.Cleared(s.at(), 1, id, s.State.Host(shard.HostID(id)).Incarnation))
	}
	s.dies("b", 60_000, 0)
	s.dies("c", 60_000, 0)
	seen := s.Seen.shard(1)
	*seen = ShardSeen{Shard: 1, Unled: []Unled{{ID: 1, Term: 4, Index: 100}}}
	return s
}

func (s *scene) against(empty bool, words string) {
	s.Helper()
	if n := Recover(s.View, 1, empty); !strings.Contains(n.Against, words) {
		s.Errorf("empty %t: %q is against it, and not %q", empty, n.Against, words)
	}
}

// TestTheSurvivorGoesOn: it continues alone, and the same request expels the lost hosts.
func TestTheSurvivorGoesOn(t *testing.T) {
	s := newLost(t)
	n := Recover(s.View, 1, false)
	if n.Against != "" || n.Host != 1 || n.Empty || !slices.Equal(n.Lost, []shard.HostID{2, 3}) {
		t.Fatalf("%+v", n)
	}
	s.done(s.State.Recover(s.at(), n, 10_000))
	s.against(false, "shard 1 has a majority: 1 of 1 voters")
}

// TestAShardIsNotRecoveredWhileAHostMayComeBack: as long as too little is known of silent hosts, or reachable hosts
// contradict the loss.
func TestAShardIsNotRecoveredWhileAHostMayComeBack(t *testing.T) {
	for words, change := range map[string]func(s *scene){
		"host c may return":             func(s *scene) { s.Seen.host(3).SilentFor = 4_900 },
		"host b may return":             func(s *scene) { s.Seen.host(2).Tried = false },
		"has a majority: 2 of 3 voters": func(s *scene) { s.Seen.host(2).SilentFor = 100 },
		"shard 1 has a majority: 2 of 3 voters": func(s *scene) {
			s.done(s.State.Expel(s.at(), "b", true, 1000))
			s.Seen.host(2).SilentFor = 100
		},
		"a has not reported the log position":         func(s *scene) { s.Seen.shard(1).Unled = nil },
		"a still has a replica with data for shard 1": nil,
	} {
		s := newLost(t)
		if change != nil {
			change(s)
		}
		s.against(change == nil, words)
	}
}

// TestOfSeveralSurvivorsTheLogThatReachesFarthestIsTaken: even a learner's; the term counts first, as in an election.
func TestOfSeveralSurvivorsTheLogThatReachesFarthestIsTaken(t *testing.T) {
	for _, test := range []struct {
		d, e Unled
		want shard.HostID
	}{
		{Unled{Term: 4, Index: 99}, Unled{Term: 4, Index: 101}, 5},
		{Unled{Term: 5, Index: 1}, Unled{Term: 4, Index: 101}, 4},
		{Unled{Term: 3, Index: 500}, Unled{Term: 4, Index: 100}, 1},
	} {
		s := newLost(t)
		members := []hosts.Member{{Replica: 1, Role: hosts.RoleVoter}, {Replica: 2, Role: hosts.RoleVoter},
			{Replica: 3, Role: hosts.RoleVoter}}
		for i, to := range []*Unled{&test.d, &test.e} {
			to.ID = s.State.NextReplica()
			s.done(s.State.Allocate(s.at(), 1, shard.HostID(4+i), to.ID, 1))
			members = append(members, hosts.Member{Replica: to.ID, Role: hosts.RoleLearner})
		}
		s.done(s.State.Known(s.at(), 0, 1, 2, members))
		s.Seen.shard(1).Unled = append(s.Seen.shard(1).Unled, test.d, test.e)
		if n := Recover(s.View, 1, false); n.Against != "" || n.Host != test.want {
			t.Errorf("%+v and %+v: %+v", test.d, test.e, n)
		}
	}
}

// TestARemovedReplicaHasNothing: a removed replica is neither a source for a group nor a reason to delay a recovery.
// The voter's removal was the group's last change before the majority died, and is not recorded.
func TestARemovedReplicaHasNothing(t *testing.T) {
	s := newLost(t)
	removed := s.State.NextReplica()
	s.done(s.State.Allocate(s.at(), 1, 4, removed, 1))
	s.done(s.State.Known(s.at(), 0, 1, 2, []hosts.Member{{Replica: 1, Role: hosts.RoleVoter},
		{Replica: 2, Role: hosts.RoleVoter}, {Replica: 3, Role: hosts.RoleVoter},
		{Replica: removed, Role: hosts.RoleVoter}}))
	s.against(false, "host d has not reported the log position")
	on := s.Seen.shard(1)
	on.Unled = append(on.Unled, Unled{ID: removed})
	if n := Recover(s.View, 1, false); n.Against != "" || n.Host != 1 {
		t.Errorf("%+v", n)
	}
	on.Unled = []Unled{{ID: 1}, {ID: removed}}
	s.against(false, "pass --accept-data-loss to rebuild the shard without content")
}

// TestALostLearnerMayHaveAVote: only the log may know of its promotion, so the group of one voter waits for the
// learner, and is rebuilt.
func TestALostLearnerMayHaveAVote(t *testing.T) {
	s := newLost(t)
	s.done(s.State.Recover(s.at(), Recover(s.View, 1, false), 10_000))
	initialMember, learner := s.State.Shard(1).InitialReplica().ID, s.State.NextReplica()
	s.done(s.State.Allocate(s.at(), 1, 4, learner, 9))
	s.done(s.State.Known(s.at(), 0, 1, 9, []hosts.Member{{Replica: initialMember, Role: hosts.RoleVoter},
		{Replica: learner, Role: hosts.RoleLearner}}))
	s.Seen.shard(1).Unled = []Unled{{ID: initialMember, Term: 1 << 33, Index: 7}}
	s.against(false, "shard 1 has a majority: 1 of 1 voters")
	s.dies("d", 60_000, 0)
	n := Recover(s.View, 1, false)
	if n.Against != "" || n.Host != 1 || !slices.Equal(n.Lost, []shard.HostID{4}) {
		t.Fatalf("%+v", n)
	}
	s.done(s.State.Recover(s.at(), n, 10_000))
	if on := s.State.Shard(1); on.Group != 2 {
		t.Errorf("group %d", on.Group)
	}
}

// TestWithoutASurvivorAShardBeginsEmpty: only on the operator's explicit request, at a host that accepts replicas.
func TestWithoutASurvivorAShardBeginsEmpty(t *testing.T) {
	s := newLost(t)
	s.dies("a", 60_000, 0)
	s.Seen.Self = 4
	s.Seen.shard(1).Unled = nil
	s.against(false, "pass --accept-data-loss to rebuild the shard without content")
	n := Recover(s.View, 1, true)
	if n.Against != "" || n.Host != 4 || !n.Empty || !slices.Equal(n.Lost, []shard.HostID{1, 2, 3}) {
		t.Fatalf("%+v", n)
	}
	s.done(s.State.Recover(s.at(), n, 10_000))
}

// TestWhatIsLeftOfTheGroupBeforeIsKeptUntilTheNewGroupHasBegun: the survivor's replica is the source of the new group.
func TestWhatIsLeftOfTheGroupBeforeIsKeptUntilTheNewGroupHasBegun(t *testing.T) {
	s := newLost(t)
	s.done(s.State.Recover(s.at(), Recover(s.View, 1, false), 10_000))
	clears := func() (list []uint64) {
		f := ruleClear(s.View)
		for _, step := range f.Steps {
			list = append(list, step.Payload.Replica)
		}
		return list
	}
	if list := clears(); list != nil {
		t.Errorf("replicas %v are deleted", list)
	}
	initialMember := s.State.Shard(1).InitialReplica().ID
	s.done(s.State.Known(s.at(), 0, 1, 9, []hosts.Member{{Replica: initialMember, Role: hosts.RoleVoter}}))
	if list := clears(); !slices.Equal(list, []uint64{1}) {
		t.Errorf("replicas %v are deleted once the group has begun", list)
	}
}

// TestWhySaysWhichHostsAShardHasLost: with the possible actions once the hosts count as lost.
func TestWhySaysWhichHostsAShardHasLost(t *testing.T) {
	s := newLost(t)
	text := func() string {
		for _, r := range ruleDead(s.View).Reasons {
			if r.Code == CodeQuorum && slices.Contains(r.Subjects, plan.Subject("shard/1")) {
				return r.Text
			}
		}
		return ""
	}
	if got := text(); !strings.Contains(got, "1 of 3 voters are alive, without b, c") ||
		!strings.Contains(got, "signalbox shard recover 1") {
		t.Errorf("why: %q", got)
	}
	s.Seen.host(2).SilentFor = 3_000
	if got := text(); !strings.Contains(got, "without b, c") || strings.Contains(got, "recover") {
		t.Errorf("why, while a host may come back: %q", got)
	}
}
