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

// gated is the example with a gate on sas.
func gated() rollout.Spec {
	s := spec()
	s.Locations[0].Gates = []string{"errors"}
	return s
}

// check is a target that waits for its verdict.
type check struct {
	ctx     context.Context
	version rollout.Version
}

// gate is a gate in the background. The test gives its verdicts.
type gate struct {
	checks   chan check
	verdicts chan rollout.Verdict
	err      chan error
	stop     context.CancelFunc
}

func (st *stage) gate(s *client.Session, location, of string) *gate {
	ctx, stop := context.WithCancel(context.Background())
	x := &gate{
		checks: make(chan check), verdicts: make(chan rollout.Verdict), err: make(chan error, 1), stop: stop,
	}
	st.T.Cleanup(stop)
	go func() {
		x.err <- rollout.Gate(ctx, s, name, location, of, func(ctx context.Context, v rollout.Version) rollout.Verdict {
			select {
			case x.checks <- check{ctx, v}:
			case <-ctx.Done():
				return rollout.Verdict{}
			}
			select {
			case verdict := <-x.verdicts:
				return verdict
			case <-ctx.Done():
				return rollout.Verdict{Result: rollout.GatePassed, Text: "too late"}
			}
		}, rollout.CheckedBy("alerts"))
	}()
	return x
}

// next returns the next target to check and checks its version.
func (g *gate) next(t *testing.T, seq uint64) check {
	t.Helper()
	select {
	case c := <-g.checks:
		if c.version.Seq != seq {
			t.Fatalf("version %d is checked, want %d", c.version.Seq, seq)
		}
		return c
	case <-time.After(never):
		t.Fatal("nothing is checked")
		return check{}
	}
}

func (g *gate) quiet(t *testing.T) {
	t.Helper()
	select {
	case c := <-g.checks:
		t.Fatalf("version %d is checked", c.version.Seq)
	case <-time.After(never):
	}
}

// TestAGateHoldsALocationBack until its checker passes the target; each target is checked once.
func TestAGateHoldsALocationBack(t *testing.T) {
	play(t, 1, gated(), func(t *testing.T, g *stage) {
		x := g.gate(g.Session(), "sas", "errors")
		sas, man := g.run(g.join("sas", "a.sas")), g.run(g.join("man", "a.man"))
		g.publish("zone", rollout.Label("r1"))
		c := x.next(t, 1)
		if string(c.version.Payload) != "zone" || c.version.Label != "r1" {
			t.Errorf("got %+v", c.version)
		}
		sas.reach(t, 1)
		man.quiet(t, never)
		x.verdicts <- rollout.Verdict{Result: rollout.GateFailed, Text: "12 % of the answers fail"}
		man.quiet(t, never)
		want := rollout.Verdict{Result: rollout.GateFailed, Text: "12 % of the answers fail"}
		s := g.state()
		if got := s.Locations[0].Gates[0]; got.Verdict != want || got.By != "alerts" || s.Phase != rollout.Blocked {
			t.Errorf("got %+v in a rollout that is %v", got, s.Phase)
		}
		x.quiet(t)
		clienttest.Check(t, g.rollout.ReportGate(t.Context(), rollout.GateReport{
			Location: "sas", Gate: "errors", Seq: 1, Verdict: rollout.Verdict{Result: rollout.GatePassed},
		}))
		man.reach(t, 1)
	})
}

// TestWhySaysWhoChecks: a gate without a checker differs from a gate being checked, and a person's verdict stays.
func TestWhySaysWhoChecks(t *testing.T) {
	play(t, 1, gated(), func(t *testing.T, g *stage) {
		why := func() string {
			t.Helper()
			reasons, err := g.rollout.Why(t.Context())
			clienttest.Check(t, err)
			for _, r := range reasons {
				if r.Code == rollout.ReasonGate {
					return r.Text
				}
			}
			return ""
		}
		is := func(want string) {
			t.Helper()
			if got := why(); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		sas := g.run(g.join("sas", "a.sas"))
		g.publish("zone 1")
		sas.reach(t, 1)
		is("the gate errors of sas is pending for version 1: no checker has reported")
		x := g.gate(g.Session(), "sas", "errors")
		x.next(t, 1)
		time.Sleep(41500 * time.Millisecond)
		is("the gate errors of sas is pending for version 1, says alerts, 41 s ago: a check is in progress")
		x.stop()
		clienttest.Check(t, g.rollout.ReportGate(t.Context(), rollout.GateReport{
			Location: "sas", Gate: "errors", Seq: 1, By: "ann", Verdict: rollout.Verdict{Result: rollout.GateFailed},
		}))
		g.gate(g.Session(), "sas", "errors").next(t, 1)
		is("the gate errors of sas is failed for version 1, says ann, 0 s ago")
	})
}

// TestATargetIsCheckedOncePerGeneration: a version assigned again is checked again.
func TestATargetIsCheckedOncePerGeneration(t *testing.T) {
	play(t, 3, gated(), func(t *testing.T, g *stage) {
		x := g.gate(g.Session(), "sas", "errors")
		g.join("sas", "a.sas")
		g.publish("zone 1")
		x.next(t, 1)
		x.verdicts <- rollout.Verdict{Result: rollout.GateInconclusive}
		synctest.Wait()
		clienttest.Lead(t, g.Server, 2)
		clienttest.Lead(t, g.Server, 3)
		x.quiet(t)
		clienttest.Check(t, g.rollout.Abort(t.Context(), by))
		clienttest.Check(t, g.rollout.Retry(t.Context(), by, "sas"))
		x.next(t, 1)
		x.verdicts <- rollout.Verdict{Result: rollout.GatePassed}
		synctest.Wait()
		if got := g.state().Locations[0].Gates[0].Verdict.Result; got != rollout.GatePassed {
			t.Errorf("the gate is %v", got)
		}
	})
}

// TestACheckEndsWithItsTarget; the check's later result is ignored.
func TestACheckEndsWithItsTarget(t *testing.T) {
	play(t, 1, gated(), func(t *testing.T, g *stage) {
		x := g.gate(g.Session(), "sas", "errors")
		g.join("sas", "a.sas")
		g.publish("zone 1")
		c := x.next(t, 1)
		clienttest.Check(t, g.rollout.Promote(t.Context(), by, g.publish("zone 2")))
		x.next(t, 2)
		if cause := context.Cause(c.ctx); cause != rollout.ErrSuperseded {
			t.Errorf("the check ended by %v", cause)
		}
		if got := g.state().Locations[0].Gates[0]; got.Verdict.Result != rollout.GatePending || got.By != "alerts" {
			t.Errorf("got %+v", got)
		}
	})
}

// TestAGateGoesOnByTheNextSession with its present check.
func TestAGateGoesOnByTheNextSession(t *testing.T) {
	play(t, 1, gated(), func(t *testing.T, g *stage) {
		s := g.Session(client.Recreate())
		x := g.gate(s, "sas", "errors")
		g.join("sas", "a.sas")
		g.publish("zone 1")
		x.next(t, 1)
		g.Destroy(s)
		x.verdicts <- rollout.Verdict{Result: rollout.GatePassed}
		clienttest.WaitForQuiet()
		if got := g.state().Locations[0].Gates[0].Verdict.Result; got != rollout.GatePassed {
			t.Errorf("the gate is %v", got)
		}
	})
}

func TestAGateThatDoesNotExistIsAnError(t *testing.T) {
	play(t, 1, gated(), func(t *testing.T, g *stage) {
		s := g.Session()
		for _, c := range []struct{ location, gate string }{{"iva", "errors"}, {"sas", "latency"}, {"man", "errors"}} {
			select {
			case err := <-g.gate(s, c.location, c.gate).err:
				if !errors.Is(err, rollout.ErrNotFound) {
					t.Errorf("%v: got %v", c, err)
				}
			case <-time.After(never):
				t.Errorf("%v: it waits", c)
			}
		}
	})
}

// TestAVerdictOnAnotherTargetIsRefused: the previous target's verdict passes nothing.
func TestAVerdictOnAnotherTargetIsRefused(t *testing.T) {
	play(t, 1, gated(), func(t *testing.T, g *stage) {
		g.join("sas", "a.sas")
		g.publish("zone")
		j := rollout.GateReport{
			Location: "sas", Gate: "errors", Seq: 7, Verdict: rollout.Verdict{Result: rollout.GatePassed},
		}
		for _, r := range []*rollout.Rollout{g.rollout, rollout.NewInSession(g.Session(), name)} {
			if err := r.ReportGate(t.Context(), j); !errors.Is(err, client.ErrFenced) {
				t.Errorf("got %v", err)
			}
		}
	})
}
