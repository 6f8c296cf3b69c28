package governor

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/plan"
)

// full is an action with every field.
func full() Action {
	return Action{Shard: 3, Replica: 1030, Host: 4, From: 5, Change: 77, Variant: protocol.HostOffline, Epoch: 9,
		Reason: hosts.ReasonStuck, Text: "why", Into: 4, Slot: 1669, Number: 5, Large: true}
}

func TestActionsAreReadAsTheyWereWritten(t *testing.T) {
	a := full()
	for v, i := reflect.ValueOf(a), 0; i < v.NumField(); i++ {
		if v.Field(i).IsZero() {
			t.Errorf("the field %s is not shown", v.Type().Field(i).Name)
		}
	}
	for _, want := range []Action{a, {}} {
		if got, err := readAction(appendAction(nil, want)); err != nil || got != want {
			t.Errorf("%+v is read as %+v: %v", want, got, err)
		}
	}
}

func FuzzReadAction(f *testing.F) {
	f.Add(appendAction(nil, full()))
	f.Add(appendAction(nil, Action{}))
	f.Fuzz(func(t *testing.T, src []byte) {
		if a, err := readAction(src); err == nil && !bytes.Equal(appendAction(nil, a), src) {
			t.Errorf("%x is written as %x", src, appendAction(nil, a))
		}
	})
}

// TestBeginPutsOnRecordWhatAStepTakesUp: a replica id, or a leadership transfer; neither if the plan rejects the step.
func TestBeginPutsOnRecordWhatAStepTakesUp(t *testing.T) {
	s := newScene(t, "a", "b")
	s.join("d", "", "")
	add := proposal(KindAdd, Action{Shard: 1, Host: 3, Replica: s.State.NextReplica()})
	at := s.at()
	for _, x := range []struct {
		what           string
		term, revision uint64
		pr             plan.Proposal[Action]
		want           plan.Outcome
	}{
		{"of another term", 4, 0, add, plan.OtherTerm},
		{"of another revision", 0, 9, add, plan.Replanned},
		{"an id that was not next", 0, 0, proposal(KindAdd, Action{Shard: 1, Host: 3, Replica: 2000}), plan.Unfit},
		{"an unknown shard", 0, 0, proposal(KindClear, Action{Shard: 9}), plan.Unfit},
		{"an unknown kind", 0, 0, proposal(99, Action{}), plan.Unfit},
		{"what was decided", 0, 0, add, plan.Applied},
		{"another one of the shard", 0, 1, proposal(KindTransfer, Action{Shard: 1, From: 2, Host: 1}), plan.Occupied},
		{"of another shard", 0, 1, proposal(KindTransfer, Action{Shard: 0, From: 1, Host: 2}), plan.Applied},
	} {
		next := s.State.NextReplica()
		id, out := Begin(at, s.State, s.Plan, x.term, x.revision, x.pr)
		if out != x.want || (id != 0) != (out == plan.Applied) {
			t.Errorf("%s: %s", x.what, out)
		}
		if given := s.State.NextReplica() > next; given != (out == plan.Applied && x.pr.Kind == KindAdd) {
			t.Errorf("%s: an id was given: %t", x.what, given)
		}
	}
	if p := s.State.Shard(1).On(3); p == nil || p.ID != hosts.FirstReplica || p.Role != hosts.RoleNone {
		t.Errorf("the replica is %+v", p)
	}
	if s.State.Shard(0).Transferred == 0 || s.State.Shard(1).Transferred != 0 {
		t.Error("the moment of a transfer is not that of the one that was begun")
	}
}

// TestARuleProposesOnlyWhatIsAllowed: every step proposed by the planner passes the executor's check.
func TestARuleProposesOnlyWhatIsAllowed(t *testing.T) {
	for _, c := range cases {
		s := c.given(t)
		d := Planner().Next(s.View)
		if d.Step == nil {
			continue
		}
		id, out := Begin(s.at(), s.State, s.Plan, 0, d.Revision, *d.Step)
		if out != plan.Applied {
			t.Errorf("%s: %s", c.name, out)
			continue
		}
		if advice, _ := Planner().Assess(s.View, id); advice != plan.Perform {
			t.Errorf("%s: the judge says %d of %s", c.name, advice, describe(s.View, d.Step))
		}
	}
}

// TestWhatIsJudgedRightBeforeAnAct: a step without a reason is dropped, and a step that waits for a report is kept.
func TestWhatIsJudgedRightBeforeAnAct(t *testing.T) {
	for name, x := range map[string]struct {
		change func(s *scene)
		want   plan.Advice
	}{
		"all as it was":           {func(*scene) {}, plan.Perform},
		"no report":               {func(s *scene) { s.Seen.Shards[1].Age = reportMillis }, plan.Wait},
		"its change was made":     {func(s *scene) { s.Seen.Shards[1].Change++ }, plan.Wait},
		"no leader":               {func(s *scene) { s.Seen.Shards[1].Leader = 0 }, plan.Drop},
		"another voter has died":  {func(s *scene) { s.dies("a", 2000, 0) }, plan.Drop},
		"the one to go leads now": {func(s *scene) { s.Seen.Shards[1].Leader = 3 }, plan.Drop},
		"it is no member": {func(s *scene) {
			s.State.Known(s.at(), 0, 1, 1, []hosts.Member{{Replica: 1, Role: hosts.RoleVoter},
				{Replica: 2, Role: hosts.RoleVoter}})
			s.Seen.Shards[1].Change = 1
		}, plan.Finish},
	} {
		s := newScene(t, "a", "b", "c")
		s.Seen.Self = 2
		s.dies("c", 9000, 0)
		id, _ := Begin(s.at(), s.State, s.Plan, 0, 0, proposal(KindRemove, Action{Shard: 1, Replica: 3, Host: 3}))
		x.change(s)
		if advice, _ := Planner().Assess(s.View, id); advice != x.want {
			t.Errorf("%s: %d, not %d", name, advice, x.want)
		}
	}
}
