package rollout_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/test/clienttest"
)

func TestWhatWasPublishedCanBeRead(t *testing.T) {
	play(t, 1, spec(), func(t *testing.T, g *stage) {
		ctx := t.Context()
		g.publish("zone 1", rollout.Label("r1"), rollout.Author("anna"), rollout.Reason("YP-1"))
		time.Sleep(5 * time.Second)
		g.publish("zone 2")
		v, err := g.rollout.Payload(ctx, 1)
		clienttest.Check(t, err)
		if string(v.Payload) != "zone 1" || v.Label != "r1" ||
			v.By != (rollout.ChangeInfo{Author: "anna", Reason: "YP-1"}) ||
			v.Published.Ago.Round(time.Second) != 5*time.Second || v.Published.Wall.IsZero() {
			t.Errorf("got %+v", v)
		}
		versions, err := g.rollout.Versions(ctx)
		clienttest.Check(t, err)
		if len(versions) != 2 || versions[0].Payload != nil || versions[0].PayloadBytes != 6 || versions[1].Seq != 2 {
			t.Errorf("got %+v", versions)
		}
		if _, err := g.rollout.Payload(ctx, 3); !errors.Is(err, rollout.ErrNotFound) {
			t.Errorf("a version that does not exist: %v", err)
		}
	})
}

func TestTheHistoryOfALocation(t *testing.T) {
	play(t, 1, spec(), func(t *testing.T, g *stage) {
		sas := g.run(g.join("sas", "a.sas"))
		for seq := uint64(1); seq <= 3; seq++ {
			g.publish("zone")
			sas.reach(t, seq)
			synctest.Wait()
		}
		clienttest.Check(t, g.rollout.Rollback(t.Context(), by, 2, true, "sas"))
		rows, err := g.rollout.History(t.Context(), "sas")
		clienttest.Check(t, err)
		var seqs []uint64
		var causes []rollout.Cause
		for _, r := range rows {
			seqs, causes = append(seqs, r.Seq), append(causes, r.Cause)
		}
		if !slices.Equal(seqs, []uint64{1, 2, 3, 2}) || !slices.Equal(causes, []rollout.Cause{
			rollout.CauseInitial, rollout.CauseNext, rollout.CauseNext, rollout.CauseRollback,
		}) {
			t.Errorf("got %v, %v", seqs, causes)
		}
		if first := rows[0]; !first.Reached.Happened || first.Reached.Time < first.Assigned.Time ||
			first.Assigned.Wall.IsZero() || rows[3].Reached.Happened {
			t.Errorf("got %+v", rows)
		}
		if _, err := g.rollout.History(t.Context(), "iva"); !errors.Is(err, rollout.ErrNotFound) {
			t.Errorf("of a location that does not exist: %v", err)
		}
	})
}

// TestListsAreInTheOrderOfNames over all shards.
func TestListsAreInTheOrderOfNames(t *testing.T) {
	play(t, 1, spec(), func(t *testing.T, g *stage) {
		var want []string
		for i := range 230 { // more than a page per shard
			n := "r" + decimal(uint64(1000+i))
			want = append(want, n)
			clienttest.Check(t, rollout.New(g.Client, path, n).Create(t.Context(), spec(), by))
		}
		g.publish("zone", rollout.Label("r1"))
		g.join("sas", "a.sas")
		var got []string
		for s, err := range rollout.List(t.Context(), g.Client, path, rollout.Prefix("r")) {
			clienttest.Check(t, err)
			got = append(got, s.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %q", got)
		}
		for s, err := range rollout.List(t.Context(), g.Client, path, rollout.ListConsistency(client.Strict)) {
			clienttest.Check(t, err)
			if s.Name != name || s.Label != "r1" || s.LastSeq != 1 || s.Locations != 3 || s.Instances != 1 {
				t.Errorf("got %+v", s)
			}
			break // nothing is left behind
		}
		for _, err := range rollout.List(t.Context(), g.Client, "/none") {
			if !errors.Is(err, client.ErrNodeNotFound) {
				t.Errorf("of a node that does not exist: %v", err)
			}
		}
	})
}

// TestInstancesAreListedInPages, in join order, and again from the beginning.
func TestInstancesAreListedInPages(t *testing.T) {
	play(t, 1, spec(), func(t *testing.T, g *stage) {
		var want []string
		for i := range 30 {
			want = append(want, "a"+decimal(uint64(100-i)))
			s := g.Session()
			_, err := rollout.Join(t.Context(), s, name, rollout.Instance{
				Name: want[i], Location: "sas", Attributes: make([]byte, 1024),
			})
			clienttest.Check(t, err)
		}
		limit := func(m *protocol.SectionRequest) { m.Limit = 7 }
		all := g.rollout.Instances(t.Context(), "sas", limit, rollout.Consistency(client.Strict))
		for range 2 {
			var got []string
			for i, err := range all {
				clienttest.Check(t, err)
				if got = append(got, i.Name); len(i.Attributes) != 1024 || i.Location != "sas" {
					t.Errorf("got %+v", i)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("got %q", got)
			}
			for range all {
				break
			}
		}
		for _, err := range g.rollout.Instances(t.Context(), "iva") {
			if !errors.Is(err, rollout.ErrNotFound) {
				t.Errorf("of a location that does not exist: %v", err)
			}
		}
	})
}

// TestADryRunSaysWhoGetsWhatWhen, and changes nothing.
func TestADryRunSaysWhoGetsWhatWhen(t *testing.T) {
	play(t, 1, spec(), func(t *testing.T, g *stage) {
		for _, l := range []string{"sas", "man", "vla"} {
			clienttest.Check(t, g.join(l, "a."+l).Lead(t.Context()))
		}
		for _, c := range []struct {
			name string
			dry  rollout.PlanOptions
			want []rollout.Step
		}{
			{"nothing", rollout.PlanOptions{}, nil},
			{"a version", rollout.PlanOptions{Publish: true, Takes: time.Second}, []rollout.Step{
				{After: 0, Location: "sas", Seq: 1, Cause: rollout.CauseInitial},
				{After: 6001 * time.Millisecond, Location: "man", Seq: 1, Cause: rollout.CauseInitial},
				{After: 12002 * time.Millisecond, Location: "vla", Seq: 1, Cause: rollout.CauseInitial},
			}},
			{"a version without man", rollout.PlanOptions{
				Publish: true, Act: &rollout.Action{Kind: rollout.Bypass, Locations: []string{"man"}},
			}, []rollout.Step{
				{After: 0, Location: "sas", Seq: 1, Cause: rollout.CauseInitial},
				{After: 10001 * time.Millisecond, Location: "vla", Seq: 1, Cause: rollout.CauseInitial},
			}},
		} {
			got, err := g.rollout.Plan(t.Context(), c.dry)
			clienttest.Check(t, err)
			// Rarely a step is a millisecond later: times are whole shard milliseconds.
			same := func(a, b rollout.Step) bool {
				late := a.After - b.After
				a.After = b.After
				return a == b && late >= 0 && late <= 2*time.Millisecond
			}
			if !slices.EqualFunc(got, c.want, same) {
				t.Errorf("%s: got %+v", c.name, got)
			}
		}
		if s := g.state(); s.LastSeq != 0 || s.Location("man").Bypassed {
			t.Errorf("after it there is %+v", s)
		}
	})
}

// TestAWatchShowsWholeStates: a missing rollout, its creation, changes, and changes by time alone.
func TestAWatchShowsWholeStates(t *testing.T) {
	play(t, 3, spec(), func(t *testing.T, g *stage) {
		other := rollout.New(g.Client, path, "other")
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		states := make(chan *rollout.State)
		ended := make(chan error, 1)
		go func() {
			for s, err := range other.Watch(ctx, time.Second) {
				if err != nil {
					ended <- err
					return
				}
				states <- s
			}
		}()
		until := func(what string, is func(s *rollout.State) bool) {
			t.Helper()
			for deadline := time.After(never); ; {
				select {
				case s := <-states:
					if is(s) {
						return
					}
				case <-deadline:
					t.Fatalf("it is not seen that %s", what)
				}
			}
		}
		until("there is none", func(s *rollout.State) bool { return !s.Exists })
		clienttest.Check(t, other.Create(t.Context(), spec(), by))
		until("it is made", func(s *rollout.State) bool { return s.Exists && len(s.Locations) == 3 })
		clienttest.Lead(t, g.Server, 2)
		_, err := rollout.Publish(t.Context(), g.Session(), "other", []byte("zone"))
		clienttest.Check(t, err)
		until("no instance is there", func(s *rollout.State) bool {
			return s.Phase == rollout.Blocked && len(s.Versions) == 1 && len(s.Reasons) == 1 &&
				s.Reasons[0].Code == rollout.ReasonNoInstances
		})
		until("time goes on", func(s *rollout.State) bool { return s.Versions[0].Published.Ago > 3*time.Second })
		clienttest.Check(t, other.Delete(t.Context(), false))
		until("it is gone", func(s *rollout.State) bool { return !s.Exists })
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("it ends with %v", err)
		}
	})
}
