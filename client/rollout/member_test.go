package rollout_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/test/clienttest"
)

var errApply = errors.New("it cannot be read")

// TestVersionsReachLocationsInOrder is the document's example.
func TestVersionsReachLocationsInOrder(t *testing.T) {
	play(t, 1, spec(), func(t *testing.T, g *stage) {
		sas, man, vla := g.run(g.join("sas", "a.sas")), g.run(g.join("man", "a.man")), g.run(g.join("vla", "a.vla"))
		g.publish("zone 1")
		sas.reach(t, 1)
		man.quiet(t, 4900*time.Millisecond)
		man.reach(t, 1)
		vla.quiet(t, 4900*time.Millisecond)
		vla.reach(t, 1)
		synctest.Wait()
		if s := g.state(); s.Phase != rollout.Idle {
			t.Errorf("the rollout is %v: %+v", s.Phase, s.Reasons)
		}
	})
}

// TestOnlyTheNewestTargetIsYielded; a target's context ends with the location's next target.
func TestOnlyTheNewestTargetIsYielded(t *testing.T) {
	play(t, 1, spec(), func(t *testing.T, g *stage) {
		sas := g.run(g.join("sas", "a.sas"))
		g.publish("zone 1", rollout.Label("r1"))
		sas.reach(t, 1)
		g.publish("zone 2", rollout.Label("r2"))
		second := sas.next(t)
		if second.Label != "r2" || string(second.Payload) != "zone 2" || second.Attempt != 1 {
			t.Errorf("got %+v", second)
		}
		g.publish("zone 3")
		g.publish("zone 4")
		synctest.Wait()
		if err := second.Context().Err(); err != nil {
			t.Fatalf("the location keeps its target until it is reached: %v", err)
		}
		clienttest.Check(t, g.rollout.Promote(t.Context(), by, 4))
		select {
		case <-second.Context().Done():
		case <-time.After(never):
			t.Fatal("the context goes on")
		}
		if cause := context.Cause(second.Context()); cause != rollout.ErrSuperseded {
			t.Errorf("it ends with %v", cause)
		}
		sas.apply <- errors.New("given up")
		sas.reach(t, 4)
	})
}

// TestAFailedTargetIsYieldedAgain after a pause; hosts get the number of attempts.
func TestAFailedTargetIsYieldedAgain(t *testing.T) {
	play(t, 1, spec(), func(t *testing.T, g *stage) {
		sas := g.run(g.join("sas", "a.sas", rollout.Backoff(time.Second, 4*time.Second)))
		g.publish("zone 1")
		for attempt := 1; attempt <= 3; attempt++ {
			target := sas.next(t)
			if target.Attempt != attempt {
				t.Errorf("attempt %d is said to be %d", attempt, target.Attempt)
			}
			began := time.Now()
			sas.apply <- errApply
			synctest.Wait()
			i := g.instance("sas", "a.sas")
			want := rollout.Report{Generation: 1, Status: rollout.Failed, Text: errApply.Error(), Attempts: attempt}
			if i == nil || i.Report != want {
				t.Errorf("hosts know %+v, want %+v", i, want)
			}
			if attempt == 3 {
				sas.reach(t, 1)
			} else if target := sas.next(t); target.Attempt != attempt+1 {
				t.Errorf("attempt %d is said to be %d", attempt+1, target.Attempt)
			} else {
				sas.apply <- errApply
				attempt++
			}
			if pause := time.Since(began); pause <= 0 || pause > 4*time.Second {
				t.Errorf("it is tried again after %v", pause)
			}
		}
		synctest.Wait()
		want := rollout.Report{Current: 1, Generation: 1, Attempts: 4}
		if i := g.instance("sas", "a.sas"); i.Report != want || !i.Leader {
			t.Errorf("hosts know %+v", i)
		}
		sas.quiet(t, never)
	})
}

func TestTheFirstSuccessMakesALeader(t *testing.T) {
	for _, c := range []struct {
		name    string
		options []rollout.JoinOption
		by      func(ctx context.Context, m *rollout.Member) error // before the success
		want    bool
	}{
		{name: "by itself", want: true},
		{name: "not where it is manual", options: []rollout.JoinOption{rollout.Manual()}},
		{name: "not after Follow", by: func(ctx context.Context, m *rollout.Member) error { return m.Follow(ctx) }},
		{
			name: "manual and Lead", options: []rollout.JoinOption{rollout.Manual()},
			by: func(ctx context.Context, m *rollout.Member) error { return m.Lead(ctx) }, want: true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			play(t, 1, spec(), func(t *testing.T, g *stage) {
				m := g.join("sas", "a.sas", c.options...)
				if c.by != nil {
					clienttest.Check(t, c.by(t.Context(), m))
				}
				g.publish("zone")
				g.run(m).reach(t, 1)
				synctest.Wait()
				if i := g.instance("sas", "a.sas"); i.Leader != c.want || i.Report.Current != 1 {
					t.Errorf("hosts know %+v", i)
				}
			})
		})
	}
}

// TestATargetThatIsSupersededIsNotReached: an instance that reports a superseded target gets an error, and is made no
// leader.
func TestATargetThatIsSupersededIsNotReached(t *testing.T) {
	play(t, 1, spec(), func(t *testing.T, g *stage) {
		m := g.join("sas", "a.sas")
		clienttest.Check(t, g.join("sas", "b.sas").Lead(t.Context())) // an instance that has not reached the target
		g.publish("zone 1")
		r := g.run(m)
		first := r.next(t)
		g.publish("zone 2")
		clienttest.Check(t, g.rollout.Promote(t.Context(), by, 2))
		<-first.Context().Done()
		for what, report := range map[string]func() error{
			"reached":  func() error { return m.Reached(t.Context(), first) },
			"updating": func() error { return m.Updating(t.Context(), first) },
			"failed":   func() error { return m.Failed(t.Context(), first, "", errApply) },
		} {
			if err := report(); !errors.Is(err, rollout.ErrSuperseded) {
				t.Errorf("%s: %v", what, err)
			}
		}
		synctest.Wait()
		if i := g.instance("sas", "a.sas"); i.Leader || i.Report.Current != 0 {
			t.Errorf("hosts know %+v", i)
		}
	})
}

// TestFollowEndsTheCount: a leader that follows again delays nothing.
func TestFollowEndsTheCount(t *testing.T) {
	play(t, 1, spec(), func(t *testing.T, g *stage) {
		one, other := g.join("sas", "a.sas"), g.join("sas", "b.sas")
		clienttest.Check(t, other.Lead(t.Context()))
		g.publish("zone")
		g.run(one).reach(t, 1)
		synctest.Wait()
		if s := g.state(); s.Locations[0].Target.Reached.Happened || s.Locations[0].Leaders != 2 {
			t.Fatalf("got %+v", s.Locations[0])
		}
		clienttest.Check(t, other.Follow(t.Context()))
		if s := g.state(); !s.Locations[0].Target.Reached.Happened || s.Locations[0].Leaders != 1 {
			t.Errorf("got %+v", s.Locations[0])
		}
	})
}

// TestUpdatingIsSeenByOthers: why names the instances that others wait for.
func TestUpdatingIsSeenByOthers(t *testing.T) {
	play(t, 1, spec(), func(t *testing.T, g *stage) {
		m := g.join("sas", "a.sas", rollout.Manual())
		clienttest.Check(t, m.Lead(t.Context()))
		g.publish("zone")
		r := g.run(m)
		clienttest.Check(t, m.Updating(t.Context(), r.next(t)))
		time.Sleep(41500 * time.Millisecond)
		reasons, err := g.rollout.Why(t.Context())
		clienttest.Check(t, err)
		const want = "sas waits for 1 of 1 leaders: a.sas (updating "
		if len(reasons) != 1 || !strings.HasPrefix(reasons[0].Text, want) || reasons[0].Code != rollout.ReasonLeaders ||
			reasons[0].Since.Ago.Truncate(time.Second) != 41*time.Second {
			t.Errorf("got %+v", reasons)
		}
	})
}

// TestAnErrorOfAListedCodeBringsAnotherVersion at once.
func TestAnErrorOfAListedCodeBringsAnotherVersion(t *testing.T) {
	s := spec()
	s.Reelect.Codes = []string{"timestamp-out-of-range"}
	play(t, 1, s, func(t *testing.T, g *stage) {
		m := g.join("sas", "a.sas")
		g.publish("zone 1")
		r := g.run(m)
		first := r.next(t)
		g.publish("zone 2")
		clienttest.Check(t, m.Failed(t.Context(), first, "timestamp-out-of-range", errApply))
		r.apply <- errApply
		r.reach(t, 2)
		s := g.state()
		if got := s.Versions[0].AbandonedIn; len(got) != 1 || got[0] != "sas" {
			t.Errorf("the version is abandoned in %v", got)
		}
	})
}

// TestANameIsThatOfOneInstance: a second instance gets the owner's name, and has the name after the first instance's
// end.
func TestANameIsThatOfOneInstance(t *testing.T) {
	play(t, 1, spec(), func(t *testing.T, g *stage) {
		first, second := g.Session(), g.Session()
		g.joinBy(first, "sas", "a.sas")
		a := rollout.Instance{Name: "a.sas", Location: "sas"}
		_, err := rollout.Join(t.Context(), second, name, a)
		holder := "session " + decimal(first.ID())
		if !errors.Is(err, client.ErrAlreadyExists) || !strings.Contains(err.Error(), holder) {
			t.Errorf("got %v, want %v and %s", err, client.ErrAlreadyExists, holder)
		}
		clienttest.Check(t, first.Close(t.Context()))
		clienttest.WaitForQuiet()
		g.joinBy(second, "sas", "a.sas")
	})
}

// TestAJoinIsRefusedForGood: the member does not retry a refused join by itself.
func TestAJoinIsRefusedForGood(t *testing.T) {
	play(t, 1, spec(), func(t *testing.T, g *stage) {
		s := g.Session()
		for _, c := range []struct {
			name     string
			instance rollout.Instance
			want     error
			says     string
		}{
			{name, rollout.Instance{Name: "a", Location: "iva"}, client.ErrPreconditionFailed, "sas, man, vla"},
			{name, rollout.Instance{Location: "sas"}, client.ErrBadRequest, "name"},
			{"other", rollout.Instance{Name: "a", Location: "sas"}, rollout.ErrNotFound, `rollout: join "other"`},
		} {
			_, err := rollout.Join(t.Context(), s, c.name, c.instance)
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%+v: got %v, want %v with %q", c.instance, err, c.want, c.says)
			}
		}
	})
}

func TestLeaveEndsAMember(t *testing.T) {
	play(t, 1, spec(), func(t *testing.T, g *stage) {
		m := g.join("sas", "a.sas")
		r := g.run(m)
		clienttest.Check(t, m.Err())
		clienttest.Check(t, m.Leave(t.Context()))
		if err := r.end(t); !errors.Is(err, rollout.ErrLeft) {
			t.Errorf("the loop ends with %v", err)
		}
		<-m.Done()
		if err := m.Err(); err != rollout.ErrLeft {
			t.Errorf("the member is over by %v", err)
		}
		if i := g.instance("sas", "a.sas"); i != nil {
			t.Errorf("hosts know %+v", i)
		}
		clienttest.Check(t, m.Leave(t.Context())) // once more is no error
		if _, _, err := m.Ask(t.Context(), 0); !errors.Is(err, rollout.ErrLeft) {
			t.Errorf("it asks: %v", err)
		}
	})
}

func TestAMemberHasOneLoop(t *testing.T) {
	play(t, 1, spec(), func(t *testing.T, g *stage) {
		m := g.join("sas", "a.sas")
		first := g.run(m)
		synctest.Wait()
		if err := g.run(m).end(t); !errors.Is(err, client.ErrBadRequest) {
			t.Errorf("got %v", err)
		}
		first.stop()
		synctest.Wait()
		g.publish("zone")
		g.run(m).reach(t, 1)
	})
}

// TestALoopThatBeginsAgainYieldsNoTargetThatIsReached: the instance already uses the target.
func TestALoopThatBeginsAgainYieldsNoTargetThatIsReached(t *testing.T) {
	play(t, 1, spec(), func(t *testing.T, g *stage) {
		m := g.join("sas", "a.sas")
		g.publish("zone 1")
		first := g.run(m)
		first.reach(t, 1)
		synctest.Wait()
		first.stop()
		synctest.Wait()
		second := g.run(m)
		second.quiet(t, never)
		g.publish("zone 2")
		second.reach(t, 2)
	})
}
