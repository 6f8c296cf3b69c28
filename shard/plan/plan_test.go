package plan

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"
)

func at(now, term uint64) Moment { return Moment{Now: now, Term: term} }

// begun returns a plan with a move of a group begun at 1,000 in term 5.
func begun(t *testing.T, group int) (*Plan[move], *Step[move]) {
	t.Helper()
	p := New(newConfig())
	return p, begin(t, p, at(1000, 5), group)
}

func begin(t *testing.T, p *Plan[move], m Moment, group int) *Step[move] {
	t.Helper()
	id, out := p.Begin(m, m.Term, p.Revision(), proposal(group))
	if out != Applied {
		t.Fatalf("a step of group %d is not begun: %v", group, out)
	}
	return p.Step(id)
}

func proposal(group int) Proposal[move] {
	return Proposal[move]{Kind: kindMove, Subject: subjectOf(group), Payload: move{group: group, from: 1, to: 2}}
}

func expect(t *testing.T, what string, got, want Outcome) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, not %v", what, got, want)
	}
}

func TestAStepIsBegunOnceAndOnlyByThePlanThatItWasProposedBy(t *testing.T) {
	p := New(newConfig())
	revision := p.Revision()
	begin := func(term, revision uint64, pr Proposal[move]) Outcome {
		_, out := p.Begin(at(1000, 5), term, revision, pr)
		return out
	}
	expect(t, "of the term before", begin(4, revision, proposal(1)), OtherTerm)
	expect(t, "of a term to come", begin(6, revision, proposal(1)), OtherTerm)
	expect(t, "first", begin(5, revision, proposal(1)), Applied)
	expect(t, "again", begin(5, revision, proposal(1)), Replanned)
	expect(t, "a second step of a subject", begin(5, p.Revision(), proposal(1)), Occupied)
	other := proposal(2)
	other.With = []Subject{subjectOf(1)}
	expect(t, "a step with the subject of an open one", begin(5, p.Revision(), other), Occupied)
	expect(t, "without a kind", begin(5, p.Revision(), Proposal[move]{Subject: "a"}), Unfit)
	expect(t, "without a subject", begin(5, p.Revision(), Proposal[move]{Kind: 1}), Unfit)
	long := proposal(2)
	long.Subject = Subject(strings.Repeat("s", MaxSubject+1))
	expect(t, "a subject that is too long", begin(5, p.Revision(), long), Unfit)
	expect(t, "a second subject", begin(5, p.Revision(), proposal(2)), Applied)
	expect(t, "more than may be open", begin(5, p.Revision(), proposal(3)), Occupied)
	if n := len(p.Steps()); n != 2 || p.Last() != 2 {
		t.Errorf("%d steps are open, the last id is %d", n, p.Last())
	}
}

func TestAReportOfAnotherTermOrOfWhatIsOverChangesNothing(t *testing.T) {
	p, s := begun(t, 1)
	act := s.Act(5)
	expect(t, "progress", p.Progress(at(1001, 5), act, 1), Applied)
	expect(t, "progress again", p.Progress(at(1001, 5), act, 1), Moved)
	expect(t, "a failure that comes after the progress", p.Fail(at(1001, 5), act, "late"), Moved)
	if s.Phase != 1 || s.Started != 1000 || s.Entered != 1001 {
		t.Errorf("after the progress: %+v", s)
	}
	act = p.Step(1).Act(5)
	expect(t, "back to an earlier phase", p.Progress(at(1001, 5), act, 0), Unfit)
	expect(t, "by the leader of before", p.Done(at(1002, 6), act), OtherTerm)
	before := p.Append(nil)
	next := p.Step(1).Act(6)
	expect(t, "a step that was never begun", p.Done(at(1002, 6), Act{Step: 7, Term: 6}), Unknown)
	expect(t, "no step at all", p.Done(at(1002, 6), Act{Term: 6}), Unknown)
	if !bytes.Equal(before, p.Append(nil)) {
		t.Error("what was refused has changed the plan")
	}
	expect(t, "by the leader of now", p.Done(at(1002, 6), next), Applied)
	expect(t, "again", p.Done(at(1002, 6), next), Over)
	expect(t, "a retry of what is over", p.Retry(at(1002, 6), next, "late"), Over)
	expect(t, "a cancel of what is over", p.Cancel(1002, 1, "late", 0), Over)
	expect(t, "a cancel of what was never begun", p.Cancel(1002, 2, "early", 0), Unknown)
	if s := begin(t, p, at(1003, 6), 1); s.ID != 2 {
		t.Errorf("the next step has the id %d", s.ID)
	}
}

func TestARetriedStepStaysOpenAndWaitsTwiceAsLongEachTime(t *testing.T) {
	p, s := begun(t, 1)
	var delays []uint64
	for i := range 3 {
		now := 2000 + uint64(i)
		act := s.Act(5)
		expect(t, "retry", p.Retry(at(now, 5), act, "no answer"), Applied)
		expect(t, "the same retry again", p.Retry(at(now, 5), act, "no answer"), Moved)
		s = p.Step(1)
		delays = append(delays, s.NotBefore-now)
	}
	if want := []uint64{101, 201, 401}; !slices.Equal(delays, want) {
		t.Errorf("it waits %v ms, not %v", delays, want)
	}
	if s.Failures != 3 || s.LastError != "no answer" {
		t.Errorf("the record: %+v", s)
	}
	expect(t, "one failure more than a step may have", p.Retry(at(3000, 5), s.Act(5), "no answer"), Applied)
	if p.Step(1) != nil {
		t.Error("the step is open still")
	}
	if b := p.Backoff(subjectOf(1)); b == nil || b.Failures != 4 || b.Since != 3000 || b.Until != 3801 {
		t.Errorf("what is remembered: %+v", b)
	}
}

func TestFailuresOfASubjectCountUntilItsSuccess(t *testing.T) {
	p, s := begun(t, 1)
	p.Fail(at(2000, 5), s.Act(5), "refused")
	_, out := p.Begin(at(2100, 5), 5, p.Revision(), proposal(1))
	expect(t, "before its time", out, Waits)
	s = begin(t, p, at(2101, 5), 1)
	if s.Failures != 1 || s.LastError != "refused" {
		t.Errorf("the second step begins as %+v", s)
	}
	p.Cancel(2200, s.ID, "by hand", 0)
	s = begin(t, p, at(2200, 5), 1)
	if s.Failures != 1 || s.LastError != "cancelled: by hand" {
		t.Errorf("the third step begins as %+v", s)
	}
	p.Fail(at(2300, 5), s.Act(5), "refused")
	if b := p.Backoff(subjectOf(1)); b.Failures != 2 || b.Until != 2501 {
		t.Errorf("after the second failure: %+v", b)
	}
	s = begin(t, p, at(2501, 5), 1)
	p.Done(at(2600, 5), s.Act(5))
	if b := p.Backoff(subjectOf(1)); b != nil {
		t.Errorf("after its success: %+v", b)
	}
	if s := begin(t, p, at(2600, 5), 1); s.Failures != 0 || s.LastError != "" || s.NotBefore != 0 {
		t.Errorf("the step after the success begins as %+v", s)
	}
}

func TestACancelledStepIsNotBegunAgainAtOnce(t *testing.T) {
	p, s := begun(t, 1)
	p.Progress(at(1500, 5), s.Act(5), 2)
	expect(t, "cancel in the middle", p.Cancel(2000, 1, "by hand", 5000), Applied)
	_, out := p.Begin(at(7000, 5), 5, p.Revision(), proposal(1))
	expect(t, "while it is held", out, Waits)
	expect(t, "forget", p.Forget(subjectOf(1)), Applied)
	expect(t, "forget what is forgotten", p.Forget(subjectOf(1)), Unknown)
	begin(t, p, at(7000, 5), 1)
}

func TestForgettingAStepThatWaitsLetsItGoOn(t *testing.T) {
	p, s := begun(t, 1)
	p.Retry(at(2000, 5), s.Act(5), "no answer")
	expect(t, "forget", p.Forget(subjectOf(1)), Applied)
	expect(t, "forget again", p.Forget(subjectOf(1)), Unknown)
	if s := p.Step(1); s.NotBefore != 0 || s.Failures != 1 {
		t.Errorf("the step: %+v", s)
	}
}

func TestASupersedingStepTakesThePlaceAndTheBackoff(t *testing.T) {
	p, s := begun(t, 1)
	p.Retry(at(2000, 5), s.Act(5), "no answer")
	pr := proposal(1)
	pr.Kind, pr.Supersedes = kindRemove, 1
	id, out := p.Begin(at(2001, 5), 5, p.Revision(), pr)
	expect(t, "supersede", out, Applied)
	next := p.Step(id)
	if p.Step(1) != nil || next.Failures != 1 || next.NotBefore != 2101 || next.Supersedes != 0 {
		t.Errorf("the step that supersedes: %+v", next)
	}
	_, out = p.Begin(at(2001, 5), 5, p.Revision(), pr)
	expect(t, "supersede what is over", out, Over)
	begin(t, p, at(2001, 5), 2)
	other := proposal(3)
	other.Supersedes = id
	_, out = p.Begin(at(2001, 5), 5, p.Revision(), other)
	expect(t, "supersede a step of another subject", out, Applied)
	if b := p.Backoff(subjectOf(1)); b == nil || b.Failures != 1 || b.Until != 2101 {
		t.Errorf("the back-off of the subject that was superseded: %+v", b)
	}
}

func TestBackoffsAreBounded(t *testing.T) {
	p := New(newConfig())
	for i := range MaxBackoffs + 1 {
		s := begin(t, p, at(uint64(i), 5), i)
		p.Fail(at(uint64(i), 5), s.Act(5), "refused")
	}
	if n := len(p.Backoffs()); n != MaxBackoffs || p.Backoff(subjectOf(0)) != nil || p.Backoff(subjectOf(1)) == nil {
		t.Errorf("%d subjects are remembered", n)
	}
}

func TestDelaysDoubleUpToTheirBoundAndNeverOverflow(t *testing.T) {
	cfg := &Config[move]{Delay: 3, MaxDelay: 1000}
	for _, x := range []struct{ failures, want uint64 }{{1, 3}, {2, 6}, {9, 768}, {10, 1000}, {63, 1000}, {64, 1000},
		{65, 1000}, {math.MaxUint32, 1000}} {
		if got := cfg.delay(uint32(x.failures)); got != x.want {
			t.Errorf("after %d failures: %d ms, not %d", x.failures, got, x.want)
		}
	}
	if after(math.MaxUint64-5, 5) != math.MaxUint64 || after(10, 5) != 16 {
		t.Error("the end of a delay")
	}
	p, s := begun(t, 1)
	s.Failures = math.MaxUint32
	p.Fail(at(2000, 5), s.Act(5), "x"+strings.Repeat("ä", MaxText))
	kept := "x" + strings.Repeat("ä", MaxText/2-1)
	if b := p.Backoff(subjectOf(1)); b.Failures != math.MaxUint32 || b.LastError != kept {
		t.Errorf("the last failure that can be counted: %+v", b)
	}
}

func TestAConfigIsChecked(t *testing.T) {
	for what, spoil := range map[string]func(*Config[move]){
		"no step may be open":      func(c *Config[move]) { c.Open = 0 },
		"too many may be open":     func(c *Config[move]) { c.Open = MaxSteps + 1 },
		"no delay":                 func(c *Config[move]) { c.Delay = 0 },
		"delays that get shorter":  func(c *Config[move]) { c.MaxDelay = c.Delay - 1 },
		"payloads without a form":  func(c *Config[move]) { c.Append = nil },
		"payloads with half a one": func(c *Config[move]) { c.Read = nil },
	} {
		cfg := newConfig()
		spoil(cfg)
		if cfg.Validate() == nil {
			t.Errorf("%s: it is valid", what)
		}
	}
}

func TestAPlanWithLessRoomKeepsWhatIsOpen(t *testing.T) {
	p, _ := begun(t, 1)
	s := begin(t, p, at(1000, 5), 2)
	less := newConfig()
	less.Open = 1
	p.cfg = less
	expect(t, "done", p.Done(at(1001, 5), s.Act(5)), Applied)
	_, out := p.Begin(at(1001, 5), 5, p.Revision(), proposal(2))
	expect(t, "begin", out, Occupied)
}

func TestARecordNamesTheTermInWhichItChangedLast(t *testing.T) {
	p, s := begun(t, 1)
	p.Progress(at(1001, 6), s.Act(6), 1)
	if s.Term != 6 {
		t.Errorf("after the progress: %d", s.Term)
	}
	p.Retry(at(1002, 7), s.Act(7), "no answer")
	if s.Term != 7 || p.Step(1).Entered != 1001 {
		t.Errorf("after the failure: %+v", s)
	}
}

func TestAPlanKeepsNothingOfTheCaller(t *testing.T) {
	p, pr := New(newConfig()), proposal(1)
	pr.With = []Subject{"host/b"}
	p.Begin(at(1000, 5), 5, 0, pr)
	pr.With[0] = "host/c"
	if with := p.Step(1).With[0]; with != "host/b" {
		t.Errorf("the step occupies %s", with)
	}
}
