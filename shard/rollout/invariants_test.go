package rollout

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	kind "github.com/signalbox/signalbox/protocol/rollout"
)

// TestInvariantsHaveABugThatBreaksThem: I1, I2, I3, I5, I7, I8 and I9 are checked after every random command
// (picture_test.go), and a planted bug breaks each; I4 and I6 have their own tests below.
func TestInvariantsHaveABugThatBreaksThem(t *testing.T) {
	broken := make(map[string]bool)
	for _, p := range planted {
		broken[p.invariant] = true
	}
	for _, n := range []int{1, 2, 3, 5, 7, 8, 9} {
		if !broken[fmt.Sprint("I", n)] {
			t.Errorf("no bug breaks I%d", n)
		}
	}
}

// TestI4FollowersChangeNoDecision: two rollouts get the same commands, and one of them also has followers, which join,
// leave, ask, report updates, and reach targets. Every location has an instance from the start, and followers do not
// fail: decisions 2 and 3 exempt those cases.
func TestI4FollowersChangeNoDecision(t *testing.T) {
	for seed := range uint64(60) {
		ra := rand.New(rand.NewPCG(seed, 4))
		text := "sas man:5 vla:20"
		spec := parseSpec([]string{"sas", "man:5", "vla:20"})
		spec.Reelect.Interval, spec.KeepVersions = 0, 4
		alone, crowded := newCrowd(t, spec), newCrowd(t, spec)
		for _, location := range []string{"sas", "man", "vla"} {
			for _, name := range []string{"a.", "b."} {
				alone.instanceCommand("leader", []string{name + location})
				crowded.instanceCommand("leader", []string{name + location})
			}
		}
		for n := range 300 {
			name := fmt.Sprintf("%c.%s", 'a'+ra.IntN(2), []string{"sas", "man", "vla"}[ra.IntN(3)])
			var words []string
			switch ra.IntN(12) {
			case 0, 1:
				words = []string{"publish"}
			case 2:
				words = []string{"fail", name, "timestamp-out-of-range", "1"}
			case 3:
				words = []string{"fail", name, "-", "9"}
			case 4:
				words = []string{"ask", name}
			case 5:
				words = []string{"at", fmt.Sprint(alone.now + uint64(ra.IntN(30)))}
			default:
				words = []string{"reach", name}
			}
			alone.do(words)
			crowded.do(words)
			follower := fmt.Sprintf("f%d.%s", ra.IntN(3), []string{"sas", "man", "vla"}[ra.IntN(3)])
			if i := crowded.instances[follower]; i == nil || i.Name == "" || !i.live {
				crowded.instanceCommand("join", []string{follower})
			} else {
				verb := []string{"leave", "reach", "update", "ask", "reach"}[ra.IntN(5)]
				crowded.instanceCommand(verb, []string{follower})
			}
			crowded.checked, alone.checked = true, true
			if a, b := targets(alone.Rollout), targets(crowded.Rollout); !reflect.DeepEqual(a, b) {
				t.Fatalf("seed %d, %s, after %d commands, %v:\n%v\n%v", seed, text, n, words, a, b)
			}
		}
	}
}

func newCrowd(t *testing.T, spec kind.Spec) *script {
	s := &script{t: t, instances: make(map[string]*Instance), checked: true}
	s.Rollout, _ = New(s.at(), spec, kind.ChangeInfo{})
	return s
}

func targets(r *Rollout) (list [][]Row) {
	for _, l := range r.locations {
		list = append(list, l.History)
	}
	return list
}

// TestI6WhatHasLeftCountsForNothing: after an instance has left, or its session ended, its reports change nothing.
func TestI6WhatHasLeftCountsForNothing(t *testing.T) {
	s := play(t, `
		spec sas
		publish
		leader a.sas
		leader b.sas
		reach a.sas
		leave b.sas
		publish`)
	b := s.instances["b.sas"]
	before := s.Save(nil)
	for _, a := range []Answer{
		s.Report(s.at(), b, Report{Current: 2, Generation: 2}), s.SetRole(s.at(), b, Follower), s.Leave(s.at(), b),
	} {
		if a.Status != protocol.StatusNotFound || s.out.Changed {
			t.Errorf("it is answered %v %s", a.Status, a.Text)
		}
	}
	if a, _ := s.Ask(s.at(), b, Report{}); a.Status != protocol.StatusNotFound {
		t.Errorf("it is answered %v", a.Status)
	}
	if !bytes.Equal(before, s.Save(nil)) {
		t.Error("it changed the rollout")
	}
}

// TestADelayIsNeverShorterThanAsked: whatever fraction of a millisecond had passed when a version was reached, the full
// delay has passed when the next location gets it. The clock shows whole milliseconds.
func TestADelayIsNeverShorterThanAsked(t *testing.T) {
	for reachedMicros := uint64(1_000_000); reachedMicros < 1_003_000; reachedMicros += 37 {
		s := play(t, `
			spec sas man:5000
			publish
			leader a.sas
			leader b.man`)
		s.now = reachedMicros / 1000
		s.do([]string{"reach", "a.sas"})
		due, ok := s.NextDue()
		if !ok || due*1000 < reachedMicros+5_000_000 || due*1000 >= reachedMicros+5_002_000 {
			t.Fatalf("reached at %d us, due at %d ms", reachedMicros, due)
		}
		s.now = due - 1
		s.do([]string{"ask", "b.man"})
		if s.Find("man").Target() != nil {
			t.Fatal("it gets a target before it is due")
		}
		s.until(due)
		if s.Find("man").present() != 1 {
			t.Fatal("it gets no target when it is due")
		}
	}
}

func TestANameIsThatOfOneInstance(t *testing.T) {
	s := play(t, "spec sas man:0")
	first, second := &Instance{ID: 1}, &Instance{ID: 2}
	if a := s.Join(s.at(), first, "dns-1", "sas", ""); a.Status != protocol.StatusSuccess {
		t.Fatal(a.Text)
	}
	if a := s.Join(s.at(), second, "dns-1", "man", ""); a.Status != protocol.StatusAlreadyExists || a.Holder != first {
		t.Errorf("it is answered %v, and the holder is %v", a.Status, a.Holder)
	}
	s.Leave(s.at(), first)
	if a := s.Join(s.at(), second, "dns-1", "man", ""); a.Status != protocol.StatusSuccess {
		t.Error(a.Text)
	}
	if a := s.Join(s.at(), second, "dns-1", "sas", ""); a.Status != protocol.StatusSuccess ||
		second.Location != "sas" || s.Find("man").Counts.Instances != 0 {
		t.Errorf("it cannot move: %s", a.Text)
	}
}

func TestDeletingWantsForceWhileInstancesAreThere(t *testing.T) {
	s := play(t, `
		spec sas
		join a.sas`)
	if a := s.Deletable(false); a.Status != protocol.StatusPreconditionFailed {
		t.Errorf("it is answered %v", a.Status)
	}
	if a := s.Deletable(true); a.Status != protocol.StatusSuccess {
		t.Error(a.Text)
	}
	s.do([]string{"leave", "a.sas"})
	if a := s.Deletable(false); a.Status != protocol.StatusSuccess {
		t.Error(a.Text)
	}
}
