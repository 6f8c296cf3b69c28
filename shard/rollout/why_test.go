package rollout

import (
	"fmt"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/field"
	kind "github.com/signalbox/signalbox/protocol/rollout"
)

func (s *script) reasons() string {
	var list []string
	for _, re := range s.Why(s.now, s.now, s.all) {
		list = append(list, re.String())
	}
	return strings.Join(list, "\n")
}

// TestWhyNamesWhoOthersWaitFor: the answer names the awaited instances.
func TestWhyNamesWhoOthersWaitFor(t *testing.T) {
	s := play(t, `
		spec sas man:5000
		publish
		leader a.sas
		leader a.man
		leader b.man
		leader c.man
		reach a.sas
		at 6000
		update a.man
		reach c.man
		at 47001`)
	s.instances["a.man"].Attempts = 3
	want := "man waits for 2 of 3 leaders: a.man (updating 41 s, attempt 3), b.man (has not heard of generation 2)"
	if got := s.reasons(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	s.instanceCommand("report", []string{"b.man", "99", "2"})
	if got := s.reasons(); !strings.Contains(got, "b.man (ok, foreign version") {
		t.Error(got)
	}
}

func TestReasonsAreSentences(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"spec sas\npublish\nact pause", "paused: because by op\nno instance has joined in sas"},
		{"spec sas\npublish\njoin a.sas\nact abort", "halted: aborted: because by op\n" +
			"sas cannot use version 1, and there is no other for it"},
		{"spec sas gates=sas:errors\npublish\nleader a.sas\nreach a.sas",
			"the gate errors of sas is pending for version 1: no checker has reported"},
		{"spec sas require=sas:2\npublish\nleader a.sas", "sas requires 2 leaders and has 1"},
		{"spec sas source=asked\nleader a.sas", "a version is wanted, and there is no source"},
		{"spec sas source=asked\nleader a.sas\nsource 1", "a source was asked for a version: source1"},
		{"spec sas source=asked\nleader a.sas\nsource 1\ndecline 1 1",
			"a source was asked for a version; the last answer was: unavailable"},
		{"spec sas man:5\npublish\nleader a.sas\nleader b.man\nreach a.sas",
			"man gets version 1 when its delay is over"},
		{"spec sas\npublish\nleader a.sas\nact bypass sas", "sas is bypassed"},
		{"spec sas\npublish\nleader a.sas\nleave a.sas", "no leaders in sas"},
		{"spec sas progress=5\npublish\nleader a.sas\nat 6\nreach a.sas", ""},
	} {
		if got := play(t, c.text).reasons(); got != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.text, got, c.want)
		}
	}
}

// TestDryRunOfTheExampleOfTheDocument: SAS at once, MAN 5 s after it, VLA 5 s after MAN.
func TestDryRunOfTheExampleOfTheDocument(t *testing.T) {
	s := play(t, `
		spec sas man:5000 vla:5000
		leader a.sas
		leader b.man
		leader c.vla
		at 1000
		publish`)
	before := s.Save(nil)
	steps := s.Rehearse(s.now).Run(1000)
	want := "[{7.001s man 1 initial} {13.002s vla 1 initial}]"
	if got := fmt.Sprint(steps); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if string(before) != string(s.Save(nil)) {
		t.Error("a dry run changes the rollout")
	}
	// The result of publishing another version now.
	rehearsal := s.Rehearse(s.now)
	rehearsal.Publish()
	want = "[{2s sas 2 next} {7.001s man 1 initial} {8.001s man 2 next} {13.002s vla 1 initial} {14.002s vla 2 next}]"
	if got := fmt.Sprint(rehearsal.Run(1000)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	// The run comes true.
	s.do([]string{"at", "1999"})
	s.do([]string{"reach", "a.sas"})
	for _, step := range steps[:1] {
		at := field.MillisOf(step.After)
		s.until(at - 2)
		if s.Find(step.Location).Target() != nil {
			t.Error("it gets its target sooner than planned")
		}
		s.until(at)
		if s.Find(step.Location).present() != step.Seq {
			t.Error("it has no target when planned")
		}
	}
}

// TestDryRunOfWhatStandsStill: a paused rollout does not move, and a location without leaders gets no second target.
func TestDryRunOfWhatStandsStill(t *testing.T) {
	s := play(t, `
		spec sas man:5000 gates=sas:errors
		publish
		leader a.sas
		join f.man
		act pause
		publish`)
	if steps := s.Rehearse(s.now).Run(10); len(steps) != 0 {
		t.Errorf("it is paused: %v", steps)
	}
	rehearsal := s.Rehearse(s.now)
	rehearsal.Act(kind.Action{Kind: kind.Resume})
	want := "[{10ms sas 2 next} {5.011s man 1 initial}]"
	if got := fmt.Sprint(rehearsal.Run(10)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestAPendingVerdictTakesNothingBack: a checker's report that it has started on a target does not undo a verdict given
// meanwhile.
func TestAPendingVerdictTakesNothingBack(t *testing.T) {
	s := play(t, "spec sas gates=sas:errors\npublish\nleader a.sas\nsource 1")
	verdict := func(v kind.Result) Answer {
		return s.Judge(s.at(), kind.GateReport{Location: "sas", Gate: "errors", Seq: 1,
			Verdict: kind.Verdict{Result: v}, By: v.String()})
	}
	for _, v := range []kind.Result{kind.GatePending, kind.GatePassed} {
		if a := verdict(v); a.Status != protocol.StatusSuccess {
			t.Fatalf("%v: %+v", v, a)
		}
	}
	a, got := verdict(kind.GatePending), s.Find("sas").Gates[0].Verdict
	if a.Status != protocol.StatusPreconditionFailed || got != kind.GatePassed {
		t.Errorf("%+v, the gate is %v", a, got)
	}
	if a := verdict(kind.GateInconclusive); a.Status != protocol.StatusSuccess {
		t.Errorf("taken back: %+v", a)
	}
}

// TestLimits: a command beyond a limit is refused, and changes nothing.
func TestLimits(t *testing.T) {
	s := play(t, "spec sas man:5 gates=man:errors\npublish\nleader a.sas\nsource 1")
	long := strings.Repeat("x", kind.MaxText+1)
	i := s.instances["a.sas"]
	spec := s.Spec()
	spec.Locations[0].Delay = 5
	join := func(name, location string, attributes int) Answer {
		return s.Join(s.at(), &Instance{}, name, location, strings.Repeat("x", attributes))
	}
	judge := func(g kind.GateReport) Answer { return s.Judge(s.at(), g) }
	many := s.Spec()
	for n := range kind.MaxLocations {
		many.Locations = append(many.Locations, kind.Location{Name: fmt.Sprint("l", n)})
	}
	before := s.Save(nil)
	for name, run := range map[string]func() Answer{
		"payload": func() Answer {
			return s.Publish(s.at(), kind.Publication{Payload: make([]byte,
				kind.MaxPayload+1)})
		},
		"label":      func() Answer { return s.Publish(s.at(), kind.Publication{Label: long}) },
		"compare":    func() Answer { return s.Publish(s.at(), kind.Publication{Compare: true, Expected: 7}) },
		"name":       func() Answer { return join(long, "sas", 0) },
		"attributes": func() Answer { return join("x", "sas", kind.MaxAttributes+1) },
		"location":   func() Answer { return join("x", "unknown", 0) },
		"role":       func() Answer { return s.SetRole(s.at(), i, roles) },
		"status":     func() Answer { return s.Report(s.at(), i, Report{Status: kind.Statuses}) },
		"code":       func() Answer { return s.Report(s.at(), i, Report{Status: 2, Code: long[:kind.MaxWord+1]}) },
		"stray code": func() Answer { return s.Report(s.at(), i, Report{Code: "x"}) },
		"text":       func() Answer { return s.Report(s.at(), i, Report{Text: long}) },
		"verb":       func() Answer { return s.Act(s.at(), kind.Action{Kind: kind.Created}) },
		"no verb":    func() Answer { return s.Act(s.at(), kind.Action{}) },
		"reason": func() Answer {
			return s.Act(s.at(), kind.Action{Kind: kind.Pause,
				By: kind.ChangeInfo{Reason: long}})
		},
		"no location": func() Answer { return s.Act(s.at(), kind.Action{Kind: kind.Bypass}) },
		"elsewhere": func() Answer {
			return s.Act(s.at(), kind.Action{Kind: kind.Promote,
				Locations: []string{"x"}})
		},
		"verdict": func() Answer {
			return judge(kind.GateReport{Location: "man", Gate: "errors", Verdict: kind.Verdict{Result: kind.Results}})
		},
		"gate":    func() Answer { return s.Judge(s.at(), kind.GateReport{Location: "man", Gate: "x"}) },
		"gate of": func() Answer { return s.Judge(s.at(), kind.GateReport{Location: "x", Gate: "x"}) },
		"no target": func() Answer {
			return s.Judge(s.at(), kind.GateReport{Location: "man", Gate: "errors",
				Seq: 1})
		},
		"source name": func() Answer { return s.addSource(s.at(), Source{ID: 9, Name: long}) },
		"no source":   func() Answer { return s.removeSource(s.at(), 9) },
		"ticket":      func() Answer { return s.Offer(s.at(), 1, 9, kind.Publication{}) },
		"delay":       func() Answer { return s.Alter(s.at(), spec, kind.ChangeInfo{}) },
		"locations":   func() Answer { return s.Alter(s.at(), many, kind.ChangeInfo{}) },
		"no spec":     func() Answer { return s.Alter(s.at(), kind.Spec{}, kind.ChangeInfo{}) },
		"author":      func() Answer { return s.Alter(s.at(), s.Spec(), kind.ChangeInfo{Author: long}) },
		"withdraw":    func() Answer { return s.Act(s.at(), kind.Action{Kind: kind.Withdraw, Seq: 9}) },
	} {
		if a := run(); a.Status == protocol.StatusSuccess || a.Text == "" {
			t.Errorf("%s: it is answered %v %q", name, a.Status, a.Text)
		}
		if s.out.Changed || string(before) != string(s.Save(nil)) {
			t.Errorf("%s: it changed something", name)
		}
	}
	for n := range kind.MaxSources {
		s.addSource(s.at(), Source{ID: uint64(n + 1)})
	}
	if a := s.addSource(s.at(), Source{ID: 99}); a.Status != protocol.StatusPreconditionFailed {
		t.Errorf("sources: %v", a)
	}
}

// TestBoundsHoldHoweverLongARolloutGoesOn: versions, rows, acts and bytes.
func TestBoundsHoldHoweverLongARolloutGoesOn(t *testing.T) {
	s := play(t, "spec sas man:100000 vla:100000 keep=8\nleader a.sas\nleader b.man")
	payload := make([]byte, kind.MaxPayload)
	for n := range 400 {
		if a := s.Publish(s.at(), kind.Publication{Payload: payload}); a.Status != protocol.StatusSuccess {
			t.Fatal(a.Text)
		}
		s.instanceCommand("reach", []string{"a.sas"})
		s.do([]string{"act", "resume"})
		s.until(s.now + uint64(n))
	}
	if n := len(s.versions); n > 8+3*len(s.locations) {
		t.Errorf("%d versions are kept", n)
	}
	if n := len(s.Find("sas").History); n > 8 {
		t.Errorf("a history has %d rows", n)
	}
	if len(s.audit) != MaxAudit || s.payloads > maxPayloads || s.Size() > maxPayloads+64<<10 {
		t.Errorf("%d acts, %d bytes of payloads, a size of %d", len(s.audit), s.payloads, s.Size())
	}
}
