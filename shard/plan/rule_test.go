package plan

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// newView is a view on a world at rest: no host is drained.
func newView() view {
	return view{State: wishes{map[host]bool{}}, Seen: newFacts(), Plan: New(newConfig()), Now: 1000}
}

// codes returns the reasons' rules and codes.
func codes(reasons []Reason) string {
	var list []string
	for _, r := range reasons {
		list = append(list, r.Rule+":"+string(r.Code))
	}
	return strings.Join(list, " ")
}

func TestAWorldAtRestNeedsNoStepAndNoReason(t *testing.T) {
	if d := newPlanner().Next(newView()); d.Step != nil || d.Reasons != nil || d.Wake != 0 {
		t.Errorf("%+v", d)
	}
}

func TestTheFirstRuleThatHasAStepDecides(t *testing.T) {
	v := newView()
	v.State.drained[0] = true
	v.Seen.groups[2].learners[5] = true
	d := newPlanner().Next(v)
	if d.Rule != "excess" || d.Step.Kind != kindRemove || d.Step.Payload != (move{2, 5, -1}) {
		t.Errorf("%s: %+v", d.Rule, d.Step)
	}
	delete(v.Seen.groups[2].learners, 5)
	if d := newPlanner().Next(v); d.Rule != "drain" || d.Step.Payload != (move{0, 0, 5}) {
		t.Errorf("%s: %+v", d.Rule, d.Step)
	}
}

func TestASubjectThatWaitsDoesNotHoldUpTheOthers(t *testing.T) {
	v, pl := newView(), newPlanner()
	v.State.drained[2] = true // voter in all three groups
	d := pl.Next(v)
	v.Plan.Begin(at(1000, 5), 5, d.Revision, *d.Step)
	v.Plan.Fail(at(1000, 5), v.Plan.Step(1).Act(5), "host 5 does not answer")
	d = pl.Next(v)
	if d.Step == nil || d.Step.Payload.group != 1 || codes(d.Reasons) != "drain:backoff" || d.Wake != 1101 {
		t.Fatalf("%+v", d)
	}
	r := d.Reasons[0]
	if r.Since != 1000 || r.Until != 1101 || r.Subjects[0] != subjectOf(0) ||
		r.Text != "move of group/0 waits 101 ms after failure 1: host 5 does not answer" {
		t.Errorf("the reason: %+v", r)
	}
	v.Now = 1101
	if d := pl.Next(v); d.Step.Payload.group != 0 || d.Wake != 0 {
		t.Errorf("when its time has come: %+v", d)
	}
}

func TestADecisionWakesAtTheFirstMomentThatMayChangeIt(t *testing.T) {
	v, pl := newView(), newPlanner()
	wait := func(view) finding {
		return finding{Reasons: []Reason{{Code: "a", Until: 900}, {Code: "b", Until: 3000}, {Code: "c", Until: 2000}}}
	}
	pl.Rules = []Rule[wishes, facts, move]{{"wait", wait}}
	if d := pl.Next(v); d.Wake != 2000 {
		t.Errorf("it wakes at %d", d.Wake)
	}
}

func TestWhyNothingMovesIsSaidWithNamesAndTimes(t *testing.T) {
	v, pl := newView(), newPlanner()
	less := newConfig()
	less.Open = 1
	v.Plan.cfg = less
	v.State.drained[1] = true // voter in groups 0 and 1
	d := pl.Next(v)
	v.Plan.Begin(at(1000, 5), 5, d.Revision, *d.Step)
	v.Seen.down[5] = true // so that the second would move elsewhere
	d = pl.Next(v)
	want := ":step-open drain:occupied"
	if d.Step != nil || codes(d.Reasons) != want {
		t.Fatalf("while a step is open: %+v", d)
	}
	if text := d.Reasons[0].Text; text != "step 1, move of group/0, is in phase 0" {
		t.Errorf("the open step: %s", text)
	}
	if text := d.Reasons[1].Text; text != "move of group/1 waits for one of 1 open steps to end" {
		t.Errorf("what it keeps from beginning: %s", text)
	}
	v.Plan.Retry(at(1010, 5), v.Plan.Step(1).Act(5), "no answer")
	v.Now = 1010
	if d = pl.Next(v); d.Reasons[0].Code != CodeWaiting || d.Wake != 1111 {
		t.Errorf("while it waits: %+v", d)
	}
	v.Now = 1111
	if d = pl.Next(v); d.Reasons[0].Code != CodeOpen || d.Wake != 0 {
		t.Errorf("when it may go on: %+v", d)
	}
	for h := range host(hosts) {
		v.State.drained[h] = true
	}
	v.Plan.Cancel(1010, 1, "by hand", 0)
	d = pl.Next(v)
	if codes(d.Reasons) != "drain:no-host drain:no-host drain:no-host" || d.Wake != 0 {
		t.Errorf("without a free host: %+v", d)
	}
}

func TestAStepWaitsForTheOneThatHasItsOtherSubject(t *testing.T) {
	v, pl := newView(), newPlanner()
	v.State.drained[2] = true
	d := pl.Next(v)
	d.Step.With = append(d.Step.With, "host/4", "host/0", "host/5")
	v.Plan.Begin(at(1000, 5), 5, d.Revision, *d.Step)
	d = pl.Next(v)
	if want := ":step-open drain:occupied drain:occupied"; d.Step != nil || codes(d.Reasons) != want {
		t.Fatalf("%+v", d)
	}
	if r := d.Reasons[1]; r.Text != "move of group/1 waits for step 1, move of group/0" || r.Since != 1000 {
		t.Errorf("the reason: %+v", r)
	}
}

func TestARuleMayHoldAllThatComeAfterIt(t *testing.T) {
	v, pl := newView(), newPlanner()
	v.State.drained[0] = true
	pause := Rule[wishes, facts, move]{Name: "pause", Find: func(view) finding {
		return finding{Hold: true, Reasons: []Reason{{Code: "paused", Text: "by hand"}}}
	}}
	pl.Rules = slices.Insert(pl.Rules, 1, pause)
	if d := pl.Next(v); d.Step != nil || codes(d.Reasons) != "pause:paused" {
		t.Errorf("%+v", d)
	}
	v.Seen.groups[0].learners[5] = true
	if d := pl.Next(v); d.Rule != "excess" {
		t.Errorf("a rule before it: %+v", d)
	}
}

func TestWhatNoPlanTakesIsAReason(t *testing.T) {
	v, pl := newView(), newPlanner()
	long, late := removal(0, 0), removal(1, 0)
	long.Subject = Subject(strings.Repeat("s", MaxSubject+1))
	late.Supersedes = 3
	pl.Rules = []Rule[wishes, facts, move]{{"wrong", func(view) finding {
		return finding{Steps: []Proposal[move]{long, late}}
	}}}
	d := pl.Next(v)
	if want := "wrong:beyond-limits wrong:beyond-limits"; d.Step != nil || codes(d.Reasons) != want {
		t.Errorf("%+v", d)
	}
}

func TestADryRunShowsEveryStepAndChangesNothing(t *testing.T) {
	v, pl := newView(), newPlanner()
	v.State.drained[2] = true
	d := pl.Next(v)
	v.Plan.Begin(at(1000, 5), 5, d.Revision, *d.Step)
	v.Plan.Progress(at(1000, 5), v.Plan.Step(1).Act(5), 1)
	v.Seen.down[5] = true // so that the second would move elsewhere
	id, _ := v.Plan.Begin(at(1000, 5), 5, v.Plan.Revision(), pl.Next(v).firstOf(t))
	v.Plan.Fail(at(1000, 5), v.Plan.Step(id).Act(5), "no answer")
	v.Now = 1001
	before, seen := v.Plan.Append(nil), v.Seen.clone()
	f := pl.DryRun(v, 20)
	if !reflect.DeepEqual(before, v.Plan.Append(nil)) || !reflect.DeepEqual(seen, v.Seen) {
		t.Error("the dry run has changed something")
	}
	var groups []int
	var times []uint64
	for _, s := range f.Steps {
		groups, times = append(groups, s.Payload.group), append(times, s.At)
	}
	if !slices.Equal(groups, []int{0, 2, 1}) || !slices.Equal(times, []uint64{1001, 1001, 1101}) || f.Cut ||
		f.Reasons != nil {
		t.Errorf("groups %v at %v, cut %v, %v", groups, times, f.Cut, f.Reasons)
	}
	if f.Steps[0].ID != 1 || f.Steps[0].Rule != "" || f.Steps[1].ID != 0 || f.Steps[1].Rule != "drain" {
		t.Errorf("%+v", f.Steps)
	}
	if f := pl.DryRun(v, 2); !f.Cut || len(f.Steps) != 2 || len(f.Reasons) == 0 {
		t.Errorf("cut after two: %+v", f)
	}
}

// firstOf returns the step in a decision that must have a step.
func (d Decision[P]) firstOf(t *testing.T) Proposal[P] {
	t.Helper()
	if d.Step == nil {
		t.Fatalf("no step: %v", d.Reasons)
	}
	return *d.Step
}

func TestADryRunEndsWithWhyNothingMoves(t *testing.T) {
	v, pl := newView(), newPlanner()
	for h := host(2); h < hosts; h++ {
		v.State.drained[h] = true
	}
	f := pl.DryRun(v, 50)
	if f.Cut || len(f.Steps) == 0 || len(f.Reasons) == 0 || f.Reasons[0].Code != "no-host" {
		t.Errorf("%+v", f)
	}
}

func TestAnExecutorReportsOnlyWhatCanBeSeen(t *testing.T) {
	v, pl := newView(), newPlanner()
	v.State.drained[0] = true
	advice := func(what string, want Advice, phase Phase) {
		t.Helper()
		if got, to := pl.Assess(v, 1); got != want || to != phase {
			t.Errorf("%s: %d to phase %d, not %d to phase %d", what, got, to, want, phase)
		}
	}
	advice("before it is begun", Leave, 0)
	v.Plan.Begin(at(1000, 5), 5, 0, *pl.Next(v).Step)
	step := v.Plan.Step(1)
	advice("begun", Perform, 0)
	m := &v.Seen.groups[0]
	m.learners[5] = true
	advice("the learner is there", Report, 1)
	v.Plan.Progress(at(1000, 5), step.Act(5), 1)
	v.Plan.Retry(at(1000, 5), step.Act(5), "no answer")
	v.Now = 1100
	advice("it waits", Wait, 1)
	v.Now = 1101
	advice("its delay is over", Perform, 1)
	delete(m.learners, 5)
	advice("what was reached is gone", Perform, 1)
	v.Now = 1100
	m.apply(change{0, 1, promote, 5})
	advice("what an attempt that failed has done after all is seen", Report, 2)
	delete(m.voters, 0)
	advice("all is done, though no one has reported a phase", Finish, 1)
	v.Plan.Done(at(1000, 5), step.Act(5))
	advice("it is over", Leave, 0)
}

func TestAKindThatThePlannerDoesNotHaveStopsTheProgram(t *testing.T) {
	v, pl := newView(), newPlanner()
	pl.Types = pl.Types[:1]
	v.Plan.Begin(at(1000, 5), 5, 0, removal(0, 0))
	defer func() {
		if recover() == nil {
			t.Error("it goes on")
		}
	}()
	pl.Next(v)
}
