package governor

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/plan"
	"github.com/signalbox/signalbox/shard/slots"
)

// serving adds shards that serve at once, with up-to-date voters on the given hosts.
func (s *scene) serving(count int, on ...shard.HostID) {
	s.Helper()
	for range count {
		s.done(s.State.AddShards(s.at(), on[:1]))
		id := s.State.LastShard()
		members := []hosts.Member{{Replica: s.State.Shard(id).Replicas[0].ID, Role: hosts.RoleVoter}}
		for _, h := range on[1:] {
			r := s.State.NextReplica()
			s.done(s.State.Allocate(s.at(), id, h, r, 1))
			members = append(members, hosts.Member{Replica: r, Role: hosts.RoleVoter})
		}
		seen := ShardSeen{Shard: id, Leader: on[int(id)%len(on)], LedFor: 100_000, Change: 1}
		for _, m := range members {
			seen.Replicas = append(seen.Replicas, ReplicaSeen{ID: m.Replica, Index: 100})
		}
		s.done(s.State.Known(s.at(), 0, id, 1, members))
		s.Seen.Shards = append(s.Seen.Shards, seen)
		s.done(s.State.MarkServing(s.at(), 0, id))
	}
}

// balanced lets slots move until none is to move, and returns how many have moved. Up to four steps are open at once.
func (s *scene) balanced() (moves int) {
	s.Helper()
	for {
		for {
			d := Planner().Next(s.View)
			if d.Step == nil || d.Step.Kind != KindMoveSlot {
				break
			}
			if _, out := Begin(s.at(), s.State, s.Plan, 0, d.Revision, *d.Step); out != plan.Applied {
				s.Fatalf("%v: %v", d.Step, out)
			}
		}
		open := s.Plan.Steps()
		if len(open) == 0 {
			return moves
		}
		if len(open) > maxMoves {
			s.Fatalf("%d slots move at once", len(open))
		}
		for _, step := range slices.Clone(open) {
			a := &step.Payload
			s.done(s.State.AssignSlot(s.at(), a.Slot, slots.Owner{Shard: uint64(a.Into), Generation: a.Number}, ""))
			s.Plan.Done(plan.Moment{Now: s.Now}, step.Act(0))
			moves++
		}
	}
}

// TestBalanceMovesTheLeast: two shards are added, one gets a lower weight, and one is removed again. Each time exactly
// the planned slots move, and few ranges are left.
func TestBalanceMovesTheLeast(t *testing.T) {
	s := newScene(t, "a", "b", "c")
	s.serving(2, 1, 2, 3)
	s.done(s.State.WeighShard(s.at(), 2, 10))
	s.done(s.State.WeighShard(s.at(), 3, 20))
	for _, x := range []struct {
		name          string
		change        func() hosts.Answer
		least, ranges int
		want          map[hosts.ShardID]int
	}{
		{"add two", func() hosts.Answer { return hosts.Answer{} }, 945, 4,
			map[hosts.ShardID]int{1: 3151, 2: 315, 3: 630}},
		{"lower the weight of one", func() hosts.Answer { return s.State.WeighShard(s.at(), 1, 90) }, 79, 4,
			map[hosts.ShardID]int{1: 3072, 2: 341, 3: 683}},
		{"remove one", func() hosts.Answer { return s.State.RemoveShards(s.at(), []hosts.ShardID{2}) }, 341, 4,
			map[hosts.ShardID]int{1: 3351, 3: 745}},
	} {
		s.done(x.change())
		planned := 0
		for _, p := range Planned(s.State) {
			planned += p.Slots
		}
		if moves := s.balanced(); moves != x.least || planned != x.least {
			t.Errorf("%s: %d slots have moved, %d were planned, want %d", x.name, moves, planned, x.least)
		}
		if counts := s.State.Counts(); !maps.Equal(counts, x.want) || s.State.Rebalance().Due {
			t.Errorf("%s: the shards have %v slots, want %v", x.name, counts, x.want)
		}
		n := 0
		s.State.Slots().Ranges(func(first, _ shard.Slot, o slots.Owner) {
			if first == 0 || uint64(s.State.SlotOwner(first-1)) != o.Shard {
				n++
			}
		})
		if n > x.ranges {
			t.Errorf("%s: %d ranges", x.name, n)
		}
	}
}

func TestPlannedMovesGoFromLargestSurplusToLargestDeficit(t *testing.T) {
	s := newSceneOf(t, []hosts.ShardID{1, 2}, "a", "b", "c")
	if got := Planned(s.State); got != nil {
		t.Errorf("without a change: %v", got)
	}
	s.serving(2, 1, 2, 3)
	want := []host.PlannedMoves{{From: 1, To: 3, Slots: 1024}, {From: 2, To: 4, Slots: 1024}}
	if got := Planned(s.State); !slices.Equal(got, want) {
		t.Errorf("the plan is %v, want %v", got, want)
	}
}

// TestSlotsStayWhile: each reason against a move by the weights.
func TestSlotsStayWhile(t *testing.T) {
	for want, change := range map[string]func(s *scene){
		"shard 2: no slot moves into it: 81 % of a quota are used": func(s *scene) { s.Seen.shard(2).Quota = 81 },
		"shard 1: no slot moves while commits take 16 ms (before the moves: 8.0 ms)": func(s *scene) {
			s.Seen.shard(1).Commit, s.Seen.shard(1).Usual = 16_000, 8_000
		},
		"shard 2: the next slot moves after a rest; until in 40 ms": func(s *scene) { s.Seen.shard(2).Rest = 40 },
		"host c is to be online and is not":                         func(s *scene) { s.Seen.host(3).SilentFor = 3000 },
		"no slot begins to move before the backup by a client is saved": func(s *scene) {
			s.done(s.State.HoldMoves(s.at(), 1, s.State.Host(1).Incarnation))
		},
		"rebalancing is paused by an operator": func(s *scene) {
			s.done(s.State.SetRebalance(s.at(), protocol.RebalancePause))
		},
	} {
		s := newScene(t, "a", "b", "c")
		s.serving(1, 1, 2, 3)
		change(s)
		texts, step := s.reasons()
		if all := strings.Join(texts, "\n"); step != nil || !strings.Contains(all, want) ||
			!strings.Contains(all, "slots are still to move") && !strings.Contains(all, "slots are to move") {
			t.Errorf("the step is %v, the reasons are\n%s\nwant %q", step, all, want)
		}
	}
}

// TestNowIgnoresPacingOnly: neither commit times nor rests, but quotas.
func TestNowIgnoresPacingOnly(t *testing.T) {
	s := newScene(t, "a", "b", "c")
	s.serving(1, 1, 2, 3)
	s.done(s.State.SetRebalance(s.at(), protocol.RebalanceNow))
	s.Seen.shard(1).Commit, s.Seen.shard(2).Rest = 90_000, 500
	if _, step := s.reasons(); step == nil || step.Kind != KindMoveSlot {
		t.Errorf("the step is %v", step)
	}
	s.Seen.shard(2).Quota = 90
	if _, step := s.reasons(); step != nil {
		t.Errorf("the step is %v", step)
	}
	s.Seen.shard(2).Quota = 0
	s.balanced()
	if s.State.Rebalance().Now {
		t.Error("pacing is ignored after the moves")
	}
}

// TestSlotOfLeavingShardMayBeLarge: after one failed attempt, and one such slot at a time.
func TestSlotOfLeavingShardMayBeLarge(t *testing.T) {
	s := newScene(t, "a", "b", "c")
	s.serving(3, 1, 2, 3)
	s.balanced()
	s.done(s.State.RemoveShards(s.at(), []hosts.ShardID{2, 3}))
	for range 2 {
		d := Planner().Next(s.View)
		if d.Step == nil || d.Step.Payload.Large {
			t.Fatalf("the first attempt is %v", d.Step)
		}
		a := d.Step.Payload
		s.State.BeginMove(s.at(), a.Slot, a.Into)
		kept := slots.Owner{Shard: uint64(a.Shard), Generation: a.Number + 1}
		s.done(s.State.AssignSlot(s.at(), a.Slot, kept, "9 MiB"))
	}
	large := 0
	for range s.State.Counts()[2] + s.State.Counts()[3] {
		d := Planner().Next(s.View)
		if d.Step == nil || d.Step.Kind != KindMoveSlot {
			break
		}
		_, out := Begin(s.at(), s.State, s.Plan, 0, d.Revision, *d.Step)
		if out != plan.Applied {
			t.Fatalf("%v: %v", d.Step, out)
		}
		a := &d.Step.Payload
		large += rank(a.Large)
		s.done(s.State.AssignSlot(s.at(), a.Slot, slots.Owner{Shard: uint64(a.Into), Generation: a.Number}, ""))
		step := s.Plan.Steps()[0]
		s.Plan.Done(plan.Moment{Now: s.Now}, step.Act(0))
	}
	if counts := s.State.Counts(); large != 2 || counts[2] != 0 || counts[3] != 0 {
		t.Errorf("%d large slots have moved, and the shards have %v slots", large, counts)
	}
	one := proposal(KindMoveSlot, Action{Shard: 1, Into: 2, Slot: 1, Large: true})
	other := proposal(KindMoveSlot, Action{Shard: 3, Into: 4, Slot: 2, Large: true})
	if !slices.ContainsFunc(one.With, func(x plan.Subject) bool { return slices.Contains(other.With, x) }) {
		t.Error("two large slots may move at once")
	}
}

// TestAddedShardServesWithAllItsVoters: its life from the first replica on, with the reasons on the way.
func TestAddedShardServesWithAllItsVoters(t *testing.T) {
	s := newScene(t, "a", "b", "c")
	on, against := Choose(s.View, 1)
	if against != "" || len(on) != 1 {
		t.Fatalf("the hosts are %v: %s", on, against)
	}
	s.done(s.State.AddShards(s.at(), on))
	s.Seen.Shards = append(s.Seen.Shards, ShardSeen{Shard: 2})
	says := func(want string) {
		t.Helper()
		if texts, _ := s.reasons(); !strings.Contains(strings.Join(texts, "\n"), want) {
			t.Errorf("want %q in\n%s", want, strings.Join(texts, "\n"))
		}
	}
	says("shard 2 has weight 0: 0 of 3 voters are live and up to date; the first replica has not begun")
	first := s.State.Shard(2).Replicas[0].ID
	s.done(s.State.Known(s.at(), 0, 2, 1, []hosts.Member{{Replica: first, Role: hosts.RoleVoter}}))
	*s.Seen.shard(2) = ShardSeen{Shard: 2, Leader: on[0], Change: 1, LedFor: 20_000,
		Replicas: []ReplicaSeen{{ID: first}}}
	steps := s.play()
	serves := func(text string) bool { return strings.Contains(text, "shard 2 has its voters") }
	if slices.IndexFunc(steps, serves) != 4 {
		t.Errorf("the steps are\n%s", strings.Join(steps[:min(len(steps), 8)], "\n"))
	}
	id := s.State.NextReplica()
	for _, h := range []shard.HostID{1, 2, 3} {
		if h != on[0] {
			a := Action{Shard: 2, Host: h, Replica: s.State.NextReplica(), Change: s.State.Shard(2).Change}
			model(s.at(), s.State, s.Seen, KindAdd, &a)
		}
	}
	s.Seen.shard(2).replica(id).Percent, s.Seen.shard(2).replica(id).BehindFor = 40, 9000
	says("shard 2 has weight 0: 1 of 3 voters are live and up to date; ")
	says("waits for its snapshot, 40 %")
}

func TestAddedShardBeginsAnewWhereItsHostIsAway(t *testing.T) {
	s := newScene(t, "a", "b", "c")
	s.done(s.State.AddShards(s.at(), []shard.HostID{3}))
	s.Seen.Shards = append(s.Seen.Shards, ShardSeen{Shard: 2})
	s.dies("c", 9000, 2)
	if _, step := s.reasons(); step != nil && step.Kind == KindRestart {
		t.Errorf("the host may come back: %v", step)
	}
	s.offline("c", 1000)
	_, step := s.reasons()
	if step == nil || step.Kind != KindRestart || step.Payload.Host == 3 {
		t.Fatalf("the step is %v", step)
	}
	s.done(s.State.BeginAgain(s.at(), 0, 2, 1, step.Payload.Host))
	if texts, step := s.reasons(); step != nil && step.Kind == KindRestart {
		t.Errorf("it begins anew for ever: %v %v", step, texts)
	}
}

func TestShardIsDeletedOnceItOwnsNothing(t *testing.T) {
	s := newScene(t, "a", "b", "c")
	s.serving(1, 1, 2, 3)
	s.done(s.State.RemoveShards(s.at(), []hosts.ShardID{2}))
	texts, step := s.reasons()
	if step != nil || !strings.Contains(strings.Join(texts, "\n"), "has no session") {
		t.Errorf("the step is %v, the reasons are %v", step, texts)
	}
	s.Seen.shard(2).Idle = true
	if _, step = s.reasons(); step == nil || step.Kind != KindRetire {
		t.Fatalf("the step is %v", step)
	}
	got := s.play()
	want := []string{"0 shards: shard 2 owns nothing and is deleted"}
	for i, p := range s.State.Shard(2).Replicas {
		want = append(want, fmt.Sprintf("0 clear: shard 2: deleting replica %d on %c", p.ID, 'a'+i))
	}
	if !slices.Equal(got, want) {
		t.Errorf("the steps are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestHostsOfAddedShards: the fewest replicas by weight, then the fewest leaderships.
func TestHostsOfAddedShards(t *testing.T) {
	s := newSceneOf(t, []hosts.ShardID{1, 2, 3}, "a", "b", "c")
	for i, leader := range []shard.HostID{1, 2, 2, 3} {
		s.Seen.Shards[i].Leader = leader
	}
	if on, against := Choose(s.View, 4); !slices.Equal(on, []shard.HostID{1, 3, 1, 2}) {
		t.Errorf("the hosts are %v: %s", on, against)
	}
	s.done(s.State.Cordon(s.at(), "a", true))
	s.Seen.host(2).Full = true
	s.dies("c", 9000, 2)
	if on, against := Choose(s.View, 1); on != nil || against !=
		"no host can take a shard now: a is cordoned, b has a nearly full disk, c is not heard" {
		t.Errorf("the hosts are %v: %s", on, against)
	}
}
