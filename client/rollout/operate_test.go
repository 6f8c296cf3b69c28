package rollout_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/rollout"
	"github.com/signalbox/signalbox/test/clienttest"
)

// TestActsAreCarriedOut: each action takes effect, and is stored with its author and reason.
func TestActsAreCarriedOut(t *testing.T) {
	play(t, 1, spec(), func(t *testing.T, g *stage) {
		r, ctx := g.rollout, t.Context()
		sas, man := g.run(g.join("sas", "a.sas")), g.run(g.join("man", "a.man"))
		one := g.publish("zone 1")
		sas.reach(t, one)
		man.reach(t, one)
		synctest.Wait()

		clienttest.Check(t, r.Pause(ctx, by))
		two := g.publish("zone 2")
		sas.quiet(t, never)
		if s := g.state(); s.Phase != rollout.Paused || s.Paused.By != by || !s.Paused.Since.Happened {
			t.Errorf("it is %v: %+v", s.Phase, s.Paused)
		}
		clienttest.Check(t, r.Promote(ctx, by, two, "man")) // works while the rollout is paused
		man.reach(t, two)
		clienttest.Check(t, r.Resume(ctx, by))
		sas.reach(t, two)
		synctest.Wait()

		three := g.publish("zone 3")
		target := sas.next(t)
		clienttest.Check(t, r.Abort(ctx, by))
		sas.apply <- errApply
		if s := g.state(); s.Phase != rollout.Halted || s.Halted.Reason != rollout.HaltedAborted ||
			!s.Location("sas").Target.Abandoned.Happened || s.Location("sas").Target.Seq != target.Seq {
			t.Errorf("it is %v: %+v", s.Phase, s.Halted)
		}
		clienttest.Check(t, r.Rollback(ctx, by, one, true))
		man.reach(t, one)
		sas.reach(t, one)
		clienttest.Check(t, r.Withdraw(ctx, by, three))
		clienttest.Check(t, r.Bypass(ctx, by, "vla"))
		if s := g.state(); !s.Location("vla").Bypassed || !s.Versions[2].Withdrawn {
			t.Errorf("got %+v, %+v", s.Location("vla"), s.Versions)
		}
		clienttest.Check(t, r.Unbypass(ctx, by, "vla"))
		clienttest.Check(t, r.Resume(ctx, by))

		acts, err := r.Actions(ctx)
		clienttest.Check(t, err)
		var got []string
		for i, a := range acts {
			got = append(got, strings.TrimSpace(fmt.Sprint(a.Kind, " ", a.Seq, " ", strings.Join(a.Locations, ","))))
			if a.By != by || a.ID != uint64(i+1) || a.At.Wall.IsZero() {
				t.Errorf("got %+v", a)
			}
		}
		want := []string{
			"create 0", "pause 0", "promote 2 man", "resume 0", "abort 0", "rollback 1", "withdraw 3", "bypass 0 vla",
			"unbypass 0 vla", "resume 0",
		}
		if !slices.Equal(got, want) {
			t.Errorf("the acts are %q", got)
		}
	})
}

// TestAlterLosesNoChange: both changes by two concurrent operators take effect.
func TestAlterLosesNoChange(t *testing.T) {
	play(t, 1, spec(), func(t *testing.T, g *stage) {
		ctx, calls := t.Context(), 0
		err := g.rollout.Alter(ctx, by, func(s *rollout.Spec) error {
			if calls++; calls == 1 {
				clienttest.Check(t, g.rollout.Alter(ctx, by, func(s *rollout.Spec) error {
					s.KeepVersions = 7
					return nil
				}))
			}
			s.Locations[1].Delay = time.Minute
			return nil
		})
		clienttest.Check(t, err)
		if s := g.state().Spec; s.KeepVersions != 7 || s.Locations[1].Delay != time.Minute || calls != 2 {
			t.Errorf("after %d calls it is %+v", calls, s)
		}
		stop := errors.New("not now")
		if err := g.rollout.Alter(ctx, by, func(*rollout.Spec) error { return stop }); !errors.Is(err, stop) {
			t.Errorf("got %v", err)
		}
		other := rollout.New(g.Client, path, "other")
		err = other.Alter(ctx, by, func(*rollout.Spec) error { return nil })
		if !errors.Is(err, rollout.ErrNotFound) || !errors.Is(err, client.ErrNotFound) {
			t.Errorf("without a rollout: %v", err)
		}
	})
}

// TestRefusalsSayWhy and return the right kind.
func TestRefusalsSayWhy(t *testing.T) {
	play(t, 1, spec(), func(t *testing.T, g *stage) {
		ctx, r := t.Context(), g.rollout
		for _, c := range []struct {
			what string
			err  error
			want error
			says string
		}{
			{"a second one", r.Create(ctx, spec(), by), client.ErrAlreadyExists, `rollout: put "dns"`},
			{"no locations", second(r.Put(ctx, rollout.Spec{}, by)), client.ErrBadRequest, "locations"},
			{"no such version", r.Rollback(ctx, by, 7, false), rollout.ErrNotFound, "version"},
			{"no such location", r.Bypass(ctx, by, "iva"), rollout.ErrNotFound, "iva"},
			{"an expected seq", second(r.Publish(ctx, nil, rollout.Expect(3))), client.ErrPreconditionFailed, "0"},
			{"a negative time", r.Create(ctx, rollout.Spec{AskInterval: -1}, by), client.ErrBadRequest, "negative"},
			{"the node does not " +
				"exist", rollout.New(g.Client, "/none", name).Delete(ctx, true), client.ErrNodeNotFound, "/none"},
		} {
			if !errors.Is(c.err, c.want) || !strings.Contains(fmt.Sprint(c.err), c.says) {
				t.Errorf("%s: got %v, want %v and %q in it", c.what, c.err, c.want, c.says)
			}
		}
	})
}

func second[T any](_ T, err error) error { return err }

// TestPublishersAreFenced: a former election leader cannot publish after the next leader has published.
func TestPublishersAreFenced(t *testing.T) {
	play(t, 1, spec(), func(t *testing.T, g *stage) {
		ctx := t.Context()
		first, second := g.Session(), g.Session()
		lease, err := first.Semaphore("publisher", client.Limit(1)).Acquire(ctx)
		clienttest.Check(t, err)
		g.publish("zone 1", rollout.Fence(lease))
		token := lease.Fence()
		clienttest.Check(t, lease.Release(ctx))
		next, err := second.Semaphore("publisher").Acquire(ctx)
		clienttest.Check(t, err)
		g.publish("zone 2", rollout.Fence(next))
		for name, option := range map[string]rollout.PublishOption{
			"a lease that has ended":  rollout.Fence(lease),
			"a token of one that has": rollout.FenceToken(token),
		} {
			_, err := rollout.Publish(ctx, first, "dns", []byte("zone 3"), option)
			if !errors.Is(err, client.ErrFenced) {
				t.Errorf("%s: got %v", name, err)
			}
		}
		if seq := g.publish("zone 3", rollout.Fence(next), rollout.Expect(2)); seq != 3 {
			t.Errorf("the next version is %d", seq)
		}
	})
}

// TestAPublicationOfASessionIsOne for any number of sends.
func TestAPublicationOfASessionIsOne(t *testing.T) {
	play(t, 3, spec(), func(t *testing.T, g *stage) {
		s := g.Session()
		for i := range 10 {
			done := make(chan error, 1)
			go func() { done <- second(rollout.Publish(context.Background(), s, name, []byte{byte(i)})) }()
			clienttest.Lead(t, g.Server, clusterHost(uint64(i)))
			clienttest.Check(t, <-done)
		}
		versions, err := g.rollout.Versions(t.Context(), rollout.Consistency(client.Strict))
		clienttest.Check(t, err)
		if len(versions) != 10 || versions[9].Seq != 10 {
			t.Errorf("there are %d versions", len(versions))
		}
	})
}
