package rollout_test

import (
	"context"
	"errors"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/test/clienttest"
)

func decimal(n uint64) string { return strconv.FormatUint(n, 10) }

// TestAMemberOutlivesItsSession: the member joins again with the replacement session and reports its present version.
func TestAMemberOutlivesItsSession(t *testing.T) {
	play(t, 1, spec(), func(t *testing.T, g *stage) {
		s := g.Session(client.Recreate())
		m := g.joinBy(s, "sas", "a.sas")
		g.publish("zone 1")
		r := g.run(m)
		r.reach(t, 1)
		synctest.Wait()
		before := g.instance("sas", "a.sas")
		g.Destroy(s)
		clienttest.WaitForQuiet()
		after := g.instance("sas", "a.sas")
		if after == nil || after.SessionID == before.SessionID {
			t.Fatalf("after the end of the session hosts know %+v", after)
		}
		if after.Report != before.Report || !after.Leader {
			t.Errorf("after it has joined again hosts know %+v, before %+v", after, before)
		}
		clienttest.Check(t, m.Err())
		r.quiet(t, never) // the instance uses the target
		g.publish("zone 2")
		r.reach(t, 2)
	})
}

// TestWhatWasReportedOfAnOlderTargetIsNotRepeated: the instance has not reached the newer target.
func TestWhatWasReportedOfAnOlderTargetIsNotRepeated(t *testing.T) {
	play(t, 1, spec(), func(t *testing.T, g *stage) {
		s := g.Session(client.Recreate())
		m := g.joinBy(s, "sas", "a.sas")
		g.publish("zone 1")
		r := g.run(m)
		r.reach(t, 1)
		synctest.Wait()
		g.publish("zone 2")
		synctest.Wait()
		g.Destroy(s)
		clienttest.WaitForQuiet()
		i := g.instance("sas", "a.sas")
		if want := (rollout.Report{Current: 1}); i == nil || i.Report != want || !i.Leader {
			t.Errorf("hosts know %+v", i)
		}
		r.reach(t, 2)
	})
}

// TestAnotherRolloutOfTheNameBeginsAnew: its first target differs from the reached target, although both have the same
// numbers.
func TestAnotherRolloutOfTheNameBeginsAnew(t *testing.T) {
	for _, c := range []struct {
		name    string
		payload string
	}{{"with another version", "zone b"}, {"with the version that it had", "zone a"}} {
		t.Run(c.name, func(t *testing.T) {
			play(t, 1, spec(), func(t *testing.T, g *stage) {
				m := g.join("sas", "a.sas")
				g.publish("zone a")
				r := g.run(m)
				r.reach(t, 1)
				synctest.Wait()
				if err := g.rollout.Delete(t.Context(), false); !errors.Is(err, client.ErrPreconditionFailed) {
					t.Fatalf("it is deleted under its instances: %v", err)
				}
				clienttest.Check(t, g.rollout.Delete(t.Context(), true))
				time.Sleep(never)
				if m.Err() == nil {
					t.Error("the member takes part in nothing, and says nothing of it")
				}
				clienttest.Check(t, g.rollout.Create(t.Context(), spec(), by))
				g.publish(c.payload)
				if c.payload == "zone b" {
					if got := r.reach(t, 1); string(got.Payload) != "zone b" {
						t.Errorf("got %q", got.Payload)
					}
				}
				clienttest.WaitForQuiet()
				if i := g.instance("sas", "a.sas"); i != nil && i.Report.Generation == 0 {
					r.reach(t, 1) // the instance joined before the version's publication, so its first target is new
				}
				if i := g.instance("sas", "a.sas"); i == nil || i.Report.Current != 1 || i.Report.Generation != 1 {
					t.Errorf("hosts know %+v", i)
				}
				clienttest.Check(t, m.Err())
			})
		})
	}
}

// TestALocationThatComesBackHasItsInstances: an instance waits while the spec lacks its location.
func TestALocationThatComesBackHasItsInstances(t *testing.T) {
	without := func(s *rollout.Spec) error {
		s.Locations = append(s.Locations[:1:1], s.Locations[2])
		return nil
	}
	for name, removedFirst := range map[string]bool{"removed while it is followed": false, "removed before": true} {
		t.Run(name, func(t *testing.T) { testLocationThatComesBack(t, removedFirst, without) })
	}
}

func testLocationThatComesBack(t *testing.T, removedFirst bool, without func(*rollout.Spec) error) {
	play(t, 1, spec(), func(t *testing.T, g *stage) {
		m := g.join("man", "a.man")
		var r *run
		if !removedFirst {
			r = g.run(m)
			synctest.Wait()
		}
		clienttest.Check(t, g.rollout.Alter(t.Context(), by, without))
		if removedFirst {
			r = g.run(m)
		}
		time.Sleep(never)
		if m.Err() == nil {
			t.Error("the member takes part in no location, and says nothing of it")
		}
		back := func(s *rollout.Spec) error {
			*s = spec()
			return nil
		}
		clienttest.Check(t, g.rollout.Alter(t.Context(), by, back))
		time.Sleep(never)
		clienttest.Check(t, m.Err())
		clienttest.Check(t, g.rollout.Promote(t.Context(), by, g.publish("zone"), "man"))
		r.reach(t, 1)
	})
}

// TestAnInstanceThatIsThereStillLosesNothingByJoiningAgain: a lagging host may show a rollout without the instance.
func TestAnInstanceThatIsThereStillLosesNothingByJoiningAgain(t *testing.T) {
	play(t, 1, spec(), func(t *testing.T, g *stage) {
		m := g.join("sas", "a.sas")
		g.publish("zone 1")
		r := g.run(m)
		r.reach(t, 1)
		synctest.Wait()
		before := g.instance("sas", "a.sas")
		m.Rejoin()
		clienttest.WaitForQuiet()
		clienttest.Check(t, m.Err())
		if after := g.instance("sas", "a.sas"); after == nil || after.Report != before.Report || !after.Leader {
			t.Errorf("after it has joined again hosts know %+v, before %+v", after, before)
		}
		g.publish("zone 2")
		r.reach(t, 2)
		clienttest.WaitForQuiet()
		clienttest.Check(t, m.Err())
		if i := g.instance("sas", "a.sas"); i == nil || i.Report.Current != 2 {
			t.Errorf("hosts know %+v", i)
		}
	})
}

// TestAMemberEndsWithItsSession for good, if the session is not renewed.
func TestAMemberEndsWithItsSession(t *testing.T) {
	play(t, 1, spec(), func(t *testing.T, g *stage) {
		s := g.Session()
		m := g.joinBy(s, "sas", "a.sas")
		r := g.run(m)
		synctest.Wait()
		g.Destroy(s)
		var end *client.SessionEnd
		if err := r.end(t); !errors.As(err, &end) {
			t.Errorf("the loop ends with %v", err)
		}
		<-m.Done()
		if err := m.Err(); !errors.As(err, &end) {
			t.Errorf("the member is over by %v", err)
		}
		clienttest.Check(t, m.Leave(t.Context()))
	})
}

// TestAReportThatWasGivenUpIsSentLater: the report is the instance's state, even if the call could not wait.
func TestAReportThatWasGivenUpIsSentLater(t *testing.T) {
	play(t, 3, spec(), func(t *testing.T, g *stage) {
		m := g.join("sas", "a.sas")
		g.publish("zone")
		r := g.run(m)
		target := r.next(t)
		g.Server.Stop(2)
		g.Server.Stop(3)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if err := m.Reached(ctx, target); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("without a majority it is reported: %v", err)
		}
		clienttest.Check(t, g.Server.Restart(2))
		clienttest.Check(t, g.Server.Restart(3))
		time.Sleep(never)
		if i := g.instance("sas", "a.sas"); i == nil || i.Report.Current != 1 || !i.Leader {
			t.Errorf("hosts know %+v", i)
		}
		clienttest.Check(t, m.Err())
	})
}

// TestLoopsSurviveChangesOfLeader and cut connections.
func TestLoopsSurviveChangesOfLeader(t *testing.T) {
	play(t, 3, spec(), func(t *testing.T, g *stage) {
		sas := g.run(g.join("sas", "a.sas"))
		man := g.run(g.join("man", "a.man"))
		for seq := uint64(1); seq <= 6; seq++ {
			clienttest.Lead(t, g.Server, clusterHost(seq))
			_, err := rollout.Publish(t.Context(), g.Session(), name, []byte("zone "+decimal(seq)))
			clienttest.Check(t, err)
			sas.reach(t, seq)
			man.reach(t, seq)
		}
	})
}

// TestAReportOfWhatWasSupersededIsRefused: the instance has said more since.
func TestAReportOfWhatWasSupersededIsRefused(t *testing.T) {
	play(t, 1, spec(), func(t *testing.T, g *stage) {
		m := g.join("sas", "a.sas")
		r := g.run(m)
		g.publish("zone 1")
		first := r.reach(t, 1)
		g.publish("zone 2")
		r.reach(t, 2)
		synctest.Wait()
		if err := m.Failed(t.Context(), first, "", errApply); !errors.Is(err, rollout.ErrSuperseded) {
			t.Errorf("got %v", err)
		}
		if i := g.instance("sas", "a.sas"); i.Report.Current != 2 || i.Report.Status != rollout.OK {
			t.Errorf("hosts know %+v", i)
		}
	})
}
