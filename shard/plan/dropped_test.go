package plan

import (
	"slices"
	"testing"
)

// TestAStepThatIsDroppedIsNoFailure: a dropped step ends, only in the leader's term, without a failure for its subject.
func TestAStepThatIsDroppedIsNoFailure(t *testing.T) {
	p, s := begun(t, 1)
	expect(t, "by another term", p.Drop(at(1001, 6), s.Act(5)), OtherTerm)
	old := s.Act(5)
	p.Retry(at(1001, 5), s.Act(5), "no answer")
	expect(t, "as it was before", p.Drop(at(1002, 5), old), Moved)
	expect(t, "drop", p.Drop(at(1002, 5), p.Step(1).Act(5)), Applied)
	if b := p.Backoff(subjectOf(1)); len(p.Steps()) != 0 || b == nil || b.Failures != 1 {
		t.Errorf("%d steps are open, and the subject has %+v", len(p.Steps()), b)
	}
	s = begin(t, p, at(5000, 5), 2)
	expect(t, "drop", p.Drop(at(5000, 5), s.Act(5)), Applied)
	if b := p.Backoff(subjectOf(2)); b != nil {
		t.Errorf("a subject without failures has %+v", b)
	}
}

// TestAJudgeIsAskedBeforeAnAct: a dropped step does not wait for its time; a completed step is still finished.
func TestAJudgeIsAskedBeforeAnAct(t *testing.T) {
	pl := newPlanner()
	advice := Perform
	pl.Types[0].Judge = func(view, *Step[move]) Advice { return advice }
	p := New(newConfig())
	v := view{Seen: newFacts(), Plan: p, Now: 1000}
	pr := Proposal[move]{Kind: kindMove, Subject: subjectOf(1), Payload: move{group: 1, from: 1, to: 5}}
	_, out := p.Begin(Moment{Now: 1000}, 0, 0, pr)
	expect(t, "begin", out, Applied)
	for _, x := range []struct {
		judge     Advice
		notBefore uint64
		want      Advice
	}{{Perform, 0, Perform}, {Wait, 0, Wait}, {Drop, 0, Drop}, {Perform, 2000, Wait}, {Drop, 2000, Drop}} {
		advice, p.steps[0].NotBefore = x.judge, x.notBefore
		if got, _ := pl.Assess(v, 1); got != x.want {
			t.Errorf("the judge says %d, not before %d: %d, not %d", x.judge, x.notBefore, got, x.want)
		}
	}
	m := &v.Seen.groups[pr.Payload.group]
	delete(m.voters, pr.Payload.from)
	m.voters[pr.Payload.to] = true
	if got, _ := pl.Assess(v, 1); got != Finish {
		t.Errorf("a step that is done and would be dropped: %d", got)
	}
}

// TestObservationsChangeWhileADryRunWaits: the observer sees time pass in a dry run.
func TestObservationsChangeWhileADryRunWaits(t *testing.T) {
	pl := newPlanner()
	passed := []uint64{}
	pl.Rules = []Rule[wishes, facts, move]{{"later", func(v view) finding {
		if v.Now >= 1500 {
			return finding{}
		}
		return finding{Reasons: []Reason{{Code: "later", Until: v.Now + 250}}}
	}}}
	pl.Pass = func(v view, millis uint64) (wishes, facts) {
		passed = append(passed, millis)
		return v.State, v.Seen
	}
	f := pl.DryRun(view{Seen: newFacts(), Plan: New(newConfig()), Now: 1000}, 10)
	if !slices.Equal(passed, []uint64{250, 250}) || f.Cut {
		t.Errorf("passed: %v; %+v", passed, f)
	}
}

// TestAStepSaysWhatItDoes: reasons use the kind's own words, if any.
func TestAStepSaysWhatItDoes(t *testing.T) {
	pl := newPlanner()
	pl.Types[0].Describe = func(_ view, pr *Proposal[move]) string { return "moving " + string(pr.Subject) }
	p, _ := begun(t, 1)
	d := pl.Next(view{Seen: newFacts(), Plan: p, Now: 1000})
	if want := "step 1, moving group/1, is in phase 0"; len(d.Reasons) == 0 || d.Reasons[0].Text != want {
		t.Errorf("the reasons are %+v", d.Reasons)
	}
}
