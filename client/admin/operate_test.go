package admin_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/test/clienttest"
)

var by = admin.ChangeInfo{Author: "ann", Reason: "a test"}

// TestAnOperatorDrainsAHost: the governor brings the host to its target, and the history names the author.
func TestAnOperatorDrainsAHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := clienttest.New(t, servertest.Hosts(3))
		a := admin.New(g.Client)
		cluster := func(what string, is func(c *admin.Cluster) bool) *admin.Cluster {
			t.Helper()
			for range 600 {
				c, err := a.Describe(t.Context())
				if err != nil && !errors.Is(err, client.ErrPreconditionFailed) {
					t.Fatal(err)
				}
				if err == nil && is(c) {
					return c
				}
				time.Sleep(100 * time.Millisecond)
			}
			t.Fatal("not in time: ", what)
			return nil
		}
		cluster("all are online", func(c *admin.Cluster) bool {
			for i := range c.Hosts {
				if h := &c.Hosts[i]; h.Current.State != admin.Online || !h.AtTarget() || !h.Alive {
					return false
				}
			}
			return c.Observed && len(c.Hosts) == 3 && c.Shards[0].Tolerated == 1
		})
		changed, err := a.Drain(t.Context(), "host-3", by)
		clienttest.Check(t, err)
		if again, err := a.Drain(t.Context(), "3", by); !changed || again || err != nil {
			t.Errorf("changed %t, and again %t, %v", changed, again, err)
		}
		c := cluster("host-3 is offline", func(c *admin.Cluster) bool {
			h := c.HostByName("host-3")
			return h.Current.State == admin.Offline && h.AtTarget()
		})
		if h := c.HostByName("host-3"); h.Target.Reason != "drained" || h.Target.Author != "ann" {
			t.Errorf("%+v", h.Target)
		}
		if _, err := a.Drain(t.Context(), "host-2", by); !errors.Is(err, client.ErrPreconditionFailed) {
			t.Errorf("a second drain: %v", err)
		}
		w, err := a.Why(t.Context())
		if err != nil || w.AtRest || !slices.ContainsFunc(w.Reasons, func(r admin.Reason) bool {
			return r.Code == admin.CodeAway && slices.Equal(r.Subjects, []string{"host/3"})
		}) {
			t.Errorf("beside a drained host all is well: %+v, %v", w, err)
		}
		if _, err := a.Plan(t.Context()); err != nil {
			t.Error(err)
		}
		p, err := a.SetPolicy(t.Context(), func(p *admin.Policy) { p.OfflineAfter = 30 * time.Second }, by)
		if err != nil || p.OfflineAfter != 30*time.Second || p.Copies != c.Policy.Copies {
			t.Errorf("%+v, %v", p, err)
		}
		drains := 0
		for e, err := range a.Audit(t.Context(), 1) {
			clienttest.Check(t, err)
			if e.HostName == "host-3" && e.Author == "ann" && e.Reason == "a test" {
				drains++
			}
		}
		if drains != 1 {
			t.Errorf("%d drains are in the history", drains)
		}
		changed, err = a.Expel(t.Context(), "host-3", true, by)
		clienttest.Check(t, err)
		for _, ref := range []string{"host-3", "3"} {
			if again, err := a.Expel(t.Context(), ref, true, by); !changed || again || err != nil {
				t.Errorf("expelled %t, and %s again %t, %v", changed, ref, again, err)
			}
		}
		if _, err := a.Expel(t.Context(), "host-9", true, by); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("a host that never was is expelled: %v", err)
		}
	})
}
