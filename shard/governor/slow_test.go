package governor

import (
	"slices"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// fast is a healthy host's speed.
var fast = Speed{Sync: 200, Delay: 300, Round: 400}

func TestPaceOfHostIsRelativeToTheOthers(t *testing.T) {
	sync := func(micros uint64) Speed { s := fast; s.Sync = micros; return s }
	delay := func(micros uint64) Speed { s := fast; s.Delay = micros; return s }
	round := func(micros uint64) Speed { s := fast; s.Round = micros; return s }
	stalls := func(n uint64) Speed { s := fast; s.Stalls = n; return s }
	for _, c := range []struct {
		name   string
		speeds []Speed // of all hosts; the first is judged
		want   Pace
		says   string
	}{
		{"all are fast", []Speed{fast, fast, fast}, PaceSteady, ""},
		{"slow syncs", []Speed{sync(50_000), fast, fast}, PaceSlow, "log syncs take 50 ms (other hosts: 0.2 ms)"},
		{"little processor time", []Speed{delay(48_000), fast, fast}, PaceSlow, "timers fire 48 ms late"},
		{"a long way", []Speed{round(51_000), fast, fast}, PaceSlow, "round trips to other hosts take 51 ms"},
		{"stalls", []Speed{stalls(3), fast, fast}, PaceSlow, "3 stalls in two minutes (other hosts: 0)"},
		{"two stalls may be chance", []Speed{stalls(2), fast, fast}, PaceMiddle, ""},
		{"two figures", []Speed{{50_000, 30_000, 400, 0}, fast, fast}, PaceSlow, "; timers fire 30 ms late"},
		{"all are slow", []Speed{sync(50_000), sync(50_000), sync(50_000)}, PaceSteady, ""},
		{"two of three are slow", []Speed{sync(50_000), sync(50_000), fast}, PaceSteady, ""},
		{"two of five are slow", []Speed{sync(50_000), sync(50_000), fast, fast, fast}, PaceSlow, "50 ms"},
		{"one of two is slow", []Speed{sync(50_000), fast}, PaceSlow, "50 ms"},
		{"slower, and not by much", []Speed{sync(50_000), sync(11_000), sync(11_000)}, PaceMiddle, ""},
		{"slower, and quick enough", []Speed{sync(4_900), fast, fast}, PaceSteady, ""},
		{"between slow and recovered", []Speed{sync(9_999), fast, fast}, PaceMiddle, ""},
		{"nothing was synced", []Speed{sync(0), fast, fast}, PaceMiddle, ""},
		{"nothing was reported", []Speed{{}, fast, fast}, PaceUnknown, ""},
		{"nothing to compare with", []Speed{sync(50_000), {}, {}}, PaceMiddle, ""},
		{"alone", []Speed{sync(50_000)}, PaceMiddle, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t, []string{"a", "b", "c", "d", "e"}[:len(c.speeds)]...)
			for i, speed := range c.speeds {
				s.Seen.Hosts[i].Speed = speed
			}
			got, text := PaceOf(s.State, s.Seen, 1)
			if got != c.want || !strings.Contains(text, c.says) || (text == "") != (c.says == "") {
				t.Errorf("pace %d, %q", got, text)
			}
		})
	}
}

func TestDeadHostsAreNotCompared(t *testing.T) {
	s := newScene(t, "a", "b", "c")
	for i, speed := range []Speed{{50_000, 300, 400, 0}, {50_000, 300, 400, 0}, fast} {
		s.Seen.Hosts[i].Speed = speed
	}
	s.dies("b", 3000, 3)
	if got, text := PaceOf(s.State, s.Seen, 1); got != PaceSlow {
		t.Errorf("beside a dead host: %d, %q", got, text)
	}
	if got, _ := PaceOf(s.State, s.Seen, 2); got != PaceUnknown {
		t.Errorf("a dead host has the pace %d", got)
	}
}

// TestHostIsMarkedSlowAfterAWhile, and recovers after a time that doubles with each relapse.
func TestHostIsMarkedSlowAfterAWhile(t *testing.T) {
	s := newScene(t, "a", "b", "c")
	for i := range s.Seen.Hosts {
		s.Seen.Hosts[i].Speed = fast
	}
	b := s.Seen.host(2)
	b.Speed.Sync = 50_000
	for slowFor, want := range map[uint64]bool{0: false, slowMillis - 1: false, slowMillis: true} {
		if b.SlowFor = slowFor; (NextSlowMark(s.View) != nil) != want {
			t.Errorf("slow for %d ms: %+v", slowFor, NextSlowMark(s.View))
		}
	}
	b.Speed = fast // it has recovered before its record
	if m := NextSlowMark(s.View); m != nil {
		t.Errorf("a fast host: %+v", m)
	}
	for relapse, want := range []uint64{60_000, 120_000, 240_000} {
		s.done(s.State.SetSlow(s.at(), 0, 2, true, "a test"))
		for steadyFor, recovers := range map[uint64]bool{1: false, want - 1: false, want: true} {
			b.SlowFor, b.SteadyFor = 0, steadyFor
			if m := NextSlowMark(s.View); (m != nil) != recovers || recovers && m.Slow {
				t.Errorf("relapse %d, steady for %d ms: %+v", relapse, steadyFor, m)
			}
		}
		s.done(s.State.SetSlow(s.at(), 0, 2, false, ""))
		s.Now += 1000
	}
	s.Now += 3600_001
	s.done(s.State.SetSlow(s.at(), 0, 2, true, "a test"))
	if got := s.State.Host(2).RecoverMillis(); got != 60_000 {
		t.Errorf("an hour later it recovers after %d ms", got)
	}
}

// TestLeadersLeaveASlowHost: the meta shard leaves first, so that a fast host continues, and no rule moves a leadership
// back.
func TestLeadersLeaveASlowHost(t *testing.T) {
	s := newScene(t, "a", "b", "c")
	addShards(s, 2, 3)
	for i := range s.Seen.Shards {
		s.Seen.Shards[i].Leader = 1
	}
	s.done(s.State.SetSlow(s.at(), 0, 1, true, "log syncs take 52 ms"))
	want := []string{
		"0 slow: shard 0: handing the leadership from a to b",
		"0 slow: shard 1: handing the leadership from a to c",
		"0 slow: shard 2: handing the leadership from a to b",
		"0 slow: shard 3: handing the leadership from a to c",
		"then: slow",
	}
	if got := s.play(); !slices.Equal(got, want) {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
	for i := range s.Seen.Shards {
		s.Seen.Shards[i].Leader = shard.HostID(2 + i%2)
	}
	texts, step := s.reasons()
	if step != nil || !slices.ContainsFunc(texts, func(x string) bool {
		return strings.Contains(x, "host a is slow and leads nothing: log syncs take 52 ms")
	}) {
		t.Errorf("the reasons do not name it: %q", texts)
	}
}

// TestOperatorsWishForASlowHostIsRefused: the governor would take the leadership away again.
func TestOperatorsWishForASlowHostIsRefused(t *testing.T) {
	s := newScene(t, "a", "b", "c")
	s.done(s.State.SetSlow(s.at(), 0, 3, true, "a test"))
	s.done(s.State.Transfer(s.at(), 1, "c"))
	texts, step := s.reasons()
	if step != nil || !slices.ContainsFunc(texts, func(x string) bool {
		return strings.Contains(x, "c cannot lead it now")
	}) {
		t.Errorf("%+v, %q", step, texts)
	}
}

// TestSlowHostLeadsIfNoOtherCan: all other hosts are also slow, or cannot lead.
func TestSlowHostLeadsIfNoOtherCan(t *testing.T) {
	for name, prepare := range map[string]func(s *scene){
		"all are slow": func(s *scene) {
			for _, h := range s.State.Hosts() {
				s.State.SetSlow(s.at(), 0, h.ID, true, "a test")
			}
		},
		"the others are cordoned": func(s *scene) {
			s.State.SetSlow(s.at(), 0, 2, true, "a test")
			s.done(s.State.Cordon(s.at(), "a", true))
			s.done(s.State.Cordon(s.at(), "c", true))
		},
		"the others lag": func(s *scene) {
			s.State.SetSlow(s.at(), 0, 2, true, "a test")
			for _, id := range []uint64{1, 3} {
				s.Seen.shard(1).replica(id).BehindFor = 9000
			}
		},
	} {
		s := newScene(t, "a", "b", "c")
		prepare(s)
		texts, step := s.reasons()
		if step != nil {
			t.Errorf("%s: %s", name, describe(s.View, step))
		}
		if !slices.ContainsFunc(texts, func(x string) bool { return strings.Contains(x, string(CodeNoSuccessor)) }) {
			t.Errorf("%s: %q", name, texts)
		}
	}
}

// TestDrainTakesASlowHostForWantOfBetter: without a fast host, a drained host hands over to a slow host.
func TestDrainTakesASlowHostForWantOfBetter(t *testing.T) {
	s := newScene(t, "a", "b", "c")
	for _, id := range []shard.HostID{1, 3} {
		s.done(s.State.SetSlow(s.at(), 0, id, true, "a test"))
	}
	h := s.State.Named("b")
	s.done(s.State.Shutdown(s.at(), h.ID, h.Incarnation, h.Start))
	if _, step := s.reasons(); step == nil || step.Payload.From != 2 || step.Kind != KindTransfer {
		t.Errorf("%+v", step)
	}
}

func TestUnmeasuredHostIsASlowOneWithoutSyncs(t *testing.T) {
	s := newScene(t, "a", "b", "c")
	for i := range s.Seen.Hosts {
		s.Seen.Hosts[i].Speed = fast
	}
	s.Seen.host(2).Speed.Sync = 0
	if h := Unmeasured(s.View); h != nil {
		t.Errorf("host %d is not slow", h.ID)
	}
	s.done(s.State.SetSlow(s.at(), 0, 2, true, "a test"))
	if h := Unmeasured(s.View); h == nil || h.ID != 2 {
		t.Errorf("%+v", h)
	}
	s.Seen.host(2).Speed.Sync = 100
	if h := Unmeasured(s.View); h != nil {
		t.Errorf("host %d is measured", h.ID)
	}
	if a := s.State.SetSlow(hosts.At{Now: s.Now, Term: 4}, 3, 2, false, ""); a.Status != protocol.StatusStale {
		t.Errorf("a command of another term: %+v", a)
	}
}
