package process

import (
	"slices"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/process"
)

// whys are the reasons for blocked rounds, with their texts.
var whys = []struct{ name, text string }{
	{"no session has joined", `
		why no-members no session has joined, for 0s
		at 50
		why no-members no session has joined, for 0s`},
	{"too few have", `
		spec min=3
		join a
		join b
		why opening the next epoch opens in 100ms
		at 500
		why too-few-members 2 members have joined, but 3 are required`},
	{"members are not prepared", `
		spec timeout=1000` + `
		join a
		join b
		join c
		at 101
		prepared b
		at 601
		why awaiting-prepare epoch 4 waits for 2 of 3 members to be prepared: a (1, 1 not acknowledged), c (3
		why c (3, 1 not acknowledged), for 500ms
		at 1102
		why for 1s, longer than the reply timeout`},
	{"members that are not prepared are put out", `
		spec timeout=1000 kick
		join a
		join b
		join c
		at 101
		prepared b
		prepared c
		at 1102
		removed a
		state forming
		why opening the next epoch opens in 100ms; evict of a by reply timeout: it was not prepared in time
		at 1203
		coordinator b`},
	{"fail waits for members that are not prepared", `
		spec timeout=1000 fail
		join a
		at 5000
		state preparing
		epoch 1`},
	{"the coordinator does nothing", three + `
		at 1101
		why coordinator a (1) coordinates epoch 4, and waits for no reply, for 1s
		send b c x
		why awaiting-reply b (2) waits for 1 of 1 replies: c (3, 1 not acknowledged)
		why coordinator a (1) coordinates epoch 4
		send a c x
		why awaiting-reply a (1) waits for 1 of 1 replies: c (3, 2 not acknowledged)`},
	{"members have not handled the completion", three + `
		complete a x
		completed b
		at 1101
		why awaiting-complete epoch 4 is complete with 3 members; 2 have not handled the completion: a (1, 1
		why a (1, 1 not acknowledged), c (3
		completed a
		completed c
		why nothing`},
	{"the sender is gone", three + `
		send b c x
		leave b
		why opening
		restart later
		why opening the next epoch opens in 100ms; restart by op: later`},
}

func TestWhy(t *testing.T) {
	for _, w := range whys {
		t.Run(w.name, func(t *testing.T) { play(t, w.text) })
	}
}

// TestWhyNamesAFew: only the first of many awaited members and exchanges are named.
func TestWhyNamesAFew(t *testing.T) {
	c := newCrowd(t, 100)
	c.ackAll()
	for range 50 {
		c.broadcast(nil)
	}
	list := c.Why()
	if len(list) > MaxReasons+1 || len(list) < MaxReasons {
		t.Errorf("%d exchanges are named", len(list))
	}
	re := list[0]
	if text := re.Describe(c.now); len(re.Members) != kind.MaxNamed || re.Waiting != 100 || re.Of != 100 ||
		!strings.Contains(text, "92 more") {
		t.Errorf("%s", text)
	}
}

// TestGoneSaysWhy: a kicked member gets author and reason in every answer; a member that left does not.
func TestGoneSaysWhy(t *testing.T) {
	s := play(t, three+`
		kick b misbehaves`)
	id := s.out.Removed[0].ID
	gone := s.Gone(id)
	if gone.Status != protocol.StatusNotFound || !strings.Contains(gone.Text, "evicted by op: misbehaves") ||
		gone.Text != s.out.Removed[0].Text() {
		t.Errorf("%+v", gone)
	}
	for want, r := range map[string]removal{
		"evicted by op: why; join again": {By: kind.ChangeInfo{Author: "op", Reason: "why"}},
		"evicted by op; join again":      {By: kind.ChangeInfo{Author: "op"}},
		"evicted: why; join again":       {By: kind.ChangeInfo{Reason: "why"}}, "evicted; join again": {},
	} {
		if got := r.Text(); got != want {
			t.Errorf("%q, and not %q", got, want)
		}
	}
	if a := s.Gone(s.member("a").ID); strings.Contains(a.Text, "evicted") {
		t.Errorf("%+v", a)
	}
	kicked := slices.IndexFunc(s.events, func(e Event) bool { return e.Kind == eventKicked })
	if kicked < 0 || s.events[kicked].Member != id || s.events[kicked].Text != "misbehaves" {
		t.Errorf("%+v", s.events)
	}
}

// TestTheAuditIsBounded: the oldest act is forgotten.
func TestTheAuditIsBounded(t *testing.T) {
	s := play(t, three)
	for range MaxAudit + 5 {
		s.run([]string{"restart", "again"})
	}
	if len(s.Audit()) != MaxAudit || s.Audit()[0].Verb != kind.ActionRestart {
		t.Errorf("%d acts are kept", len(s.Audit()))
	}
}

// TestResultsAreBounded: the oldest are forgotten, also when fewer are to be kept.
func TestResultsAreBounded(t *testing.T) {
	s := play(t, `
		spec keep=3
		join a`)
	for range 5 {
		s.run([]string{"restart", "again"})
		if err := s.play(s.now + 500); err != nil {
			t.Fatal(err)
		}
		s.run([]string{"round"})
		s.run([]string{"complete", "a", "x"})
	}
	s.run([]string{"results", "3"})
	s.run([]string{"alter", "keep=1"})
	s.run([]string{"results", "1"})
	if s.Results()[0].Epoch != s.Epoch() {
		t.Error("the newest is not the one that is kept")
	}
}
