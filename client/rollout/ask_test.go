package rollout_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/test/clienttest"
)

// asks asks for the target and checks its seq, 0 for none.
func asks(t *testing.T, m *rollout.Member, current, want uint64) (*rollout.Target, time.Duration) {
	t.Helper()
	target, next, err := m.Ask(t.Context(), current)
	clienttest.Check(t, err)
	switch {
	case target == nil && want != 0:
		t.Fatalf("it is answered no target, want %d", want)
	case target != nil && target.Seq != want:
		t.Fatalf("it is answered %d, want %d", target.Seq, want)
	}
	return target, next
}

// TestInstancesMayPoll is the document's GetTargetState, by instances that know only their present version.
func TestInstancesMayPoll(t *testing.T) {
	play(t, 1, spec(), func(t *testing.T, g *stage) {
		sas, man := g.join("sas", "a.sas"), g.join("man", "a.man")
		asks(t, sas, 0, 0)
		g.publish("zone 1", rollout.Label("r1"))
		target, _ := asks(t, sas, 0, 1)
		if string(target.Payload) != "zone 1" || target.Label != "r1" {
			t.Errorf("got %+v", target)
		}
		if again, _ := asks(t, sas, 0, 1); again != target || target.Context().Err() != nil {
			t.Error("the target is another one as long as it stays")
		}
		asks(t, man, 0, 0)
		asks(t, sas, 1, 1)
		_, next := asks(t, man, 0, 0)
		if next <= 4*time.Second || next > 5*time.Second+2*time.Millisecond {
			t.Errorf("there is another one in %v", next)
		}
		time.Sleep(next)
		asks(t, man, 0, 1)
		g.publish("zone 2")
		asks(t, sas, 1, 2)
		if cause := context.Cause(target.Context()); cause != rollout.ErrSuperseded {
			t.Errorf("the context of the target before ended by %v", cause)
		}
		if i := g.instance("sas", "a.sas"); !i.Leader || i.Report.Current != 1 || i.Sent != 3 {
			t.Errorf("hosts know %+v", i)
		}
	})
}

// TestWhoAsksSaysAgainWhatFailed: asking takes nothing back.
func TestWhoAsksSaysAgainWhatFailed(t *testing.T) {
	play(t, 1, spec(), func(t *testing.T, g *stage) {
		m := g.join("sas", "a.sas")
		g.publish("zone 1")
		target, _ := asks(t, m, 0, 1)
		for range 3 {
			clienttest.Check(t, m.Failed(t.Context(), target, "expired", errApply))
			asks(t, m, 0, 1)
		}
		want := rollout.Report{
			Generation: 1, Status: rollout.Failed, Code: "expired", Text: errApply.Error(), Attempts: 3,
		}
		if i := g.instance("sas", "a.sas"); i.Report != want {
			t.Errorf("hosts know %+v, want %+v", i.Report, want)
		}
		asks(t, m, 1, 1)
		if i := g.instance("sas", "a.sas"); i.Report.Status != rollout.OK || i.Report.Current != 1 || !i.Leader {
			t.Errorf("hosts know %+v", i)
		}
	})
}

// TestAskJoinsAgain with the replacement session, without reports about another rollout.
func TestAskJoinsAgain(t *testing.T) {
	play(t, 1, spec(), func(t *testing.T, g *stage) {
		s := g.Session(client.Recreate())
		m := g.joinBy(s, "sas", "a.sas")
		g.publish("zone 1")
		asks(t, m, 0, 1)
		asks(t, m, 1, 1)
		g.Destroy(s)
		asks(t, m, 1, 1)
		clienttest.WaitForQuiet()
		if i := g.instance("sas", "a.sas"); i == nil || i.Report.Current != 1 || i.Report.Generation != 1 || !i.Leader {
			t.Errorf("hosts know %+v", i)
		}
		clienttest.Check(t, g.rollout.Delete(t.Context(), true))
		if _, _, err := m.Ask(t.Context(), 1); !errors.Is(err, rollout.ErrNotFound) {
			t.Errorf("without a rollout: %v", err)
		}
		clienttest.Check(t, g.rollout.Create(t.Context(), spec(), by))
		asks(t, m, 1, 0)
	})
}

// TestALeaderThatAsksHasTheSourceAsked at once, however long the interval is.
func TestALeaderThatAsksHasTheSourceAsked(t *testing.T) {
	s := spec()
	s.Versions, s.AskInterval = rollout.Asked, time.Hour
	play(t, 1, s, func(t *testing.T, g *stage) {
		src := g.source(g.Session())
		m := g.join("sas", "a.sas")
		asks(t, m, 0, 0)
		src.answer(t, "zone 1", nil)
		synctest.Wait()
		asks(t, m, 0, 1)
		src.quiet(t)
		asks(t, m, 1, 1)
		asks(t, m, 1, 1)
		src.answer(t, "zone 2", nil)
		synctest.Wait()
		asks(t, m, 1, 2)
	})
}
